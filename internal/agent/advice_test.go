package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/store/advice"
)

// The first advice of an incident is kept; a limit that is raised afterwards is seen,
// and what came of it is asked for a minute later, also by an agent that was started
// meanwhile.
func TestAdviceIsFollowed(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("proc/self/mountinfo", "1 0 0:9 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
	put("sys/fs/cgroup/cgroup.controllers", "cpu io memory\n")
	put("sys/fs/cgroup/a/memory.max", "134217728\n")
	put("sys/fs/cgroup/a/db/memory.max", "max\n")
	put("sys/block/vda/queue/read_ahead_kb", "128\n")
	put("proc/meminfo", "MemTotal:       16000000 kB\nMemFree:         7 kB\n")
	h := host.Tree(root, time.Now)
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	open := func() *advised {
		t.Helper()
		a, err := newAdvised(h, dir, adviceSettles)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	keep := func(a *advised) {
		t.Helper()
		b, err := a.ledger.Bytes()
		if err == nil {
			err = advice.Save(dir, b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	report := json.RawMessage(`{"victim":{"comm":"db","cgroup":"/a/db"},"findings":[{"cause":"cgroup-cache-limit","answer":"yes","culprit":{"cgroup":"/a"},
		"advice":[{"do":"raise the limit","expect":"at least 1.5x as fast","expect_low":1.5}]}]}`)
	a := open()
	if added, err := a.given(7, report, at); !added || err != nil {
		t.Fatalf("%v, %v", added, err)
	}
	for _, none := range []string{`{}`, `{"victim":{"comm":"x"},"findings":[{"answer":"cannot tell","advice":[{}]}]}`} {
		if added, _ := a.given(8, json.RawMessage(none), at); added {
			t.Errorf("%s is advice", none)
		}
	}
	if got := len(a.ledger.Entries[0].Settings); got != 4 {
		t.Errorf("%d settings are watched, want 4: %v", got, a.ledger.Entries[0].Settings)
	}
	put("proc/meminfo", "MemTotal:       16000000 kB\nMemFree:         9 kB\n")
	if a.see(at) || a.due(at) != nil {
		t.Error("nothing has changed")
	}
	keep(a)

	a = open()
	put("sys/fs/cgroup/a/memory.max", "268435456\n")
	if at = at.Add(time.Hour); !a.see(at) || a.see(at) {
		t.Error("the limit is raised once")
	}
	if e := a.ledger.Entries[0]; len(e.Changes) != 1 || e.Changes[0].From != "134217728" || e.Changes[0].To != "268435456" || a.due(at) != nil {
		t.Errorf("%+v", e.Changes)
	}
	keep(a)

	a = open()
	at = at.Add(adviceSettles)
	e := a.due(at)
	if e == nil || e.Incident != 7 {
		t.Fatalf("%+v is to be measured", e)
	}
	a.measuring = e.Number
	if a.due(at) != nil {
		t.Error("it is measured twice")
	}
	a.measured(&advice.Outcome{Result: "cannot tell"}, at) // the program does not run
	if a.due(at) != nil || a.due(at.Add(adviceAgain)) == nil {
		t.Error("it is to be tried again, later")
	}
	factor := 1.2
	a.measuring = e.Number
	a.measured(&advice.Outcome{Result: "helped", Factor: &factor}, at)
	keep(a)
	got := open().ledger.Entries[0]
	if off, ok := got.Error(); !ok || off > -0.19 || off < -0.21 || got.Settings != nil || a.due(at.Add(time.Hour)) != nil {
		t.Errorf("%+v", got)
	}
}
