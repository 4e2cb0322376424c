package docs_test

// fileSystemCauses is how causes that lie in a file system are told apart from
// those that they look like.
const fileSystemCauses = `What a thread waits for inside a file system is told by the kernel functions that it sleeps in (` + "`wait.for`" + `), whatever the call:

| cause | applies if | is not |
|---|---|---|
| ` + "`metadata-bound`" + ` | the victim waits for blocks with inodes, directories or maps of blocks (class metadata) longer than for data of files, and for 30 % of its waiting or more | ` + "`cold-cache`" + `, where data of files takes longer: tar or rsync of small files. Where the blocks had been in memory before and were evicted, ` + "`cache-busting`, `cgroup-cache-limit`" + ` or whatever evicts them comes first |

`
