package profile

import (
	"cmp"
	"slices"
	"strings"

	"iocause/internal/callstack"
	"iocause/internal/sample"
	"iocause/internal/source/probe/stacks"
	"iocause/internal/symbol"
)

// namer makes stacks with names of what the probe saw.
type namer struct {
	*callstack.Namer
	symbols *symbol.Resolver
	rules   *stacks.Classifier
}

func newNamer(symbols *symbol.Resolver) *namer {
	return &namer{callstack.New(symbols), symbols, stacks.NewClassifier()}
}

// Remarks among the functions of a stack.
const (
	frameWoken     = "[woken by]"
	frameInterrupt = "[interrupt]"
)

// functionNames are the functions' names, "" for what has none.
func functionNames(frames []symbol.Frame) []string {
	var names []string
	for _, f := range frames {
		if f.IsSymbol {
			names = append(names, f.Name)
		} else {
			names = append(names, "")
		}
	}
	return names
}

// userNames are the names of a stack's functions that are not the kernel's.
func userNames(frames []*sample.Frame) []string {
	var names []string
	for i := len(frames) - 1; i >= 0; i-- {
		if !frames[i].Kernel && !frames[i].Note {
			names = append(names, frames[i].Name)
		}
	}
	return names
}

// withWaker adds the stack of who ended the wait, innermost function next to the waiter's.
func (n *namer) withWaker(out []*sample.Frame, w *stacks.Waker) []*sample.Frame {
	if w == nil {
		return out
	}
	kernel := n.kernelOfWaker(w.Kernel)
	name := cmp.Or(w.Comm, "?")
	if isInterrupt(kernel) { // it only happened to run when the interrupt came
		name = frameInterrupt
	}
	out = append(out, n.Remark(frameWoken))
	for _, f := range kernel {
		out = append(out, n.Frame(sample.Frame{Name: f.Name, Module: f.Module, Kernel: true}))
		if name == frameInterrupt && isEntry(f.Name) {
			break
		}
	}
	if name != frameInterrupt && len(w.User.IPs) > 0 {
		for i, ip := range w.User.IPs {
			f := n.symbols.User(w.TGID, ip, i > 0)
			out = append(out, n.Frame(sample.Frame{Name: f.Name, Module: f.Module, File: f.File}))
		}
	}
	return append(out, n.Frame(sample.Frame{Name: name, Note: name == frameInterrupt}))
}

// kernelOfWaker leaves out the observation and the waking itself.
func (n *namer) kernelOfWaker(s stacks.Stack) []symbol.Frame {
	var frames []symbol.Frame
	for i, ip := range s.IPs {
		frames = append(frames, n.symbols.Kernel(ip, i > 0))
	}
	const near = 12
	for i := min(len(frames), near) - 1; i >= 0; i-- {
		if strings.HasPrefix(frames[i].Name, "try_to_wake_up") || strings.HasPrefix(frames[i].Name, "bpf_trace_run") || frames[i].Name == "wake_up_process" {
			return frames[i+1:]
		}
	}
	return frames
}

func isInterrupt(kernel []symbol.Frame) bool {
	return slices.ContainsFunc(kernel, func(f symbol.Frame) bool { return isEntry(f.Name) })
}

// isEntry tells the functions that interrupts begin in.
func isEntry(name string) bool {
	return strings.HasPrefix(name, "asm_sysvec_") || name == "asm_common_interrupt" || name == "el1h_64_irq" || name == "el0t_64_irq" || name == "common_interrupt"
}

// waits are the stacks of waits. A wait whose thread had been woken is
// two: the wait itself, and that for a processor after it.
func (n *namer) waits(rows []stacks.Row) (out []sample.Stack) {
	for i := range rows {
		row := &rows[i]
		kernel := n.Kernel(row.Kernel)
		s := stackOf(row)
		s.Frames = n.Frames(row.TGID, row.How&stacks.KernelThread != 0, row.User, kernel, row.Kernel)
		s.State = string(n.rules.State(row.How, functionNames(kernel), userNames(s.Frames)))
		s.Frames = n.withWaker(s.Frames, row.Waker)
		if row.Queued > 0 {
			queued := s
			queued.State, queued.Time = string(stacks.Runnable), row.Queued
			s.Time -= row.Queued
			out = append(out, queued)
		}
		out = append(out, s)
	}
	return out
}

// runs are the stacks of samples.
func (n *namer) runs(rows []stacks.Row) (out []sample.Stack) {
	for i := range rows {
		row := &rows[i]
		kernel := n.Kernel(row.Kernel)
		s := stackOf(row)
		s.State = string(n.rules.State(row.How, functionNames(kernel), nil))
		s.Frames = n.Frames(row.TGID, len(row.User.IPs) == 0 && !row.User.Lost, row.User, kernel, row.Kernel)
		out = append(out, s)
	}
	return out
}

func stackOf(row *stacks.Row) sample.Stack {
	return sample.Stack{PID: row.TGID, TID: row.TID, Thread: row.Comm, Process: cmp.Or(row.Process, row.Comm), Time: row.Time, Count: row.Count}
}
