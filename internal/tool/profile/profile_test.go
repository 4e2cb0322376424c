package profile

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"iocause/internal/require"
	"iocause/internal/sample"
)

func TestWithoutPath(t *testing.T) {
	for name, want := range map[string]string{
		"main.main":                                 "main.main",
		"example.com/a/load.(*worker).run":          "load.(*worker).run",
		"slices.SortFunc[go.shape.[]example.com/x]": "slices.SortFunc[go.shape.[]example.com/x]",
		"libc.so.6+0x1234":                          "libc.so.6+0x1234",
		"JS:~ /tmp/a.js:1:1":                        "JS:~ /tmp/a.js:1:1",
		"operator/":                                 "operator/",
	} {
		if got := withoutPath(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestInnermost(t *testing.T) {
	kernel := func(names ...string) (out []*sample.Frame) {
		for _, n := range names {
			out = append(out, &sample.Frame{Name: n, Kernel: true})
		}
		return out
	}
	s := &sample.Stack{Frames: append([]*sample.Frame{{Name: "_start"}, {Name: "main"}, {Name: "read_all"}, {Name: "read"}},
		kernel("entry_SYSCALL_64_after_hwframe", "do_syscall_64", "__x64_sys_pread64", "vfs_read", "folio_wait_bit", "io_schedule")...)}
	if got, want := innermost(s), "folio_wait_bit < pread64() < read < read_all < main < _start"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := innermost(&sample.Stack{}); got != "-" {
		t.Errorf("%q", got)
	}
}

// Evidence gives back every stack, and each function once.
func TestProfileJSON(t *testing.T) {
	inner, outer := &sample.Frame{Name: "read_\xff", Kernel: true}, &sample.Frame{Name: "main", Module: "server", File: "/opt/server"}
	p := &Profile{Version: 1, Of: "s\xff", Sampling: &Sampling{Hz: 99, Event: "cpu-clock", CPUs: 2}}
	p.Profile = sample.Profile{Counts: "samples", Begin: time.Unix(1e9, 0).UTC(), Length: time.Second, Notes: []string{"some"}, Stacks: []sample.Stack{
		{PID: 1, Process: "s\xff", TID: 2, Thread: "t\xfe", State: "user", Frames: []*sample.Frame{outer, inner}, Time: time.Second, Count: 3},
		{PID: 1, Process: "s", TID: 3, Thread: "u", State: "kernel", Frames: []*sample.Frame{outer}, Time: time.Minute, Count: 4},
	}}
	b, err := json.Marshal(p)
	require.NoError(t, err)
	var again Profile
	if err := json.Unmarshal(b, &again); err != nil || !reflect.DeepEqual(&again, p) {
		t.Errorf("%v\n%+v\n%+v", err, again, p)
	}
	var doc struct {
		Of     sample.RawName
		Frames []sample.Frame
		Stacks []struct {
			Process sample.RawName
			Frames  []int
			Time    int `json:"time_ns"`
		}
	}
	if err := json.Unmarshal(b, &doc); err != nil || len(doc.Frames) != 2 || doc.Of != p.Of || doc.Stacks[0].Process != "s\xff" ||
		!reflect.DeepEqual(doc.Stacks[0].Frames, []int{0, 1}) || !reflect.DeepEqual(doc.Stacks[1].Frames, []int{0}) || doc.Stacks[1].Time != 60e9 {
		t.Errorf("%v\n%s", err, b)
	}
	again.Keep(&Filter{Comm: "u"})
	if note := again.Only(map[string]bool{"kernel": true}); len(again.Stacks) != 1 || note != "4 samples at 99 Hz by cpu-clock, each for 10.1 ms of running; 2 processors" {
		t.Errorf("%+v, %q", again.Stacks, note)
	}
}

// Without --state, what may well be a lack of work is left out.
func TestStatesThatAreShownByDefault(t *testing.T) {
	keep, err := StatesOf("")
	require.NoError(t, err)
	for state, want := range map[string]bool{"disk": true, "mutex": true, "mmap_lock": true, "reclaim": true, "runnable": true, "other": true,
		"futex": false, "idle": false, "network": false, "ipc": false, "stopped": false} {
		if keep[state] != want {
			t.Errorf("%s is shown: %v", state, keep[state])
		}
	}
	if all, err := StatesOf("all"); err != nil || !all["futex"] || !all["idle"] {
		t.Errorf("all: %v, %v", all, err)
	}
}
