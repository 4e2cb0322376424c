package predict

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/predict"
	"iocause/internal/source/probe/access"
)

// What is wrong with what was seen or asked for is said in a sentence, and nothing is
// made up.
func TestBadInput(t *testing.T) {
	read := func(n int, kind predict.Kind) *predict.Trace {
		tr := &predict.Trace{Pages: 100, Scale: 8, Length: time.Second}
		for i := range n {
			tr.Events = append(tr.Events, predict.Event{Page: uint32(i % 100), At: uint32(i * 1000 / max(n, 1)), Kind: kind, Asked: true})
		}
		return tr
	}
	s := predict.Setting{Memory: gib, Cache: gib, Room: gib}
	for name, c := range map[string]struct {
		trace *predict.Trace
		want  string
	}{
		"no accesses":        {read(0, predict.Read), "no read through the page cache was seen"},
		"a window too short": {read(200, predict.Read), "too few reads were seen: 200 of watched pages, 300 are needed"},
		"mappings only":      {read(1000, predict.Faulted), "files were read through mappings only"},
	} {
		curve, err := predict.Work(c.trace, s, predict.Sizes(gib, nil))
		if curve != nil || err == nil {
			t.Errorf("%s: a curve from nothing: %+v, %v", name, curve, err)
			continue
		}
		p := &Prediction{Of: "everybody", Seconds: 1}
		if got := p.cannot(err); !strings.HasPrefix(got, "Cannot tell: ") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	// a kernel that does not tell of reads: no observer, so no curve
	if got := unseen(fmt.Errorf("counting reads: %w", bpf.ErrNotSupported)).Error(); !strings.HasPrefix(got, "nothing can be predicted here") {
		t.Error(got)
	}
	if got := unseen(os.ErrPermission).Error(); strings.Contains(got, "predicted") {
		t.Error(got)
	}
	// files that were truncated or deleted while they were watched
	tr := read(1000, predict.Read)
	for page := range 30 {
		tr.Events = append(tr.Events, predict.Event{Page: uint32(page), At: 999, Kind: predict.Dropped})
	}
	p := &Prediction{Curve: &predict.Curve{Now: 0.5, Model: 0.5}}
	if got := strings.Join(p.caveats(tr), " "); !strings.Contains(got, "30 % of the pages were taken out of the cache by others than reclaim: their files were truncated or deleted") {
		t.Errorf("dropped pages: %q", got)
	}
	if got := strings.Join(p.caveats(read(1000, predict.Read)), " "); strings.Contains(got, "truncated") {
		t.Error(got)
	}
	// pages that others read first, and that count for them
	elsewhere := read(4000, predict.Read)
	curve, err := predict.Work(elsewhere, predict.Setting{Memory: gib, Cache: 1 << 19, Room: gib}, predict.Sizes(gib, nil))
	if err != nil {
		t.Fatal(err)
	}
	p = &Prediction{Curve: curve, Place: &Place{Cgroup: "/db", Memory: gib, Cache: 1 << 19}}
	// 100 pages that stand for 8 each are 3.1 MiB, give or take 1.2
	if !p.elsewhere() || p.Curve != nil || !strings.HasPrefix(p.Advice[0], "Cannot tell: at least 1.38 MiB of what is read is cached for others (cgroup /db has 512 KiB of cache)") {
		t.Errorf("pages of others: %q, %+v", p.Advice, p.Curve)
	}
	// tables that were full, and events that were lost
	for l, want := range map[access.Losses]string{
		{Events: 3}: "3 accesses to watched pages were lost", {Tasks: 2}: "reads of 2 threads were not seen", {Processes: 4}: "4 times there were too many processes",
		{Waits: 5}: "of 5 calls it is not known how long", {Returns: 6}: "of 6 calls the kernel did not tell the end", {Inodes: 8}: "of 8 events the file was not known",
		{Passed: 9}: "9 events were passed over", {Long: 7}: "of 7 calls only the first part was counted", {}: "",
	} {
		if got := strings.Join(lost(l), "\n"); !strings.Contains(got, want) || (want == "") != (got == "") || strings.Contains(got, "\n") {
			t.Errorf("%+v: %q, want %q", l, got, want)
		}
	}
}

// Sizes below what is no cache, and above what the machine has.
func TestTargets(t *testing.T) {
	p := &Prediction{Place: &Place{Cgroup: "/db", Memory: 2 * gib, Room: gib}}
	asked := p.targets([]Ask{{Bytes: gib / 2}, {Bytes: 3 * gib}, {Bytes: 64 * gib}}, 16*gib)
	if fmt.Sprint(asked) != fmt.Sprint([]int64{3 * gib, 64 * gib}) {
		t.Errorf("%v are predicted", asked)
	}
	if got := strings.Join(p.Notes, "\n"); got != "512 MiB is too small: memory that is not cache needs 1 GiB\n64 GiB is more than the machine has (16 GiB): it is predicted as if it had as much" {
		t.Error(got)
	}
}

// Halving the watched pages is what a full table of them leads to: those that are left
// stand for twice as many, and their events stay.
func TestFullTableHalves(t *testing.T) {
	o := &Observer{scale: 8, pages: map[pageKey]uint32{}}
	for i := range uint32(1000) {
		o.pages[pageKey{page: uint64(i)}] = i
		o.hashes = append(o.hashes, i*0x9E3779B1)
		o.events = append(o.events, event{Event: predict.Event{Page: i, Kind: predict.Read}})
	}
	o.halve(func(uint32) {})
	if o.scale != 16 || len(o.hashes) != 500 || len(o.events) != 500 || len(o.pages) != 500 {
		t.Errorf("one in %d: %d pages, %d events, %d names", o.scale, len(o.hashes), len(o.events), len(o.pages))
	}
	for i, e := range o.events {
		if int(e.Page) != i || o.hashes[e.Page]&1 != 0 {
			t.Fatalf("event %d is of page %d", i, e.Page)
		}
	}
}

// What is kept free is told only where it is far more than the kernel's own choice.
func TestKeptFree(t *testing.T) {
	total := uint64(16 * gib)
	for said, want := range map[string]uint64{"16384\n": 0, "1048576\n": (1048576 - 16384) * 1024 * 5 / 4, "": 0, "x": 0} {
		root := t.TempDir()
		if err := os.MkdirAll(filepath.Join(root, "proc/sys/vm"), 0o755); err != nil {
			t.Fatal(err)
		}
		if said != "" {
			write(t, filepath.Join(root, "proc/sys/vm"), "min_free_kbytes", said)
		}
		if _, more := keptFree(host.Tree(root, time.Now), &total); more != want {
			t.Errorf("%q: %d bytes, want %d", said, more, want)
		}
	}
}

// What is kept of what processes asked for is bounded, however long they are watched, and
// is what they asked for.
func TestTotalsAreBounded(t *testing.T) {
	const times = 10_000
	o := &Observer{asked: map[int][]predict.Total{1: {{}}, 2: {{}}}}
	for i := range uint32(times) {
		o.asked[1] = keepTotal(o.asked[1], predict.Total{At: 250 * (i + 1), Pages: uint64(min(i, 3))})
		o.asked[2] = keepTotal(o.asked[2], predict.Total{At: 250 * (i + 1), Pages: uint64(10 * (i + 1))})
	}
	if idle, busy := len(o.asked[1]), len(o.asked[2]); idle > 6 || busy > mostTotals {
		t.Errorf("%d totals of a process that asks for nothing, %d of one that does", idle, busy)
	}
	for pid, want := range map[int32]uint64{1: 3, 2: 10 * times} {
		all := o.totals(map[int32]bool{pid: true})
		if last := all[len(all)-1]; all[0] != (predict.Total{}) || last != (predict.Total{At: 250 * times, Pages: want}) {
			t.Errorf("process %d: from %+v to %+v", pid, all[0], last)
		}
	}
	for i, x := range o.totals(map[int32]bool{1: true, 2: true}) {
		if n := float64(x.At) / 25; float64(x.Pages) > n+3 || float64(x.Pages) < n-float64(10*times)/(mostTotals/2) {
			t.Fatalf("total %d: %+v, want about %.0f pages", i, x, n)
		}
	}
}
