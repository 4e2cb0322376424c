package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/store/incidents"
)

// Cgroups whose limits of processor time, I/O and memory hold them back, and
// one whose memory can go nowhere, are told; one that stays below its limits is
// not.
func TestLimitsOfRealCgroups(t *testing.T) {
	e := machine(t, "root", "memcg", "blkio", "cpucg", "loop")
	disk, err := e.Loop("capped", 16<<20, "", false)
	if err != nil {
		t.Fatal(err)
	}
	number, err := os.ReadFile(host.Live().Sys("class", "block", disk.Device, "dev"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(e.Scratch(), "file")
	if err := os.WriteFile(file, make([]byte, 96<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	bpftest.Drop(t, file) // what is in memory already belongs to another cgroup
	device := strings.TrimSpace(string(number))
	want := map[string]string{} // kinds by the name of the cgroup
	for _, c := range []struct {
		kind, script string
		limits       lab.Limits
	}{
		{sample.LimitThrottled, "while :; do :; done", lab.Limits{CPUs: 0.05}},
		{sample.LimitThrottled, "while :; do dd if=" + disk.Dir + " of=/dev/null bs=4k count=400 iflag=direct status=none; done", lab.Limits{Device: device, ReadIOPS: 20}},
		{sample.LimitCap, "while :; do cat " + file + " >/dev/null; done", lab.Limits{Memory: 24 << 20}},
		{sample.LimitOOM, "(head -c 123M /dev/zero; exec sleep 1000) | tail", lab.Limits{Memory: 128 << 20, Swappiness: "0"}},
		{"", "exec sleep 1000", lab.Limits{Memory: 64 << 20, CPUs: 1, Device: device, ReadIOPS: 20}},
	} {
		name := fmt.Sprintf("cap%d", len(want))
		group, err := e.Cgroup(name, &c.limits)
		if err != nil {
			t.Fatal(err)
		}
		p, err := e.Start([]string{"/bin/sh", "-c", c.script}, group, false)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Stop(10 * time.Second); err != nil {
				t.Log(err)
			}
		})
		want[filepath.Base(group.Path)] = c.kind
	}
	limits := newCgroupLimits()
	limits.holds, limits.oomHolds, limits.seen = 2*time.Second, 2*time.Second, 0
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	all := source.List()
	c := source.Open(ctx, host.Live(), all[slices.IndexFunc(all, func(x source.Entry) bool { return x.Name == limitSource }):][:1])
	defer c.Close()
	c.Begin()
	over := errors.New("all are told")
	got := map[string]string{}
	err = c.Intervals(ctx, time.Second, 0, func(w *sample.Window) error {
		limits.see(w)
		for _, l := range limits.take() {
			for name := range want {
				if strings.Contains(l.What, "/"+name+"\"") && got[name] == "" {
					got[name] = l.Kind
					t.Log(l)
				}
			}
		}
		if len(got) == len(want)-1 {
			return over
		}
		return nil
	})
	if !errors.Is(err, over) {
		t.Error(err)
	}
	for name, kind := range want {
		if got[name] != kind {
			t.Errorf("%s: %q is told, want %q", name, got[name], kind)
		}
	}
}

// capped is a host with one cgroup, whose clock the test sets.
type capped struct {
	cgroupLimits *cgroupLimits
	now          time.Time
}

// spend gives so much time, of whose windows the share is throttled, the first
// ones; and how much passed before the limit was told, -1 when it was not, and
// how long it was told.
func (c *capped) spend(d time.Duration, throttled bool) (after, told time.Duration) {
	after = -1
	for spent := limitEvery; spent <= d; spent += limitEvery {
		r := sample.NewRecorder(c.now)
		c.now = c.now.Add(limitEvery)
		e := sample.Entity{Cgroup: "/a"}
		r.Put(sample.CgroupCPUQuota, e, 0.5, "test")
		r.Put(sample.CgroupPeriods, e, 100, "test")
		r.Put(sample.CgroupThrottled, e, map[bool]float64{true: 80, false: 20}[throttled], "test")
		c.cgroupLimits.see(r.Window(c.now))
		if len(c.cgroupLimits.take()) > 0 {
			if told += limitEvery; after < 0 {
				after = spent
			}
		}
	}
	return after, told
}

// What a limit does every day is told once in a week, and not of a cgroup that
// is new.
func TestLimitsOfCgroupsAreToldWhenTheyAreNews(t *testing.T) {
	c := &capped{newCgroupLimits(), time.Unix(1e9, 0)}
	step := func(what string, d time.Duration, throttled bool, wantAfter, wantTold time.Duration) {
		t.Helper()
		if after, told := c.spend(d, throttled); after != wantAfter || told != wantTold {
			t.Errorf("%s: told after %v, for %v; want %v, %v", what, after, told, wantAfter, wantTold)
		}
	}
	const day = 24 * time.Hour
	step("before", 2*time.Hour, false, -1, 0)
	for range 5 {
		step("a short while", 2*time.Minute, true, -1, 0)
		step("and free", 3*time.Minute, false, -1, 0)
	}
	step("free", 10*time.Minute, false, -1, 0)
	step("news", 20*time.Minute, true, limitHolds, 16*time.Minute+limitEvery)
	step("a pause", 10*time.Minute, false, -1, 0)
	step("it goes on", 20*time.Minute, true, limitHolds, 16*time.Minute+limitEvery)
	step("a day", day, false, -1, 0)
	step("the same the next day", time.Hour, true, -1, 0)
	step("nine days", 9*day, false, -1, 0)
	step("news again, and for long", 8*time.Hour, true, limitHolds, 6*time.Hour-limitHolds+limitEvery)
	busy := &capped{newCgroupLimits(), time.Unix(1e9, 0)}
	c = busy
	step("always", 3*day, true, -1, 0)
}

// What the source of an agent sees of a cgroup begins an incident.
func TestALimitBeginsAnIncident(t *testing.T) {
	a := New(host.Live(), quickConfig(t.TempDir()), slog.New(slog.DiscardHandler), nil, "test")
	at := slices.IndexFunc(a.feeds, func(f *feed) bool { return f.entry.Name == limitSource })
	if at < 0 {
		t.Fatal("no source reads the limits of cgroups")
	}
	w := newWatcher(a.host, &a.config, a.log, nil, "test")
	w.cgroupLimits = a.cgroupLimits
	c := &capped{a.cgroupLimits, time.Unix(1_700_000_000, 0)}
	c.spend(2*time.Hour, false)
	w.step(t.Context(), w.sample(c.now))
	if w.open != nil {
		t.Fatalf("an incident began: %+v", w.open.Meta)
	}
	held := windowOf(t, (5 * time.Minute).Seconds(), func(r *sample.Recorder) {
		e := sample.Entity{Cgroup: "/a"}
		r.Put(sample.CgroupCPUQuota, e, 0.5, "test")
		r.Put(sample.CgroupPeriods, e, 100, "test")
		r.Put(sample.CgroupThrottled, e, 80, "test")
	})
	held.Start = c.now
	a.feeds[at].seen(held)
	w.step(t.Context(), w.sample(c.now.Add(held.Length)))
	if w.open == nil || len(w.open.Meta.What.Limits) != 1 || w.open.Meta.What.Limits[0].Kind != sample.LimitThrottled {
		t.Fatalf("%+v", w.open)
	}
	w.keeper.work(false)
	if list, err := incidents.List(w.dir()); err != nil || len(list) != 1 {
		t.Errorf("kept: %v, %v", list, err)
	}
}
