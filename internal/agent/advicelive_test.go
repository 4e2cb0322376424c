package agent_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/agent"
	"iocause/internal/host"
	"iocause/internal/incident"
	"iocause/internal/lab"
	"iocause/internal/lab/labtest"
	"iocause/internal/replay"
	"iocause/internal/source"
	"iocause/internal/store/advice"
)

// A cgroup is held to a limit of I/O: the agent begins an incident, finds the cause and
// keeps its advice. The limit is raised fourfold: the agent sees that, measures, and writes
// what came of it.
func TestWhatCameOfAdvice(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	labtest.Need(t, "root", "bpf", "blkio", "loop")
	e, err := labtest.New(t, "")
	if err != nil {
		t.Fatal(err)
	}
	disk, err := e.Loop("limited", 64<<20, "", false)
	if err != nil {
		t.Fatal(err)
	}
	number, err := os.ReadFile(host.Live().Sys("class", "block", disk.Device, "dev"))
	if err != nil {
		t.Fatal(err)
	}
	limits := &lab.Limits{Device: strings.TrimSpace(string(number)), ReadIOPS: 50}
	group, err := e.Cgroup("slow", limits)
	if err != nil {
		t.Fatal(err)
	}
	const name = "advised-dd" // no other program has it: what came of it is asked of all of a name
	dd, err := os.ReadFile("/bin/dd")
	if err == nil {
		err = os.WriteFile(filepath.Join(e.Scratch(), name), dd, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Start([]string{"/bin/sh", "-c", "exec " + filepath.Join(e.Scratch(), name) + " if=" + disk.Dir + " of=/dev/null bs=4k iflag=direct status=none"}, group, false)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "rec")
	ctx, cancel := context.WithCancel(t.Context())
	h, said := host.Live(), &strings.Builder{}
	judge := &incident.Judge{Host: h, Program: "test", Opener: &replay.Opener{Dir: dir, Program: "test", Now: h.Now, Note: func(err error) { t.Log(err) }}, Sources: source.List(), OpenLimit: 20 * time.Second}
	a := agent.New(h, agent.Quick(dir), slog.New(slog.NewTextHandler(said, nil)), judge.Judge, "test")
	a.HoldAtOnce()
	over := make(chan error, 1)
	go func() { over <- a.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
		if err := p.Stop(10 * time.Second); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(said) // its last writer is gone
		}
	}()
	entry := func(what string, ok func(*advice.Entry) bool) *advice.Entry {
		t.Helper()
		for began := time.Now(); time.Since(began) < 50*time.Second; time.Sleep(100 * time.Millisecond) {
			if l, err := advice.Load(dir); err == nil {
				for i := range l.Entries {
					if x := &l.Entries[i]; x.Program == name && ok(x) {
						return x
					}
				}
			}
		}
		t.Fatalf("waited in vain for %s", what)
		return nil
	}
	given := entry("advice", func(x *advice.Entry) bool { return true })
	if given.Cause != "cgroup-io-throttle" || given.Incident == 0 || given.Low < 2 {
		t.Fatalf("%+v is the advice", given)
	}
	limits.ReadIOPS *= 4
	if err := group.Limit(limits); err != nil {
		t.Fatal(err)
	}
	x := entry("what came of it", func(x *advice.Entry) bool { return x.Outcome != nil })
	if len(x.Changes) != 1 || x.Least() != 4 || x.Outcome.Factor == nil || *x.Outcome.Factor < 3.4 || *x.Outcome.Factor > 4.6 {
		t.Errorf("%+v, %+v: at least %g times as much is expected, 4 measured", x.Changes, x.Outcome, x.Least())
	}
	if x.Outcome.Factor != nil {
		t.Logf("%.2f times as much, %s", *x.Outcome.Factor, x.Outcome.Result)
	}
}
