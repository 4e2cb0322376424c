package cmd

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"iocause/internal/source/probe/threads"
)

// Names of the system may hold any byte; evidence loses none.
func TestRawName(t *testing.T) {
	for _, name := range []rawName{"", "postgres", "a\xff\xfeb", "\ufffd", "a\"b\x1b<>&\u2028", "{\"base64\":1}"} {
		b, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		var again rawName
		if err := json.Unmarshal(b, &again); err != nil || again != name {
			t.Errorf("%q became %q in %s, %v", name, again, b, err)
		}
	}
}

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
