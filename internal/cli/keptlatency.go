package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/sample"
	"iocause/internal/source/probe/threads"
	"iocause/internal/symbol"
)

// keptCalls is what 'iocause latency' shows of a time, as evidence. Times are
// in nanoseconds.
type keptCalls struct {
	Version int           `json:"version"`
	Begin   time.Time     `json:"begin"`
	Length  time.Duration `json:"length_ns"`
	Slow    time.Duration `json:"slow_ns"`     // the slowest calls have stacks from this length on
	Without []string      `json:"left_out"`    // calls that were not looked at
	Calls   []keptCall    `json:"calls"`       // those with most time
	Frames  []keptFrame   `json:"frames"`      // of the stacks
	Notes   []string      `json:"notes"`       // what is missing
	Stacks  []string      `json:"stack_notes"` // what is missing of the stacks
	Left    int           `json:"calls_left"`  // rows that are not here
}

type keptCall struct {
	PID     int                      `json:"pid"`
	Process sample.RawName           `json:"process"`
	Number  int                      `json:"number"` // on that machine
	Name    string                   `json:"name"`
	Count   uint64                   `json:"count"`
	Failed  uint64                   `json:"failed"`
	Wall    time.Duration            `json:"wall_ns"`
	Walls   *keptLengths             `json:"walls"`
	In      map[string]time.Duration `json:"in_ns"` // by part; those of 0 are left out
	Times   map[string]*keptLengths  `json:"times"` // of the calls in which the part is not 0
	Slowest []keptSlowCall           `json:"slowest,omitempty"`
}

// keptLengths are threads.Lengths: slots that are not empty, with their counts.
type keptLengths struct {
	Longest time.Duration `json:"longest_ns"`
	Slots   [][2]uint64   `json:"slots"`
}

type keptSlowCall struct {
	TID    int                      `json:"tid"`
	Thread sample.RawName           `json:"thread"`
	Result int64                    `json:"result"`
	Wall   time.Duration            `json:"wall_ns"`
	In     map[string]time.Duration `json:"in_ns"`
	Wait   time.Duration            `json:"wait_ns"`
	State  string                   `json:"wait_state,omitempty"`
	Frames []int                    `json:"frames"` // places in frames, the innermost first
}

// Bounds of what is kept of system calls.
const (
	keptCallRows = 500
	keptCallRoom = 1024 // rows in the kernel, 8 KB each: the service has little memory
)

// keepCalls watches the system calls of all processes for a time.
func (a *app) keepCalls(ctx context.Context, length time.Duration) ([]byte, error) {
	names := symbol.New(a.host)
	defer names.Close()
	probe, err := threads.OpenLatency(a.host, threads.CallOptions{Calls: threads.DefaultCalls(), Rows: keptCallRoom, Slow: defaultSlow,
		Met: names.Meet, Unwind: unwinder(names)})
	if err != nil {
		return nil, fmt.Errorf("watching the system calls: %w", err)
	}
	seen, err := a.seeCalls(ctx, probe, newSlowStacks(names), length)
	if err = errors.Join(err, probe.Close()); err != nil {
		return nil, fmt.Errorf("watching the system calls: %w", err)
	}
	return keepJSON(seen)
}

func (a *app) seeCalls(ctx context.Context, probe *threads.Latency, stacks stackNames, length time.Duration) (*keptCalls, error) {
	if err := probe.Begin(); err != nil {
		return nil, err
	}
	began := time.Now()
	out := &keptCalls{Version: 1, Begin: a.host.Now(), Slow: defaultSlow, Without: leftOutCalls(), Notes: probe.Missing()}
	if err := takeIn(ctx, length, probe.Sweep); err != nil {
		return nil, err
	}
	calls, err := probe.Look()
	if err != nil {
		return nil, err
	}
	out.Length = time.Since(began)
	calls = slices.DeleteFunc(calls, func(c threads.Call) bool { return c.PID == a.host.Self })
	slices.SortFunc(calls, func(x, y threads.Call) int { return cmp.Compare(y.Wall, x.Wall) })
	out.Left = max(0, len(calls)-keptCallRows)
	var frames keptFrames
	known := threads.CallNames()
	for i := range calls[:len(calls)-out.Left] {
		out.Calls = append(out.Calls, keptCallOf(&calls[i], known, stacks, &frames))
	}
	out.Frames, out.Stacks = frames.all, stacks.notes()
	lost, err := probe.Losses()
	out.Notes = append(out.Notes, newLosses(lost, nil)...)
	return out, err
}

// leftOutCalls are the names of the calls that wait for something to happen:
// threads.DefaultCalls has all others.
func leftOutCalls() []string {
	names := threads.CallNames()
	for _, nr := range threads.DefaultCalls() {
		delete(names, nr)
	}
	return slices.Sorted(maps.Values(names))
}

func keptCallOf(c *threads.Call, known map[int]string, stacks stackNames, frames *keptFrames) keptCall {
	k := keptCall{PID: c.PID, Process: sample.RawName(c.Process), Number: c.Number, Name: callName(known, c.Number), Count: c.Count, Failed: c.Failed,
		Wall: c.Wall, Walls: keptLengthsOf(c.Walls), In: keptParts(&c.In), Times: map[string]*keptLengths{}}
	for p, l := range c.Times {
		if l != nil {
			k.Times[threads.Part(p).Key()] = keptLengthsOf(l)
		}
	}
	for i := range c.Slowest {
		s := &c.Slowest[i]
		one := keptSlowCall{TID: s.TID, Thread: sample.RawName(s.Thread), Result: s.Result, Wall: s.Wall, In: keptParts(&s.In), Wait: s.Wait,
			Frames: frames.places(stacks.stackOf(c.Process, s))}
		if s.Wait > 0 {
			one.State = s.State.Key()
		}
		k.Slowest = append(k.Slowest, one)
	}
	return k
}

func keptParts(in *[threads.Parts]time.Duration) map[string]time.Duration {
	out := map[string]time.Duration{}
	for p, d := range in {
		if d != 0 {
			out[threads.Part(p).Key()] = d
		}
	}
	return out
}

// parts are those that are known here. What a later version calls otherwise
// counts as other, so that all of them are the wall time.
func parts(kept map[string]time.Duration) (in [threads.Parts]time.Duration) {
	of := partKeys()
	for key, d := range kept {
		p, ok := of[key]
		if !ok {
			p = threads.PartOther
		}
		in[p] += d
	}
	return in
}

func partKeys() map[string]threads.Part {
	of := map[string]threads.Part{}
	for p := range threads.Parts {
		of[p.Key()] = p
	}
	return of
}

func keptLengthsOf(l *threads.Lengths) *keptLengths {
	if l == nil {
		return nil
	}
	k := &keptLengths{Longest: l.Longest, Slots: [][2]uint64{}}
	for slot, n := range l.Slots {
		if n > 0 {
			k.Slots = append(k.Slots, [2]uint64{uint64(slot), n})
		}
	}
	return k
}

// lengths are the kept ones, nil where there are none.
func (k *keptLengths) lengths() *threads.Lengths {
	if k == nil {
		return nil
	}
	l := &threads.Lengths{Longest: k.Longest}
	for _, s := range k.Slots {
		l.Slots[min(s[0], uint64(len(l.Slots)-1))] += s[1]
	}
	return l
}

// keptStacks are the stacks of slow calls as they were named then.
type keptStacks struct {
	of   map[*threads.SlowCall][]*sample.Frame
	said []string
}

// stackOf implements stackNames.
func (s *keptStacks) stackOf(_ string, c *threads.SlowCall) []*sample.Frame { return s.of[c] }

// notes implements stackNames.
func (s *keptStacks) notes() []string { return s.said }

// calls gives back the calls that are wanted, with the stacks of those that
// took slow or longer.
func (k *keptCalls) calls(slow time.Duration, wants func(*keptCall) bool) ([]*threads.Call, *keptStacks) {
	stacks := &keptStacks{of: map[*threads.SlowCall][]*sample.Frame{}, said: k.Stacks}
	at := framesAt(k.Frames)
	states, of := threadStates(), partKeys()
	var out []*threads.Call
	for i := range k.Calls {
		one := &k.Calls[i]
		if !wants(one) {
			continue
		}
		c := &threads.Call{PID: one.PID, Process: string(one.Process), Number: one.Number, Count: one.Count, Failed: one.Failed,
			Wall: one.Wall, Walls: one.Walls.lengths(), In: parts(one.In)}
		for key, l := range one.Times {
			if p, ok := of[key]; ok {
				c.Times[p] = l.lengths()
			}
		}
		c.Slowest = make([]threads.SlowCall, 0, len(one.Slowest)) // pointers into it are kept
		for _, s := range one.Slowest {
			if s.Wall < slow {
				continue
			}
			c.Slowest = append(c.Slowest, threads.SlowCall{PID: one.PID, TID: s.TID, Number: one.Number, Thread: string(s.Thread), Result: s.Result,
				Wall: s.Wall, In: parts(s.In), Wait: s.Wait, State: states[s.State]})
			stacks.of[&c.Slowest[len(c.Slowest)-1]] = at(s.Frames)
		}
		out = append(out, c)
	}
	return out, stacks
}

// wantedCalls reads --syscall for calls that were kept; nil is all of them. What
// was not looked at is refused.
func (o *latencyOptions) wantedCalls(k *keptCalls) (wanted map[string]bool, err error) {
	wanted = map[string]bool{}
	for _, name := range o.calls {
		_, known := threads.CallNumber(name)
		kept := slices.ContainsFunc(k.Calls, func(c keptCall) bool { return c.Name == name })
		switch n, err := strconv.Atoi(name); {
		case name == "all":
			return nil, nil
		case slices.Contains(k.Without, name):
			return nil, &usageError{fmt.Errorf("reading --syscall: the incident holds no %s: calls that wait for something to happen were not looked at", name),
				"see 'iocause threads --recording' and 'iocause offcpu --recording' for waits"}
		case err == nil:
			wanted[strconv.Itoa(n)] = true
		case !known && !kept:
			return nil, noSuchCall(name)
		default:
			wanted[name] = true
		}
	}
	if len(wanted) == 0 {
		return nil, noCalls()
	}
	return wanted, nil
}

// playCalls shows the system calls of an incident.
func (a *app) playCalls(c *cobra.Command, o *latencyOptions, data []byte, args []string) error {
	if err := oneTime(args); err != nil {
		return err
	}
	if err := o.args(nil); err != nil {
		return err
	}
	if err := o.checkSlow(); err != nil {
		return err
	}
	target, err := o.filter.recordedTarget(o.filter.given(c))
	if err != nil {
		return err
	}
	was, err := keptAs[keptCalls](data, sectionLatency)
	if err != nil {
		return err
	}
	if o.slow > 0 && o.slow < was.Slow {
		return &usageError{fmt.Errorf("reading --slow: the incident holds the stacks of calls that took %v or longer", was.Slow), "give that or more"}
	}
	s := &callLatencies{o: o, names: map[int]string{}, notes: was.Notes}
	if err := s.checkSort(); err != nil {
		return err
	}
	var wanted map[string]bool
	if c.Flags().Changed("syscall") {
		if wanted, err = o.wantedCalls(was); err != nil {
			return err
		}
		if wanted == nil && len(was.Without) > 0 {
			s.notes = append(s.notes, "not looked at, as they wait for something to happen: "+strings.Join(was.Without, ", "))
		}
	}
	for i := range was.Calls {
		s.names[was.Calls[i].Number] = was.Calls[i].Name // of that machine
	}
	if was.Left > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%s of processes with less time are not kept", sample.Counted(was.Left, "call")))
	}
	calls, stacks := was.calls(o.slow, func(k *keptCall) bool {
		return (len(target.PIDs) == 0 || target.PIDs[0] == k.PID) && (target.Comm == "" || target.Comm == string(k.Process)) &&
			(wanted == nil || wanted[k.Name] || wanted[strconv.Itoa(k.Number)])
	})
	s.stacks = stacks
	arranged := o.intervals
	arranged.sort, arranged.top = "", 0 // the tables come sorted and cut
	p := a.newPrinter(&arranged)
	s.style = p.style
	return p.print(was.Begin, was.Length, "", s.tables(calls))
}
