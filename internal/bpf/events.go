package bpf

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"

	"iocause/internal/sample"
)

// preempts tells whether the kernel may preempt programs at tracepoints: it protects
// them by SRCU in place of keeping the processor (a46023d5616e, 7.0; older kernels
// have an SRCU of that name for tracepoints of idle processors, and no tracepoint_ext),
// and RCU's read lock, which they run under, does not keep it either.
func (t *Types) preempts() bool {
	var v *btf.Var
	return t.spec.TypeByName("tracepoint_srcu_srcu_data", &v) == nil && t.hasStruct("tracepoint_ext") &&
		t.hasMember("task_struct", "rcu_read_lock_nesting")
}

// tracepoint is the name of the tracepoint that a program is at, or at whose event.
func (p *Program) tracepoint() string {
	_, event, _ := strings.Cut(p.Event, "/")
	return p.Tracepoint + event
}

// inPlace has programs at events take the places of those at tracepoints that name
// them, if on; one of these may be among them, to note what the event does not tell.
// unused are programs of the object that are then for nothing.
func inPlace(on bool, programs []Program, capabilities []Capability) (_ []Program, _ []Capability, unused []string) {
	replace := func(programs []Program) (out []Program) {
		for _, p := range programs {
			instead, others := p.Events, []Program{p}
			p.Events = nil
			if !on || len(instead) == 0 {
				instead, others = []Program{p}, instead
			}
			for _, q := range instead {
				q.Optional = p.Optional
				out = append(out, q)
			}
			for i := range others {
				if name := others[i].Name; !slices.ContainsFunc(instead, func(q Program) bool { return q.Name == name }) {
					unused = append(unused, name)
				}
			}
		}
		return out
	}
	programs, capabilities = replace(programs), slices.Clone(capabilities)
	for i := range capabilities {
		c := &capabilities[i]
		c.Ways = slices.Clone(c.Ways)
		for j := range c.Ways {
			c.Ways[j].Programs = replace(c.Ways[j].Programs)
		}
	}
	return programs, capabilities, unused
}

// Every is every program of a list, those at events with them.
func Every(programs []Program) (all []Program) {
	for _, p := range programs {
		all = append(append(all, p), p.Events...)
	}
	return all
}

// attachEvent attaches a program to the event that perf makes of a tracepoint.
func attachEvent(p *Program, program *ebpf.Program) (link.Link, error) {
	if _, err := inTracefs("events/" + p.Event); err != nil {
		return nil, err
	}
	group, name, _ := strings.Cut(p.Event, "/")
	return link.Tracepoint(group, name, program, nil)
}

// inTracefs is the path of a file of tracefs, wherever that is mounted.
func inTracefs(file string) (string, error) {
	for _, dir := range [...]string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		if _, err := os.Stat(dir + "/" + file); err == nil {
			return dir + "/" + file, nil
		}
	}
	return "", fmt.Errorf("%w: there is no %s in /sys/kernel/tracing: mount -t tracefs tracefs /sys/kernel/tracing", ErrNotSupported, file)
}

// toldRefused says, for people, that what should be at events is not.
func (f *fit) toldRefused(spec *ebpf.CollectionSpec) []sample.Way {
	if f.refused == nil || !hasEvents(spec) {
		return nil
	}
	return []sample.Way{{
		What: "events while a thread is preempted in a program", Rejected: []string{f.refused.Error()},
	}}
}

func hasEvents(spec *ebpf.CollectionSpec) bool {
	for _, p := range spec.Programs {
		if p.Type == ebpf.TracePoint {
			return true
		}
	}
	return false
}
