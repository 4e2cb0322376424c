package bpf

import (
	"errors"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"iocause/internal/host"
)

const (
	// whichOfTwo stands in programs for the number that pairs puts there
	// (twice.bpf.h): 1 and 2 in two that are called in a row, 0 where there is one.
	whichOfTwo = 0x74776963
	// second is what the other of two programs is called, behind the name of the first.
	second = "_again"
	// AndMissed is what the copy is called that counts what the kernel passed over a program
	// for, behind the name of that (Program.After).
	AndMissed = "_missed"
	// twice is the map in which the first notes with the thread what it has counted.
	twice = "twice"
)

// pairs makes two of each program of an object that may be preempted, where the kernel
// preempts programs at tracepoints, and returns all programs. The second one is passed
// over only where threads are preempted in both. At a tracepoint the one that is attached
// first is called first, at a function (hlist_add_head in kernel/bpf/trampoline.c) last.
func (f *fit) pairs(spec *ebpf.CollectionSpec, programs []Program) (all []Program) {
	m := spec.Maps[twice]
	if m == nil {
		return programs
	}
	preempts := f.lacks&passesOver != 0
	if !preempts { // nothing looks at it
		m.Type, m.MaxEntries, m.Flags = ebpf.Array, 1, 0
	}
	for _, p := range programs {
		first := spec.Programs[p.Name]
		if first == nil || !slices.ContainsFunc(first.Instructions, isWhich) {
			all = append(all, p)
			continue
		}
		if !preempts {
			replace(first, isWhich, 0)
			all = append(all, p)
			continue
		}
		other := first.Copy()
		attached := [2]int64{1, 2}
		if p.function() != "" {
			attached = [2]int64{2, 1}
		}
		replace(first, isWhich, attached[0])
		replace(other, isWhich, attached[1])
		q := p
		q.Name += second
		p.Spare = true
		spec.Programs[q.Name] = other
		all = append(all, p, q)
	}
	return all
}

// copies makes the programs of an object that come after another one, of which an event
// may come while it runs: the kernel passes over it for that (since 05b24ff9b2cf, 6.1),
// and the copy counts it.
func copies(spec *ebpf.CollectionSpec, programs []Program) {
	for i := range programs {
		if first := spec.Programs[programs[i].After]; first != nil {
			again := first.Copy()
			replace(again, isWhich, 2)
			replace(first, isWhich, 0)
			spec.Programs[programs[i].Name] = again
		}
	}
}

// Missed are the copies of a probe, each attached once the kernel has passed over what it
// comes after: where nothing is passed over, nobody pays for them. It is used by one
// goroutine.
type Missed []*Late

// CountMissed detaches the copies until they are needed. Requests of device-mapper complete
// in a softirq, and those of the disks below in interrupts: there they are at once.
func CountMissed(p *Probe, h *host.Host) (all Missed, err error) {
	softirqs := h.RequestsOfDM() != 0
	for name, hook := range p.hooks {
		if hook.After == "" {
			continue
		}
		needed := func() bool {
			n, err := p.PassedOver(hook.After)
			return n > 0 && err == nil || softirqs && hook.Tracepoint == "block_rq_complete" // a failure shows where the cost is told
		}
		l, err := AttachLate(p, h, needed, "", name)
		if err != nil {
			return nil, err
		}
		l.every = missedEvery
		all = append(all, l)
	}
	return all, nil
}

// Look looks whether the kernel has passed over a program, where it is time to.
func (m Missed) Look() error {
	for _, l := range m {
		if err := l.Look(); err != nil {
			return err
		}
	}
	return nil
}

// putBehind puts the copy of a program behind what has taken the place of that.
func (p *Probe) putBehind(program string) error {
	for name, hook := range p.hooks {
		if hook.After == program && p.links[name] != nil {
			return errors.Join(p.Detach(name), p.attachOne(name))
		}
	}
	return nil
}

func isWhich(ins asm.Instruction) bool { return isNumber(ins, whichOfTwo) }

// isNumber tells an instruction that gives a register a number for which the loader
// puts another.
func isNumber(ins asm.Instruction, number int64) bool {
	return ins.Constant == number && ins.OpCode.ALUOp() == asm.Mov && ins.OpCode.Source() == asm.ImmSource
}

func replace(p *ebpf.ProgramSpec, which func(asm.Instruction) bool, number int64) {
	for i := range p.Instructions {
		if which(p.Instructions[i]) {
			p.Instructions[i].Constant = number
		}
	}
}
