// Package callstack gives the addresses that probes found on stacks the names
// of functions.
package callstack

import (
	"slices"
	"strings"

	"iocause/internal/bpf"
	"iocause/internal/sample"
	"iocause/internal/source/probe/stacks"
	"iocause/internal/symbol"
)

// Namer gives the addresses of stacks the names of their functions.
type Namer struct {
	names *symbol.Resolver
	known map[sample.Frame]*sample.Frame
}

// New makes a Namer that knows what a resolver knows.
func New(names *symbol.Resolver) *Namer {
	return &Namer{names: names, known: map[sample.Frame]*sample.Frame{}}
}

// Unwinder follows user stacks by the files that a resolver knows.
func Unwinder(names *symbol.Resolver) bpf.Unwinder {
	return func(pid int, regs bpf.Registers, read func(uint64) (uint64, bool)) ([]uint64, bool) {
		return names.Unwind(pid, symbol.Registers(regs), read)
	}
}

// Remarks among the functions of a stack.
const (
	frameCut        = "[stack cut: too deep]"
	frameLost       = "[stack lost]"
	frameIncomplete = "[stack incomplete]"
	frameNoUser     = "[no user stack]"
)

// Frame is one for all that are alike: stacks share most of their functions.
func (n *Namer) Frame(f sample.Frame) *sample.Frame {
	if n.known[f] == nil {
		n.known[f] = &f
	}
	return n.known[f]
}

// Remark is a remark of ours among the functions.
func (n *Namer) Remark(name string) *sample.Frame {
	return n.Frame(sample.Frame{Name: name, Note: true})
}

// Kernel are the names of a kernel stack, innermost first, without the functions of
// the scheduler and of the observation itself that every such stack begins with.
func (n *Namer) Kernel(s stacks.Stack) []symbol.Frame {
	var frames []symbol.Frame
	for i, ip := range s.IPs {
		frames = append(frames, n.names.Kernel(ip, i > 0))
	}
	const near = 12
	for i := min(len(frames), near) - 1; i >= 0; i-- {
		if name := frames[i].Name; name == "__schedule" || strings.HasPrefix(name, "bpf_prog_") || strings.HasPrefix(name, "bpf_trace_run") {
			frames = frames[i+1:]
			break
		}
	}
	for len(frames) > 0 && (frames[0].Name == "schedule" || frames[0].Name == "__schedule" || frames[0].Name == "schedule_rtlock") {
		frames = frames[1:]
	}
	return frames
}

// Frames puts both halves of a stack together, outermost first.
func (n *Namer) Frames(pid int, isKernelThread bool, user stacks.Stack, kernel []symbol.Frame, k stacks.Stack) []*sample.Frame {
	var out []*sample.Frame // innermost first, turned at the end
	for _, f := range kernel {
		out = append(out, n.Frame(sample.Frame{Name: f.Name, Module: f.Module, Kernel: true}))
	}
	if k.Lost {
		out = append(out, n.Remark(frameLost))
	}
	if k.Cut {
		out = append(out, n.Remark(frameCut))
	}
	if !isKernelThread {
		out = append(out, n.user(pid, user)...)
	}
	slices.Reverse(out)
	return out
}

// user are the frames of a user stack, innermost first.
func (n *Namer) user(pid int, s stacks.Stack) []*sample.Frame {
	if s.Lost {
		return []*sample.Frame{n.Remark(frameLost)}
	}
	if len(s.IPs) == 0 {
		return []*sample.Frame{n.Remark(frameNoUser)}
	}
	var out []*sample.Frame
	var last symbol.Frame
	for i, ip := range s.IPs {
		f := n.names.User(pid, ip, i > 0)
		if i > 0 && f.NoCode { // what a function without frame pointers left there
			return append(out, n.Remark(frameIncomplete))
		}
		last = f
		out = append(out, n.Frame(sample.Frame{Name: f.Name, Module: f.Module, File: f.File}))
	}
	switch {
	case s.Cut:
		out = append(out, n.Remark(frameCut))
	case !s.IsWhole && !isOutermost(last.Name):
		out = append(out, n.Remark(frameIncomplete))
	}
	return out
}

// isOutermost tells functions that threads begin in. A stack that ends
// elsewhere was not followed to its end: code without frame pointers.
func isOutermost(name string) bool {
	switch name {
	case "_start", "__libc_start_main", "__libc_start_call_main", "__libc_start_main_impl", "start_thread", "clone", "__clone", "clone3", "__clone3",
		"_dl_start", "_dl_start_user", "_dl_relocate_static_pie", "thread_start", "__clone_internal",
		"runtime.goexit", "runtime.goexit.abi0", "runtime.mstart", "runtime.mstart.abi0", "runtime.rt0_go", "runtime.rt0_go.abi0",
		"runtime.morestack", "runtime.morestack.abi0", "runtime.sigtramp", "runtime.sigtramp.abi0", "runtime.mcall", "runtime.systemstack":
		return true
	}
	return strings.HasPrefix(name, "_rt0_")
}
