package bpf

import (
	"cmp"
	"fmt"
	"os"

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
	events, err := kprobeEvents()
	if err != nil {
		return nil, err
	}
	_ = removeStale(events, isAlive) // what is left runs nothing
	return link.Kretprobe(p.Return, program, &link.KprobeOptions{RetprobeMaxActive: cmp.Or(p.Returns, mostReturns), TraceFSPrefix: eventPrefix()})
}

// kprobeEvents is the file of tracefs that kprobes are made by.
func kprobeEvents() (string, error) {
	for _, dir := range [...]string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		if _, err := os.Stat(dir + "/kprobe_events"); err == nil {
			return dir + "/kprobe_events", nil
		}
	}
	return "", fmt.Errorf("%w: there is no kprobe_events in /sys/kernel/tracing: mount -t tracefs tracefs /sys/kernel/tracing", ErrNotSupported)
}
