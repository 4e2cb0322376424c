package latency

import (
	"slices"

	"iocause/internal/callstack"
	"iocause/internal/source/probe/stacks"
	probe "iocause/internal/source/probe/threads"
	"iocause/internal/symbol"
)

// slowNames gives the stacks of slow calls the names of their functions.
type slowNames struct {
	symbols *symbol.Resolver
	known   *callstack.Namer
	said    map[string]bool // notes
}

func newSlowNames(symbols *symbol.Resolver) *slowNames {
	return &slowNames{symbols: symbols, known: callstack.New(symbols), said: map[string]bool{}}
}

// frameNoWait stands where the kernel's functions would.
const frameNoWait = "[no kernel stack: no long wait]"

// nameStacks names the functions of a call's stacks that have no names yet.
func (c *Calls) nameStacks(of *probe.Call) {
	for i := range of.Slowest {
		if s := &of.Slowest[i]; s.Stack == nil && c.names != nil {
			c.names.name(string(of.Process), s)
		}
	}
}

func (n *slowNames) name(process string, s *probe.SlowCall) {
	n.symbols.Check(s.PID, process, s.User)
	k := stacks.Stack{IPs: s.Kernel, Cut: s.KernelCut}
	s.Stack = n.known.Frames(s.PID, false, stacks.Stack{IPs: s.User, Cut: s.UserCut, IsWhole: s.IsWhole}, n.known.Kernel(k), k)
	slices.Reverse(s.Stack)
	if len(s.Kernel) == 0 {
		s.Stack = slices.Insert(s.Stack, 0, n.known.Remark(frameNoWait))
	}
}

// notes are those that were not said yet.
func (n *slowNames) notes() []string {
	var fresh []string
	for _, note := range slices.Sorted(slices.Values(n.symbols.Notes())) {
		if !n.said[note] {
			n.said[note] = true
			fresh = append(fresh, note)
		}
	}
	return fresh
}

// stackNotes are what is missing of the stacks that were shown.
func (c *Calls) stackNotes() []string {
	if c.names != nil {
		return c.names.notes()
	}
	return c.StackNotes
}
