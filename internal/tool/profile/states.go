package profile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"iocause/internal/ask"
	"iocause/internal/source/probe/stacks"
)

// WaitStates are the states that a wait may have.
func WaitStates() []string {
	var names []string
	for _, s := range stacks.States() {
		if s != stacks.OnUser && s != stacks.OnKernel {
			names = append(names, string(s))
		}
	}
	return names
}

// Groups are the names of the groups of states.
func Groups() string {
	return strings.Join(slices.Sorted(maps.Keys(stacks.Groups())), ", ")
}

// notHeldUp are the states of threads that may well have nothing to do: as far as the
// kernel can know they wait for work, not for what holds it up.
func notHeldUp() []stacks.State {
	return []stacks.State{stacks.Futex, stacks.Network, stacks.IPC, stacks.Idle, stacks.Halted}
}

// StatesOf reads --state; "" is what holds work up: I/O, memory, locks, processors.
func StatesOf(list string) (map[string]bool, error) {
	keep := map[string]bool{}
	if list == "" {
		for _, name := range WaitStates() {
			keep[name] = !slices.Contains(notHeldUp(), stacks.State(name))
		}
		return keep, nil
	}
	for _, name := range strings.Split(list, ",") {
		name = strings.TrimSpace(name)
		if group, ok := stacks.Groups()[name]; ok {
			for _, s := range group {
				keep[string(s)] = true
			}
			continue
		}
		if !slices.Contains(WaitStates(), name) {
			return nil, &ask.Error{Err: fmt.Errorf("reading --state: there is no state %q", name),
				Next: "there are " + strings.Join(WaitStates(), ", ") + "; and the groups " + Groups()}
		}
		keep[name] = true
	}
	return keep, nil
}
