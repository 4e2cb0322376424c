package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source/probe/threads"
)

// keptThreads is what 'iocause threads' shows of a time, as evidence. Times are
// in nanoseconds.
type keptThreads struct {
	Version int           `json:"version"`
	Begin   time.Time     `json:"begin"`
	Length  time.Duration `json:"length_ns"`
	Threads []keptThread  `json:"threads"`
	Notes   []string      `json:"notes"`
}

type keptThread struct {
	Serial     uint64                   `json:"serial"`
	TID        int                      `json:"tid"`
	PID        int                      `json:"pid"`
	Comm       sample.RawName           `json:"comm"`
	Process    sample.RawName           `json:"process"`
	CgroupID   uint64                   `json:"cgroup_id"`
	Cgroup     sample.RawName           `json:"cgroup"` // "" when not known
	Kernel     bool                     `json:"kernel,omitempty"`
	Ended      bool                     `json:"ended,omitempty"`
	Wall       time.Duration            `json:"wall_ns"`
	In         map[string]time.Duration `json:"in_ns"` // by state; those of 0 are left out
	Present    string                   `json:"present"`
	Since      time.Duration            `json:"since_ns"`
	User       time.Duration            `json:"user_ns"`
	System     time.Duration            `json:"system_ns"`
	LifeUser   time.Duration            `json:"life_user_ns"`
	LifeSystem time.Duration            `json:"life_system_ns"`
	Exec       time.Duration            `json:"exec_ns"`
	RunDelay   time.Duration            `json:"run_delay_ns"`
}

// keepThreads watches all threads for a time.
func (a *app) keepThreads(ctx context.Context, length time.Duration) ([]byte, error) {
	probe, err := threads.Open(a.host, threads.Options{})
	if err != nil {
		return nil, fmt.Errorf("watching the threads: %w", err)
	}
	seen, err := a.seeThreads(ctx, probe, length)
	if err = errors.Join(err, probe.Close()); err != nil {
		return nil, fmt.Errorf("watching the threads: %w", err)
	}
	return keepJSON(seen)
}

func (a *app) seeThreads(ctx context.Context, probe *threads.Probe, length time.Duration) (*keptThreads, error) {
	if err := probe.Begin(); err != nil {
		return nil, err
	}
	began := time.Now()
	out := &keptThreads{Version: 1, Begin: a.host.Now(), Notes: probe.Missing()}
	if err := takeIn(ctx, length, probe.Drain); err != nil {
		return nil, err
	}
	usages, err := probe.Look()
	if err != nil {
		return nil, err
	}
	out.Length = time.Since(began)
	lookup := host.NewLookup(a.host)
	for i := range usages {
		if u := &usages[i]; u.PID != a.host.Self {
			out.Threads = append(out.Threads, keptOf(u, lookup.MemoryCgroup(u.Cgroup)))
		}
	}
	lost, err := probe.Losses()
	out.Notes = append(out.Notes, newLosses(lost, nil)...)
	return out, err
}

func keptOf(u *threads.Usage, cgroup string) keptThread {
	k := keptThread{Serial: u.Serial, TID: u.TID, PID: u.PID, Comm: sample.RawName(u.Comm), Process: sample.RawName(u.Process), CgroupID: u.Cgroup, Cgroup: sample.RawName(cgroup),
		Kernel: u.Kernel, Ended: u.Ended, Wall: u.Wall, In: map[string]time.Duration{}, Present: u.Present.Key(), Since: u.Since,
		User: u.User, System: u.System, LifeUser: u.LifeUser, LifeSystem: u.LifeSystem, Exec: u.Exec, RunDelay: u.RunDelay}
	for s, d := range u.In {
		if d != 0 {
			k.In[threads.State(s).Key()] = d
		}
	}
	return k
}

// usage is a kept thread as it was seen. A state that is not known here stays
// among what no state accounts for.
func (k *keptThread) usage(states map[string]threads.State) *threads.Usage {
	u := &threads.Usage{Serial: k.Serial, TID: k.TID, PID: k.PID, Comm: string(k.Comm), Process: string(k.Process), Cgroup: k.CgroupID,
		Kernel: k.Kernel, Ended: k.Ended, Wall: k.Wall, Present: states[k.Present], Since: k.Since,
		User: k.User, System: k.System, LifeUser: k.LifeUser, LifeSystem: k.LifeSystem, Exec: k.Exec, RunDelay: k.RunDelay}
	for key, d := range k.In {
		if s, ok := states[key]; ok {
			u.In[s] += d
		}
	}
	return u
}

// threadStates are the states by their names.
func threadStates() map[string]threads.State {
	states := map[string]threads.State{}
	for s := range threads.States {
		states[s.Key()] = s
	}
	return states
}

// playThreads shows the threads of an incident.
func (a *app) playThreads(c *cobra.Command, o *threadsOptions, data []byte, args []string) error {
	if err := oneTime(args); err != nil {
		return err
	}
	if err := onlyLive(c, "an incident holds no lengths of waits", "histogram"); err != nil {
		return err
	}
	target, err := o.filter.recordedTarget(o.filter.given(c))
	if err != nil {
		return err
	}
	was, err := keptAs[keptThreads](data, sectionThreads)
	if err != nil {
		return err
	}
	states := threadStates()
	s := &threadShares{o: o, comm: target.Comm, cgroup: target.Cgroup, notes: was.Notes}
	if err := s.checkSort(); err != nil {
		return err
	}
	rows := newThreadRows()
	for i := range was.Threads {
		k := &was.Threads[i]
		u := k.usage(states)
		if s.wants(u, string(k.Cgroup)) && (len(target.PIDs) == 0 || slices.Contains(target.PIDs, u.PID)) {
			rows.add(o.by, u, string(k.Cgroup))
		}
	}
	arranged := o.intervals
	arranged.sort, arranged.top = "", 0
	p := a.newPrinter(&arranged)
	s.style = p.style
	return p.print(was.Begin, was.Length, "", s.tables(rows, was.Length, &waitsByState{}))
}

// busiestName is the name of the processes that were held up longest together,
// "" where none was: by what they wait for that is not idle.
func (k *keptThreads) busiestName() string {
	held := map[sample.RawName]time.Duration{}
	for i := range k.Threads {
		t := &k.Threads[i]
		for key, d := range t.In {
			if !t.Kernel && slices.Contains(heldUp(), key) {
				held[t.Process] += d
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(held), func(x, y sample.RawName) int {
		if held[x] != held[y] {
			return int(min(max(held[y]-held[x], -1), 1))
		}
		return strings.Compare(string(x), string(y))
	})
	if len(names) == 0 {
		return ""
	}
	return string(names[0])
}

// heldUp are the states of a thread that something keeps from its work.
func heldUp() []string {
	var keys []string
	for s := range threads.States {
		if s.IsBusy() && s != threads.Run {
			keys = append(keys, s.Key())
		}
	}
	return keys
}
