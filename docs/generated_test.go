package docs_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"iocause/internal/diagnose"
	"iocause/internal/sample"
)

var update = flag.Bool("update", false, "write the generated documents anew")

// The documents that are made from the code are what the code makes.
func TestGeneratedDocuments(t *testing.T) {
	for name, want := range map[string]string{"causes.md": causes(), "metrics.md": metrics(), "score.md": score(t)} {
		if *update {
			if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(name)
		if err != nil || string(have) != want {
			t.Errorf("%s is not what the code says (%v); run: go test ./docs -update", name, err)
		}
	}
}

func causes() string {
	var b strings.Builder
	b.WriteString(`# Causes

Made from the code by ` + "`go test ./docs -update`" + `. A diagnosis names one of these, ` + "`healthy`" + ` or ` + "`cannot-tell`" + `.
If several causes apply, one that explains others is named before them, unless it weighs less than half as much (device-errors always, cgroup-cache-limit always before reclaim-stall).
The others are contributing causes.

The weight of a cause (` + "`weight`" + ` in JSON, "explains N %" in the text) is the share of the victim's waiting that goes away with the cause. The waiting is summed over its threads:

| threads are | metric | counts for |
|---|---|---|
| blocked on I/O, by the call | ` + "`wait.io`" + ` | ` + "`sync-writes`" + `: class sync, and class write where the program itself sends what it dirtied (O_SYNC), unless hardly any of it is followed by a flush or a commit (O_DIRECT on btrfs, which goes through the page cache); cache causes: read and fault, without direct reads and swap (` + "`readahead-waste`" + `: the part that a request for the used pages alone would save, where requests of different sizes were timed); ` + "`direct-io`" + `: direct reads; ` + "`swap-thrash`" + `: swap, and direct reclaim; device causes: while its requests are in flight (` + "`device-degraded`" + `: the increase of that); ` + "`host-difference`" + `: the increase of all waiting; ` + "`fuse-daemon-slow`, `remote-server-slow`, `network-limits-io`" + `: waits for answers of a daemon or a server, and for pages of their files |
| paused as a writer | ` + "`wait.dirty_pause`" + ` | ` + "`dirty-throttling`" + ` |
| in direct reclaim or compaction | ` + "`reclaim.direct_time`" + `, ` + "`reclaim.compact_time`" + ` | ` + "`reclaim-stall`" + `; ` + "`cgroup-cache-limit`" + ` where most of it is for a cgroup's limit and half of what reads put in had been evicted, however short the reads themselves wait |
| waiting for locks | ` + "`lock.wait`" + ` | ` + "`lock-contention`" + `; not if so many threads wait for I/O that the lock's holder probably does too |
| waiting for a processor | ` + "`proc.run_delay`" + ` | ` + "`cpu-saturated`" + `; only if that is a cause |

Causes of different rows add up to 100 % at most. Causes of the same request (a small cache, a slow device) explain the same wait: each weighs as if only it went away.
` + "`weight_of`" + ` says what the share is of: ` + "`waiting`" + ` as above; ` + "`time`" + ` on processors and waiting, for a program that does not wait (` + "`cpu-bound`" + `, ` + "`small-io`" + `); ` + "`in flight`" + `, the time with I/O in flight, for a program that never blocks; ` + "`requests`" + ` of the device, for errors that no program waits for.
A finding that takes less than a quarter of the victim's time is less sure (` + "`confidence`" + `), for without it little may be gained. Findings are ordered by weight. An I/O cause may come before ` + "`cpu-saturated`" + ` although it weighs less: where many threads queue for a processor, but each for less of its time than those that wait for I/O do that.

Advice says how much faster the victim becomes (` + "`expect_low`" + `, ` + "`expect_high`" + ` in JSON), if that is known. The least gain: only the waiting that the remedy surely removes goes away, idle time stays; a program that sleeps for more than half of the time may keep to a rate, and nothing is sure. The most: only its CPU time stays, less the kernel's work for each wait and cold caches after it, plus copying from memory. Both are limited by the processors that it gets. If it waits for more than half of its time awake, its running was hardly seen, and there is no upper end ("at least"). For pasted output of other tools nothing is promised.

Files of a daemon or a server are known by their file system (` + "`mount.kind`" + `). A program waits for them when it sleeps for an answer (` + "`wait.for`" + `, class fuse or network) or for pages of their files (` + "`cache.wait`" + `). The causes are:

| cause | applies if |
|---|---|
| ` + "`fuse-daemon-slow`" + ` | the daemon waits for I/O itself for less than half of the time that its answers take. Otherwise the daemon is judged as the victim: what it waits for (a disk, a limit, another daemon) is the cause |
| ` + "`remote-server-slow`" + ` | at least half of the time of NFS requests is between sending and answer, fewer than 1 % are sent again, and no link is at 90 % of its speed; or none is answered. Clients of CIFS and Ceph count how long requests take, not where: the confidence is 75 %, and 80 % where none is answered. Of 9p, and where the kernel does not count, only who waits is known: 60 % |
| ` + "`network-limits-io`" + ` | 1 % or more of the requests, or of the host's TCP segments, are sent again, a request ran into its timeout, a link is at 90 % of its speed, or requests spend half of their time in this host before they are sent |

A cold cache explains none of them; refaults of data that does not fit into memory explain them as they explain a slow disk.

` + fileSystemCauses + deviceCauses + `| ID | what is wrong | explains | needs (one of each group) |
|---|---|---|---|
`)
	for _, c := range diagnose.List() {
		var over, needs []string
		for _, id := range c.Over {
			over = append(over, "`"+string(id)+"`")
		}
		for _, group := range c.Needs {
			var names []string
			for _, m := range group {
				names = append(names, "`"+string(m)+"`")
			}
			needs = append(needs, strings.Join(names, " or "))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.ID, c.Title, strings.Join(over, ", "), strings.Join(needs, "; "))
	}
	return b.String()
}

func metrics() string {
	var b strings.Builder
	b.WriteString(`# Metrics

Made from the code by ` + "`go test ./docs -update`" + `. A counter's total over a window is the sum of its points. Pages have 4 KiB; a larger one of a kernel counts as several.

| metric | unit | kind | measured on | what it is |
|---|---|---|---|---|
`)
	for _, i := range sample.Catalog() {
		kind := "counter"
		if i.Kind == sample.Gauge {
			kind = "gauge"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", i.Metric, i.Unit, kind, i.On, i.Help)
	}
	return b.String()
}
