package cli

import (
	"reflect"
	"testing"
	"time"

	"iocause/internal/sample"
	"iocause/internal/source/probe/threads"
)

// Evidence gives back every figure of every thread.
func TestKeptThreads(t *testing.T) {
	u := threads.Usage{Serial: 1 << 63, TID: 7, PID: 6, Comm: "\xff", Process: "p\xfe", Cgroup: 9, Kernel: true, Ended: true, Wall: 99, Present: threads.Disk,
		Since: 3, User: 1, System: 2, LifeUser: 3, LifeSystem: 4, Exec: 5, RunDelay: 6}
	states := map[string]threads.State{}
	for s := range threads.States {
		u.In[s] = time.Duration(10 + s)
		states[s.Key()] = s
	}
	b, err := keepJSON(&keptThreads{Version: 1, Threads: []keptThread{keptOf(&u, "/c\xff")}})
	if err != nil {
		t.Fatal(err)
	}
	again, err := keptAs[keptThreads](b, sectionThreads)
	if err != nil || again.Threads[0].Cgroup != "/c\xff" || !reflect.DeepEqual(*again.Threads[0].usage(states), u) {
		t.Errorf("%v\n%+v\n%+v", err, again.Threads[0].usage(states), u)
	}
	if who := again.busiestName(); who != "" {
		t.Errorf("a kernel thread is the victim: %q", who)
	}
	again.Threads[0].Kernel = false
	if who := again.busiestName(); who != "p\xfe" {
		t.Errorf("the victim is %q", who)
	}
}

// Evidence gives back every figure of system calls, and the stacks of those
// that are slow enough.
func TestKeptCalls(t *testing.T) {
	c := made("s\xff", 17)
	c.Slowest = []threads.SlowCall{
		{PID: c.PID, TID: 8, Number: 17, Thread: "t\xfe", Result: -5, Wall: 3 * time.Second, Wait: time.Second, State: threads.Disk},
		{PID: c.PID, TID: 9, Number: 17, Wall: 2 * time.Second},
	}
	for p := range c.Slowest[0].In {
		c.Slowest[0].In[p] = time.Duration(p)
	}
	inner, outer := &sample.Frame{Name: "read_\xff", Kernel: true}, &sample.Frame{Name: "main", Module: "server", File: "/opt/server"}
	live := &keptStacks{of: map[*threads.SlowCall][]*sample.Frame{&c.Slowest[0]: {inner, outer}, &c.Slowest[1]: {outer}}, said: []string{"no names"}}
	var frames keptFrames
	kept := keptCalls{Version: 1, Calls: []keptCall{keptCallOf(c, threads.CallNames(), live, &frames)}, Stacks: live.notes()}
	kept.Frames = frames.all
	b, err := keepJSON(&kept)
	if err != nil {
		t.Fatal(err)
	}
	again, err := keptAs[keptCalls](b, sectionLatency)
	if err != nil {
		t.Fatal(err)
	}
	all := func(*keptCall) bool { return true }
	calls, stacks := again.calls(time.Second, all)
	if len(calls) != 1 || !reflect.DeepEqual(calls[0], c) {
		t.Errorf("%+v\n%+v", calls, c)
	}
	if got := stacks.stackOf("", &calls[0].Slowest[0]); !reflect.DeepEqual(got, []*sample.Frame{inner, outer}) || !reflect.DeepEqual(stacks.notes(), live.said) {
		t.Errorf("%+v, %q", got, stacks.notes())
	}
	if calls, _ := again.calls(2500*time.Millisecond, all); len(calls[0].Slowest) != 1 {
		t.Errorf("%+v", calls[0].Slowest)
	}
	// What a later version knows more of is not lost, what is damaged no harm.
	again.Calls[0].In["new"] = time.Minute
	again.Calls[0].Walls.Slots = append(again.Calls[0].Walls.Slots, [2]uint64{1 << 60, 1})
	again.Calls[0].Slowest[0].Frames = []int{-1, 99, 1}
	calls, stacks = again.calls(0, all)
	if got := calls[0].In[threads.PartOther]; got != c.In[threads.PartOther]+time.Minute || calls[0].Walls.N() != c.Walls.N()+1 {
		t.Errorf("%v, %d", got, calls[0].Walls.N())
	}
	if got := stacks.stackOf("", &calls[0].Slowest[0]); len(got) != 1 || got[0].Name != "main" {
		t.Errorf("%+v", got)
	}
}
