package bpf

import (
	"cmp"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// mostReturns is how many calls of a function may be under way at a time whose
// returns are seen: the most that the kernel grants. Its default, twice the
// number of processors, is used up by as many threads that wait for a disk.
const mostReturns = 4096

// attachKprobe attaches a program to a function's beginning, or to its return.
// How many returns are seen can be said to tracefs only (KRETPROBE_MAXACTIVE_MAX).
func attachKprobe(p *Program, program *ebpf.Program) (link.Link, error) {
	if p.Call != "" {
		return link.Kprobe(p.Call, program, nil)
	}
	events, err := inTracefs("kprobe_events") // what kprobes are made by
	if err != nil {
		return nil, err
	}
	_ = removeStale(events, isAlive) // what is left runs nothing
	return link.Kretprobe(p.Return, program, &link.KprobeOptions{RetprobeMaxActive: cmp.Or(p.Returns, mostReturns), TraceFSPrefix: eventPrefix()})
}
