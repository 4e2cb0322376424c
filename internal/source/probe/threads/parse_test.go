package threads

import (
	"errors"
	"testing"
	"time"

	"iocause/internal/bpf"
	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/procfile"
)

// This kernel has the functions of each file system that it has, and room for all.
func TestRulesOfThisKernel(t *testing.T) {
	rules, err := readRules(host.Live())
	if errors.Is(err, procfile.ErrHidden) {
		bpftest.Need(t, "bpf", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(rules) < 10 || len(rules) > bpf.MaxRules {
		t.Errorf("%d rules, want 10 to %d", len(rules), bpf.MaxRules)
	}
}

func TestEveryFunctionHasOneState(t *testing.T) {
	seen := map[string]State{}
	for s, names := range waitIn() {
		for _, name := range names {
			if before, ok := seen[name]; ok {
				t.Errorf("%s is %s and %s", name, before.Key(), s.Key())
			}
			seen[name] = s
		}
	}
}

func TestStatesHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for s := Unseen; s < States; s++ {
		if s.Key() == "" || seen[s.Key()] {
			t.Errorf("state %d is called %q", s, s.Key())
		}
		seen[s.Key()] = true
	}
}

// The time on a processor is parted as the ticks are: the thread's own of this
// time, else those of its life, else not at all.
func TestSplit(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		u            Usage
		user, system time.Duration
		ok           bool
	}{
		{Usage{In: [States]time.Duration{Run: 100 * ms}, User: 30 * ms, System: 10 * ms, LifeSystem: 500 * ms}, 75 * ms, 25 * ms, true},
		{Usage{In: [States]time.Duration{Run: 100 * ms, ReclaimRun: 8 * ms}, User: 30 * ms, System: 18 * ms}, 75 * ms, 25 * ms, true},
		{Usage{In: [States]time.Duration{Run: 100 * ms}, LifeUser: 10 * ms, LifeSystem: 30 * ms}, 25 * ms, 75 * ms, true},
		{Usage{In: [States]time.Duration{Run: 100 * ms}}, 0, 0, false},
		{Usage{In: [States]time.Duration{Run: 100 * ms}, Kernel: true}, 0, 100 * ms, true},
		{Usage{}, 0, 0, true},
	} {
		if user, system, ok := c.u.Split(); user != c.user || system != c.system || ok != c.ok {
			t.Errorf("%+v: %v user, %v system, %v; want %v, %v, %v", c.u, user, system, ok, c.user, c.system, c.ok)
		}
	}
}

func TestDifference(t *testing.T) {
	a := threadsRecord{Now: 1000, Exec: 50}
	a.Ns[Run], a.Ns[Idle] = 300, 700
	b := threadsRecord{Now: 3000, Exec: 40, Serial: 9, Tid: 7, Tgid: 5, Flags: flagKernelThread}
	b.Ns[Run], b.Ns[Idle], b.Ns[Disk] = 800, 1700, 490
	b.Comm = [16]int8{'a', 0x1b, 'b', 0, 'c'}
	u := difference(&a, &b)
	if u.Wall != 2000 || u.In[Run] != 500 || u.In[Idle] != 1000 || u.In[Disk] != 490 || u.Unaccounted() != 10 || u.Busy() != 990 {
		t.Errorf("%+v", u)
	}
	if u.Exec != 0 { // went back
		t.Errorf("Exec %v", u.Exec)
	}
	if u.Comm != "a\x1bb" || !u.Kernel || u.TID != 7 || u.PID != 5 {
		t.Errorf("%+v", u)
	}
}
