package symbol

import (
	"debug/elf"
	"fmt"
	"os"

	"iocause/internal/host"
)

// Registers are those of a thread that its callers' frames may be found by.
type Registers struct {
	IP, SP, FP uint64
	Link       uint64     // arm64: x30
	Saved      [10]uint64 // x86-64: rbx, r12 to r15; arm64: x19 to x28
}

// deepestUnwind is as deep as the kernel lets stacks be.
const deepestUnwind = 127

// Unwind is the call stack of a thread, innermost address first: by the
// unwinding tables of the files that the code is in, and by frame pointers
// where there are none, as in code that was compiled while it ran. read reads
// eight bytes of the thread's stack. The result has at least the address that
// the registers name; isWhole tells that it ends where the thread began. Safe
// for concurrent use.
func (r *Resolver) Unwind(pid int, from Registers, read func(at uint64) (uint64, bool)) (ips []uint64, isWhole bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.process(pid)
	m := r.machine
	var now registers
	now.set(m.ip, from.IP)
	now.set(m.sp, from.SP)
	now.set(m.fp, from.FP)
	if m.link != 0 {
		now.set(m.link, from.Link)
	}
	for i, n := range m.saved {
		now.set(n, from.Saved[i])
	}
	ips = []uint64{from.IP}
	isCall := false // the address is where a call returns to: the call lies before it
	for len(ips) < deepestUnwind {
		next, is := r.outwards(p, &now, isCall, read)
		if is == lastFrame {
			return ips, true
		}
		// who called nobody yet may have put nothing on the stack, where a call does not
		if least := now.v[m.sp]; is == noFrame || is == callFrame && (next.v[m.sp] < least || next.v[m.sp] == least && (isCall || m.link == 0)) {
			break
		}
		now, isCall = next, is == callFrame
		ips = append(ips, now.v[m.ip])
	}
	return ips, false
}

// frameKind is what a step outwards found.
type frameKind uint8

const (
	noFrame     frameKind = iota // nothing: the way is lost
	callFrame                    // the caller
	signalFrame                  // what a signal interrupted
	lastFrame                    // that there is no caller: the thread began here
)

// outwards goes from a frame to its caller's.
func (r *Resolver) outwards(p *process, now *registers, isCall bool, read memory) (next registers, is frameKind) {
	at := now.v[r.machine.ip]
	if isCall {
		at--
	}
	m := p.find(at)
	if m == nil && !p.missing[at] {
		p.read(r)
		if m = p.find(at); m == nil {
			p.missing[at] = true
		}
	}
	if m == nil || m.file == nil {
		return r.machine.byFramePointer(now, read)
	}
	t := m.file.unwinding(r, p.pid, m)
	addr, ok := m.file.address(at - m.Start + m.Offset)
	e := t.find(addr)
	if !ok || e == nil {
		// Assembly among code that has a table, such as the entries of musl:
		// the outermost frame is marked by a frame pointer of 0 (psABI 3.4.1).
		if isCall && len(t.entries) > 0 && now.known[r.machine.fp] && now.v[r.machine.fp] == 0 {
			return next, lastFrame
		}
		return r.machine.byFramePointer(now, read)
	}
	rules, err := t.rulesAt(e, addr)
	if err != nil {
		return r.machine.byFramePointer(now, read)
	}
	next, isLast, err := t.caller(&rules, e.common.returns, now, read)
	switch {
	case err != nil:
		return r.machine.byFramePointer(now, read)
	case isLast:
		return next, lastFrame
	case e.common.isSignal:
		return next, signalFrame
	}
	return next, callFrame
}

// byFramePointer trusts that the frame pointer points to where the caller's is,
// below the return address.
func (m *machine) byFramePointer(now *registers, read memory) (next registers, is frameKind) {
	frame := now.v[m.fp]
	if !now.known[m.fp] || frame < now.v[m.sp] || frame%8 != 0 || frame >= 1<<63 {
		return next, noFrame
	}
	back, ok := read(frame + 8)
	outer, ok2 := read(frame)
	if back &= m.code; !ok || !ok2 || back == 0 {
		return next, noFrame
	}
	next.set(m.ip, back)
	next.set(m.fp, outer)
	next.set(m.sp, frame+16)
	return next, callFrame
}

// unwinding is the file's table, empty if it has none that can be read. The
// lock of r is held.
func (f *file) unwinding(r *Resolver, pid int, m *mapping) *unwindTable {
	if f.unwind == nil {
		f.unwind = &unwindTable{machine: r.machine}
		if err := f.patiently(func(f *file) error { return f.readUnwinding(r, pid, m) }); err != nil {
			r.notes[fmt.Sprintf("callers in %s are found by frame pointers only: %v", f.path, err)]++
		}
	}
	return f.unwind
}

func (f *file) readUnwinding(r *Resolver, pid int, m *mapping) error {
	mapped := func() (*os.File, error) { return host.OpenRegular(r.mapFile(pid, m)) }
	return f.asELF(".eh_frame", mapped, func(e *elf.File) (err error) {
		if e.Machine != r.machine.elf {
			return nil
		}
		f.segments(e)
		f.unwind, err = readUnwindTable(e, r.machine)
		return err
	})
}
