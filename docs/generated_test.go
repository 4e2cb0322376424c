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
A cause that explains others is named before them, unless it weighs less than half of what they weigh (device-errors always, cgroup-cache-limit always before reclaim-stall);
those that hold as well are contributing causes.

The weight of a cause (` + "`weight`" + ` in JSON, "explains N %" in the text) is the share of what holds the victim up that goes away with the cause.
What holds it up is added up over its threads from the accounts of what each waits for:

| time of its threads | account | whose weight it is |
|---|---|---|
| blocked on I/O, by the call | ` + "`wait.io`" + ` | ` + "`sync-writes`" + `: class sync; cache causes: read and fault, without the part of direct reads and of swap; ` + "`direct-io`" + `: that part; ` + "`swap-thrash`" + `: swap's part, and memory freed; device causes: for as long as its requests are in flight (` + "`device-degraded`" + `: what of that was added); ` + "`host-difference`" + `: what was added to all of it; ` + "`fuse-daemon-slow`, `remote-server-slow`, `network-limits-io`" + `: waits for answers of a daemon or a server, and for pages of their files |
| paused as a writer | ` + "`wait.dirty_pause`" + ` | ` + "`dirty-throttling`" + ` |
| frees memory itself | ` + "`reclaim.direct_time`" + `, ` + "`reclaim.compact_time`" + ` | ` + "`reclaim-stall`" + ` |
| waits for locks | ` + "`lock.wait`" + ` | ` + "`lock-contention`" + `; not counted where so many threads wait for I/O that the holder of the lock likely does |
| waits for a processor | ` + "`proc.run_delay`" + ` | ` + "`cpu-saturated`" + `; not counted where that is not a cause |

Causes of different rows do not explain more than 100 % together. Causes on the way of the same request (a cache too small, a slow device) explain the same wait, and each weighs as if only it went away.
` + "`weight_of`" + ` says what the share is of: ` + "`waiting`" + ` as above; ` + "`time`" + ` on processors and waiting, for a program that nothing holds up (` + "`cpu-bound`" + `, ` + "`small-io`" + `); ` + "`in flight`" + `, the time with I/O in flight, for a program that never blocks; ` + "`requests`" + ` of the device, for errors that nobody waits for.
Findings come by weight, but against an I/O cause the wait for processors is not held: it can come first and weigh less than ` + "`cpu-saturated`" + `.

An advice says by how many times as much the victim does in the same time once it is followed (` + "`expect_low`, `expect_high`" + ` in JSON), where that is known. Of the victim's time at most all that the remedy does not surely take away stays,
idle time included: that is the least it gains. At least its own time on a processor stays, less what waiting costs (the kernel's work for each wait, where it goes too, and caches that are cold after each), and what is copied out of memory: that is the most.
Both are bound by the processors that it gets beside others. Who waits for more than half of its time awake was hardly seen running: then there is no upper end ("at least"). Of texts of other tools nothing is promised.

Files of a daemon or a server are told from those of disks by their file system (` + "`mount.kind`" + `); what a program waits for them is the time that it sleeps for an answer (` + "`wait.for`" + `, class fuse or network) and for pages of their files (` + "`cache.wait`" + `). From there:

| cause | told from the others by |
|---|---|
| ` + "`fuse-daemon-slow`" + ` | the process that answers requests of the mount waits for I/O itself for less than half of the time that its answers take. Where it waits for longer it is the victim in the program's place: what holds it up (a disk, a limit, another daemon) is the cause. A disk that nobody of these waits for is not |
| ` + "`remote-server-slow`" + ` | of the time of NFS requests at least half lies between sending and answer, fewer than 1 % are sent again, no link is at 90 % of its speed; or none is answered at all. Of CIFS, Ceph and 9p the kernel keeps no times: then the confidence is 60 % |
| ` + "`network-limits-io`" + ` | 1 % or more of the requests, or of the host's TCP segments, are sent again, a request ran into its timeout, a link is at 90 % of its speed, or requests spend half of their time in this host before they are sent |

A cold cache explains none of them; data that is read again because it does not fit the memory explains them as it explains a slow disk.

| ID | what is wrong | explains | needs (one of each group) |
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

Made from the code by ` + "`go test ./docs -update`" + `. A counter's total over a window is the sum of its points.

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
