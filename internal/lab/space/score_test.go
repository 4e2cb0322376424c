package space

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/lab"
	"iocause/internal/lab/prove"
	"iocause/internal/require"
)

// The interval of Wilson, by the example of 9 of 10 in Newcombe 1998 and at the ends.
func TestWilson(t *testing.T) {
	for _, c := range []struct {
		s         Share
		low, high float64
	}{{Share{9, 10}, 0.5958, 0.9821}, {Share{0, 20}, 0, 0.1611}, {Share{81, 263}, 0.2553, 0.3662}, {Share{0, 0}, 0, 1}} {
		if low, high := c.s.Wilson(); math.Abs(low-c.low) > 5e-4 || math.Abs(high-c.high) > 5e-4 {
			t.Errorf("%+v: %.4f to %.4f, want %.4f to %.4f", c.s, low, high, c.low, c.high)
		}
	}
}

// A report about somebody of whom the remedies tell nothing is no verdict on the
// situation.
func TestStranger(t *testing.T) {
	for _, c := range []struct {
		victim   string
		targeted bool
		want     string
	}{
		{`"pid": 7, "comm": "rsync"`, false, ""},
		{`"pid": 7, "comm": "python3"`, false, ""}, // starts one rsync after another
		{`"pid": 7, "comm": "quiet"`, false, ""},
		{`"pid": 7, "comm": "cc1"`, false, `"cc1" (pid 7)`},
		{`"pid": 7, "comm": "rsync", "cgroup": "/home"`, false, ""},
		{`"pid": 7, "comm": "rsync", "cgroup": "/backup"`, false, `"rsync" (pid 7)`},
		{`"pid": 7, "comm": "cc1"`, true, ""}, // it was asked about another, and says so
		{``, false, ""},
	} {
		st := &Standing{Situation: &Situation{Targeted: c.targeted}, program: lookup("rsync"), home: "/home", beside: []bystander{{comm: "quiet"}}}
		if got, err := st.stranger([]byte(`{"primary": "sync-writes", "victim": {` + c.victim + `}}`)); got != c.want || err != nil {
			t.Errorf("{%s}: %q, %v; want %q", c.victim, got, err, c.want)
		}
	}
}

// Of an odd seed nothing is kept that tells what was wrong, and a results file
// that was cut off goes on.
func TestRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	for _, seed := range []uint64{4, 5} {
		p := &Proof{Situation: &Situation{Seed: seed, Program: "fio"}, Truth: prove.Truth{Causes: []string{"sync-writes"}, Best: "no sync"},
			Verdict: Verdict{Primary: "healthy", Confidence: 0.95}}
		r := NewRecord(p, false)
		if (r.Proof != nil) != (seed == 4) {
			t.Errorf("seed %d: proof %v", seed, r.Proof)
		}
		require.NoError(t, Append(path, &r))
	}
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	if odd := strings.Split(string(b), "\n")[1]; strings.Contains(odd, "sync") || !strings.Contains(odd, `"seed":5`) {
		t.Errorf("the line of the odd seed tells too much: %s", odd)
	}
	require.NoError(t, os.WriteFile(path, append(b, `{"seed":7,"prog`...), 0o600))
	require.NoError(t, Append(path, &Record{Seed: 9, Healthy: true, Right: true, Confidence: 0.95, Calm: true, Program: "own"}))
	all, err := ReadRecords(path)
	if err != nil || len(all) != 3 || all[2].Seed != 9 {
		t.Fatalf("%+v: %v", all, err)
	}
	n := Count(all)
	if n.Primary != (Share{1, 3}) || n.FalseHealthy != (Share{2, 2}) || n.FalseCause != (Share{0, 1}) || n.Sure != (Share{1, 3}) {
		t.Errorf("%+v", n)
	}
	if table := Markdown(all); !strings.Contains(table, "| primary cause right | 0 of 1: 0.0 % (0.0 to 79.3) | 1 of 2: 50.0 % (9.5 to 90.5) | +50.0 |") {
		t.Errorf("%s", table)
	}
}

// What the number of threads gives is a matter of the device only where the device
// matters; and a limit that takes half of the time is true beside the sync that
// meets it.
func TestTruth(t *testing.T) {
	effect := func(remedy, who string, factor float64, causes ...string) prove.Effect {
		return prove.Effect{Remedy: remedy, Who: who, Causes: causes, Before: []float64{1, 1}, With: []float64{factor, factor}, Factor: factor}
	}
	disk := func(factor float64) prove.Effect {
		return effect("a disk twice as fast", theDevice, factor, deviceCauses...)
	}
	flight := func(factor float64) prove.Effect {
		return effect("more in flight", theDevice, factor, "device-latency-bound")
	}
	for _, c := range []struct {
		name    string
		effects []prove.Effect
		idle    float64
		stolen  float64
		want    string
	}{
		{"more threads on idle processors", []prove.Effect{disk(1.01), flight(1.9)}, 0.5, 0, "healthy cpu-bound"},
		{"more threads, and a disk that hardly matters", []prove.Effect{disk(1.05), flight(1.9)}, 0.5, 0, "healthy cpu-bound"},
		{"the disk is a fifth of the time", []prove.Effect{effect("no I/O limit", theCgroup, 1.5, "cgroup-io-throttle"), disk(1.11), flight(1.99)}, 0.5, 0, "cgroup-io-throttle"},
		{"no processor is idle", []prove.Effect{disk(1.01)}, 0.02, 0, "healthy cpu-bound cpu-saturated"},
		{"the hypervisor takes a fifth", []prove.Effect{disk(1.01)}, 0.5, 0.2, "healthy cpu-bound cpu-saturated"},
		{"a neighbour in the way at the processors", []prove.Effect{disk(0.97), effect("stop the neighbour", "comm:greedy", 1.3, "noisy-neighbour")}, 0.01, 0, "noisy-neighbour cpu-saturated"},
		{"a neighbour in the way at the disk", []prove.Effect{disk(1.6), effect("stop the neighbour", "comm:greedy", 3, "noisy-neighbour")}, 0.01, 0, "noisy-neighbour"},
		{"one request at a time", []prove.Effect{disk(1.9), flight(3.6)}, 0.5, 0, "device-latency-bound"},
		{"a full device", []prove.Effect{disk(1.9), flight(1.02)}, 0.5, 0, "device-queueing device-iops-limit device-bandwidth-limit"},
		{"a limit on the way of the sync", []prove.Effect{effect("no I/O limit", theCgroup, 8, "cgroup-io-throttle"), disk(1), effect("no sync", itself, 300, "sync-writes")}, 0.5, 0, "sync-writes cgroup-io-throttle"},
		{"a limit that hardly matters", []prove.Effect{effect("no I/O limit", theCgroup, 1.2, "cgroup-io-throttle"), disk(1), effect("no sync", itself, 300, "sync-writes")}, 0.5, 0, "sync-writes"},
	} {
		st := &Standing{Situation: &Situation{Work: Direct}, disk: &lab.LoopDisk{}}
		truth := st.Truth(c.effects, Processors{Idle: c.idle, Stolen: c.stolen}, 0)
		if got := strings.Join(truth.Causes, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	// On tmpfs a sync waits for nothing: what it costs is the program's own work.
	st := &Standing{Situation: &Situation{Work: Commit}}
	if got := st.Truth([]prove.Effect{effect("no sync", itself, 300, "sync-writes")}, Processors{Idle: 0.5}, 0); strings.Join(got.Causes, " ") != "sync-writes healthy cpu-bound" {
		t.Errorf("without a disk: %v", got.Causes)
	}
}

// Who pauses between commits gains nothing by not syncing; that it waits in them is
// true all the same where they are many.
func TestTruthOfPauses(t *testing.T) {
	for _, c := range []struct {
		writing float64
		want    string
	}{
		{0.16, "healthy cpu-bound sync-writes"},
		{0.04, "healthy cpu-bound"},
	} {
		st := &Standing{Situation: &Situation{Program: "own", Work: Commit, Block: 4096, Think: 300 * time.Millisecond, Latency: 4 * time.Millisecond}, disk: &lab.LoopDisk{}}
		effects := []prove.Effect{{Remedy: "no sync", Causes: []string{"sync-writes"}, Before: []float64{1, 1}, With: []float64{1, 1}, Factor: 1}}
		truth := st.Truth(effects, Processors{Idle: 0.5}, c.writing)
		if got := strings.Join(truth.Causes, " "); got != c.want {
			t.Errorf("%g in flight: %s, want %s", c.writing, got, c.want)
		}
	}
}
