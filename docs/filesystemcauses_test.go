package docs_test

// fileSystemCauses is how causes that lie in a file system are told apart from
// those that they look like.
const fileSystemCauses = `What a thread waits for inside a file system is told by the kernel functions that it sleeps in (` + "`wait.for`" + `), whatever the call:

| cause | applies if | is not |
|---|---|---|
| ` + "`metadata-bound`" + ` | the victim waits for blocks with inodes, directories or maps of blocks (class metadata) longer than for data of files, and for 30 % of its waiting or more | ` + "`cold-cache`" + `, where data of files takes longer: tar or rsync of small files. Where the blocks had been in memory before and were evicted, ` + "`cache-busting`, `cgroup-cache-limit`" + ` or whatever evicts them comes first |
| ` + "`journal-commit`" + ` | the victim waits for room in the journal, or for a block that a commit is writing (class journal: ` + "`start_this_handle`, `do_get_write_access`, `xlog_grant_head_wait`, `wait_current_trans`" + `), for 30 % of its waiting or more, and longer than in syncs of its own. The culprit is who waits for commits meanwhile; where nobody does, the journal is too small for what the victim changes | ` + "`sync-writes`" + `: waits for the journal inside an own fsync count as that (class commit). XFS and btrfs do not let a program that creates files wait for the commits of another: beside the same log on both it was not held up (cpu-bound; a run each, 2026-11-26). There this cause is a full log of XFS, or a transaction of btrfs that lets no new one begin; it has no scenario |
| ` + "`discard-storm`" + ` | the victim's requests take longer than alone, and discards are at least half of the time that others have requests in flight | ` + "`noisy-neighbour`, `writeback-interference`" + `, where reads and writes are most of it |
| ` + "`file-system-full-or-fragmented`" + ` | calls of 64 KiB or more are served by requests of 32 KiB or less, four of them or more for a call, and what is called for is what the device serves; with what is left of the file system (` + "`fs.available`" + `). Or the victim waits for free space for 30 % of its waiting or more (class space: ` + "`try_to_writeback_inodes_sb`" + `): as long as less than twice of what is dirty is free, ext4 has each writer wait until that is written | ` + "`sync-writes`, `dirty-throttling`, `cold-cache`, `device-queueing`" + `, which such pieces only make slower; a file system that is nearly full and gives whole pieces |
| ` + "`access-scanner-slow`" + ` | the victim waits until another program allows that it opens, reads or runs a file (class permit: ` + "`fanotify_handle_event`" + `), for 30 % of its waiting or more. The culprit is the process that has permission events marked (` + "`/proc/PID/fdinfo`" + `); of several of different names none | ` + "`cold-cache`, `metadata-bound`" + `, where what is opened is read from disk: a scanner that is quick is in the way, and not what takes the time |

A thread that frees memory itself is in reclaim, in compaction, or in both by turns. ` + "`compaction-stall`" + ` is named where compaction (` + "`reclaim.compact_time`" + `) is more than half of that time, ` + "`reclaim-stall`" + ` where it is less.

`
