package cli

import (
	"cmp"
	"slices"
	"strings"

	"iocause/internal/sample"
	"iocause/internal/source/probe/stacks"
	"iocause/internal/symbol"
)

// resolver gives rows of addresses their names.
type resolver struct {
	names *symbol.Resolver
	rules *stacks.Classifier
	known map[sample.Frame]*sample.Frame
}

func newResolver(names *symbol.Resolver) *resolver {
	return &resolver{names: names, rules: stacks.NewClassifier(), known: map[sample.Frame]*sample.Frame{}}
}

// Remarks among the functions of a stack.
const (
	frameCut        = "[stack cut: too deep]"
	frameLost       = "[stack lost]"
	frameIncomplete = "[stack incomplete]"
	frameNoUser     = "[no user stack]"
	frameWoken      = "[woken by]"
	frameInterrupt  = "[interrupt]"
)

// frame is one for all that are alike: stacks share most of their functions.
func (r *resolver) frame(f sample.Frame) *sample.Frame {
	if r.known[f] == nil {
		r.known[f] = &f
	}
	return r.known[f]
}

func (r *resolver) remark(name string) *sample.Frame {
	return r.frame(sample.Frame{Name: name, Note: true})
}

// kernel are the names of a kernel stack, innermost first, without the functions of
// the scheduler and of the observation itself that every such stack begins with.
func (r *resolver) kernel(s stacks.Stack) []symbol.Frame {
	var frames []symbol.Frame
	for i, ip := range s.IPs {
		frames = append(frames, r.names.Kernel(ip, i > 0))
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

// names are the functions' names, "" for what has none.
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

// frames puts both halves of a stack together, outermost first.
func (r *resolver) frames(pid int, isKernelThread bool, user stacks.Stack, kernel []symbol.Frame, k stacks.Stack) []*sample.Frame {
	var out []*sample.Frame // innermost first, turned at the end
	for _, f := range kernel {
		out = append(out, r.frame(sample.Frame{Name: f.Name, Module: f.Module, Kernel: true}))
	}
	if k.Lost {
		out = append(out, r.remark(frameLost))
	}
	if k.Cut {
		out = append(out, r.remark(frameCut))
	}
	if !isKernelThread {
		out = append(out, r.user(pid, user)...)
	}
	slices.Reverse(out)
	return out
}

// user are the frames of a user stack, innermost first.
func (r *resolver) user(pid int, s stacks.Stack) []*sample.Frame {
	if s.Lost {
		return []*sample.Frame{r.remark(frameLost)}
	}
	if len(s.IPs) == 0 {
		return []*sample.Frame{r.remark(frameNoUser)}
	}
	var out []*sample.Frame
	var last symbol.Frame
	for i, ip := range s.IPs {
		f := r.names.User(pid, ip, i > 0)
		if i > 0 && f.NoCode { // what a function without frame pointers left there
			return append(out, r.remark(frameIncomplete))
		}
		last = f
		out = append(out, r.frame(sample.Frame{Name: f.Name, Module: f.Module, File: f.File}))
	}
	switch {
	case s.Cut:
		out = append(out, r.remark(frameCut))
	case !s.IsWhole && !isOutermost(last.Name):
		out = append(out, r.remark(frameIncomplete))
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

// withWaker adds the stack of who ended the wait, innermost function next to the waiter's.
func (r *resolver) withWaker(out []*sample.Frame, w *stacks.Waker) []*sample.Frame {
	if w == nil {
		return out
	}
	kernel := r.kernelOfWaker(w.Kernel)
	name := cmp.Or(w.Comm, "?")
	if isInterrupt(kernel) { // it only happened to run when the interrupt came
		name = frameInterrupt
	}
	out = append(out, r.remark(frameWoken))
	for _, f := range kernel {
		out = append(out, r.frame(sample.Frame{Name: f.Name, Module: f.Module, Kernel: true}))
		if name == frameInterrupt && isEntry(f.Name) {
			break
		}
	}
	if name != frameInterrupt && len(w.User.IPs) > 0 {
		for i, ip := range w.User.IPs {
			f := r.names.User(w.TGID, ip, i > 0)
			out = append(out, r.frame(sample.Frame{Name: f.Name, Module: f.Module, File: f.File}))
		}
	}
	return append(out, r.frame(sample.Frame{Name: name, Note: name == frameInterrupt}))
}

// kernelOfWaker leaves out the observation and the waking itself.
func (r *resolver) kernelOfWaker(s stacks.Stack) []symbol.Frame {
	var frames []symbol.Frame
	for i, ip := range s.IPs {
		frames = append(frames, r.names.Kernel(ip, i > 0))
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

// resolveWaits makes a profile of waits. A wait whose thread had been woken is
// two: the wait itself, and that for a processor after it.
func (r *resolver) resolveWaits(seen *profiled) *sample.Profile {
	p := &sample.Profile{Counts: "waits", Begin: seen.begin, Length: seen.length}
	for i := range seen.rows {
		row := &seen.rows[i]
		kernel := r.kernel(row.Kernel)
		s := stackOf(row)
		s.Frames = r.frames(row.TGID, row.How&stacks.KernelThread != 0, row.User, kernel, row.Kernel)
		s.State = string(r.rules.State(row.How, functionNames(kernel), userNames(s.Frames)))
		s.Frames = r.withWaker(s.Frames, row.Waker)
		if row.Queued > 0 {
			queued := s
			queued.State, queued.Time = string(stacks.Runnable), row.Queued
			s.Time -= row.Queued
			p.Stacks = append(p.Stacks, queued)
		}
		p.Stacks = append(p.Stacks, s)
	}
	return p
}

// resolveRuns makes a profile of samples.
func (r *resolver) resolveRuns(seen *profiled) *sample.Profile {
	p := &sample.Profile{Counts: "samples", Begin: seen.begin, Length: seen.length}
	for i := range seen.rows {
		row := &seen.rows[i]
		kernel := r.kernel(row.Kernel)
		s := stackOf(row)
		s.State = string(r.rules.State(row.How, functionNames(kernel), nil))
		s.Frames = r.frames(row.TGID, len(row.User.IPs) == 0 && !row.User.Lost, row.User, kernel, row.Kernel)
		p.Stacks = append(p.Stacks, s)
	}
	return p
}

func stackOf(row *stacks.Row) sample.Stack {
	return sample.Stack{PID: row.TGID, TID: row.TID, Thread: row.Comm, Process: cmp.Or(row.Process, row.Comm), Time: row.Time, Count: row.Count}
}

// keepStates leaves out stacks of other states, and tells how much time that was.
func keepStates(p *sample.Profile, keep map[string]bool) (left map[string]float64) {
	left = map[string]float64{}
	p.Stacks = slices.DeleteFunc(p.Stacks, func(s sample.Stack) bool {
		if keep[s.State] {
			return false
		}
		left[s.State] += s.Time.Seconds()
		return true
	})
	for _, state := range stacks.States() {
		if slices.ContainsFunc(p.Stacks, func(s sample.Stack) bool { return s.State == string(state) }) {
			p.States = append(p.States, string(state))
		}
	}
	return left
}
