package source

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
)

func TestListIsWellFormed(t *testing.T) {
	names := map[string]bool{}
	owners := map[sample.Metric]string{}
	for _, e := range List() {
		if e.Name == "" || names[e.Name] {
			t.Errorf("name %q is empty or taken", e.Name)
		}
		names[e.Name] = true
		if e.Open == nil || len(e.Metrics) == 0 || e.Needs == "" {
			t.Errorf("%s: nothing to open, no metrics or no needs", e.Name)
		}
		for i, m := range e.Metrics {
			if slices.Contains(e.Metrics[:i], m) {
				t.Errorf("%s lists %s twice", e.Name, m)
			}
			if owner := owners[m]; owner != "" {
				t.Errorf("%s is listed by %s and %s: one's failure would take the other's figures", m, owner, e.Name)
			}
			owners[m] = e.Name
		}
	}
}

// emitted is a sink that only notes which metrics came.
type emitted struct {
	*sample.Recorder
	metrics map[sample.Metric]bool
}

func (e *emitted) Put(m sample.Metric, _ sample.Entity, _ float64, _ string) { e.metrics[m] = true }

// The readers of /proc and /sys emit what the list says, nothing else, and
// between them, on the captured hosts and on this one, all of it.
func TestListedMetricsAreTheEmittedOnes(t *testing.T) {
	trees, err := filepath.Glob("../../testdata/hosts/*/proc")
	if err != nil || len(trees) == 0 {
		t.Fatalf("no captured hosts: %v", err)
	}
	live := host.Live()
	live.Self = 0 // so that this test is a process like any other
	hosts := []*host.Host{live}
	for _, tree := range trees {
		hosts = append(hosts, host.Tree(filepath.Dir(tree), func() time.Time { return time.Unix(1700000000, 0) }))
	}
	for _, e := range List() {
		if strings.Contains(e.Needs, "CAP_BPF") {
			continue // meaningless on a captured host
		}
		into := &emitted{sample.NewRecorder(time.Now()), map[sample.Metric]bool{}}
		for _, h := range hosts {
			collectAll(t, e, h, into)
		}
		for m := range into.metrics {
			if !slices.Contains(e.Metrics, m) && !strings.HasPrefix(string(m), "cost.") {
				t.Errorf("%s emits %s, which the list does not say", e.Name, m)
			}
		}
		for _, m := range e.Metrics {
			if !into.metrics[m] && !mayLack(m) {
				t.Errorf("the list says that %s emits %s, which it never did", e.Name, m)
			}
		}
	}
}

// mayLack tells of metrics that this host need not have: no huge pages set aside, no swap, no account of
// delays, a network card without a speed, no file system of a server or a daemon,
// no process that may not run on all processors, none of another priority or whose threads compute by turns, no pipeline that computes, no array, no disk that can be asked
// how it is, no partition, no zones, no cgroup that io.cost or io.latency hold back or that uses a device on another one, no
// journal of ext4.
// Nothing moves on a captured host; the tests of their sources have them.
func mayLack(m sample.Metric) bool {
	return slices.Contains([]sample.Metric{sample.MemHugeFree, sample.ProcSwap, sample.ProcBlkioDelay, sample.ProcRunDelay, sample.ProcProcessors, sample.ProcNice, sample.ProcLooks, sample.ProcTurns, sample.ProcTurnThreads, sample.ProcFeeds, sample.NetSpeed,
		sample.DeviceZoned, sample.DeviceMisaligned, sample.DeviceCacheThere, sample.DeviceCacheOn, sample.PathState,
		sample.CgroupIOCostWait, sample.CgroupIOTarget, sample.CgroupDeviceOn, sample.FSJournal}, m) ||
		slices.ContainsFunc([]string{"nfs.", "served.", "mount.", "raid.", "health.", "cloud."}, func(of string) bool { return strings.HasPrefix(string(m), of) })
}

func collectAll(t *testing.T, e Entry, h *host.Host, into sample.Sink) {
	t.Helper()
	s, err := e.Open(h)
	if err != nil {
		return // this host lacks it; one that has it must come
	}
	for _, phase := range []sample.Phase{sample.First, sample.Tick, sample.Last} {
		if err := s.Collect(phase, into); err != nil {
			t.Logf("%s: %v", e.Name, err)
		}
		for began := time.Now(); h.IsLive && e.Name == "pid" && time.Since(began) < 40*time.Millisecond; {
			// two clock ticks of work, for the processor time to be seen
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("%s: %v", e.Name, err)
	}
}
