package latency

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/ask"
	"iocause/internal/sample"
	probe "iocause/internal/source/probe/threads"
)

// Numbers are the calls of these names or numbers; "all" is every one.
func Numbers(names []string) (numbers []int, err error) {
	for _, name := range names {
		if name == "all" {
			for nr := range probe.CallNames() {
				numbers = append(numbers, nr)
			}
			continue
		}
		nr, ok := probe.CallNumber(name)
		if !ok {
			return nil, noSuchCall(name)
		}
		numbers = append(numbers, nr)
	}
	if len(numbers) == 0 {
		return nil, noCalls()
	}
	return numbers, nil
}

func noSuchCall(name string) error {
	return &ask.Error{Err: fmt.Errorf("reading --syscall: there is no system call %q", name), Next: "give names as 'man 2 syscalls' lists them, numbers, or all"}
}

func noCalls() error {
	return &ask.Error{Err: errors.New("reading --syscall: it is empty"), Next: "give names such as read,fsync, or all"}
}

// Only has the filter choose these calls of those that were kept, by name or
// number. What was not looked at is refused.
func (c *Calls) Only(names []string, f *Filter) error {
	for _, name := range names {
		_, known := probe.CallNumber(name)
		kept := slices.ContainsFunc(c.Calls, func(of probe.Call) bool { return of.Name == name })
		switch n, err := strconv.Atoi(name); {
		case name == "all":
			f.Calls = nil
			if len(c.Without) > 0 {
				c.Notes = append(c.Notes, "left out, because they wait for events: "+strings.Join(c.Without, ", "))
			}
			return nil
		case slices.Contains(c.Without, name):
			return &ask.Error{Err: fmt.Errorf("reading --syscall: the incident holds no %s: calls that wait for events are left out", name),
				Next: "see 'iocause threads --recording' and 'iocause offcpu --recording' for waits"}
		case err == nil:
			f.Calls = append(f.Calls, strconv.Itoa(n))
		case !known && !kept:
			return noSuchCall(name)
		default:
			f.Calls = append(f.Calls, name)
		}
	}
	if len(f.Calls) == 0 {
		return noCalls()
	}
	return nil
}

// Replay keeps of calls that were kept what the filter chooses, and notes what
// they lack.
func (c *Calls) Replay(f *Filter) error {
	if f.Slow > 0 && f.Slow < c.Slow {
		return &ask.Error{Err: fmt.Errorf("reading --slow: the incident holds the stacks of calls that took %v or longer", c.Slow), Next: "give that or more"}
	}
	if c.Left > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%s of processes with less time are not kept", sample.Counted(c.Left, "call")))
	}
	c.Keep(f)
	return nil
}
