package symbol

import (
	"debug/elf"
	"fmt"
	"os"
)

// Registers are those of a thread on x86-64 that its callers' frames may be
// found by.
type Registers struct {
	IP, SP, BP, BX, R12, R13, R14, R15 uint64
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
	var now registers
	for n, v := range map[int]uint64{3: from.BX, regBP: from.BP, regSP: from.SP, 12: from.R12, 13: from.R13, 14: from.R14, 15: from.R15, regIP: from.IP} {
		now.set(n, v)
	}
	ips = []uint64{from.IP}
	isCall := false // the address is where a call returns to: the call lies before it
	for len(ips) < deepestUnwind {
		next, is := r.outwards(p, &now, isCall, read)
		if is == lastFrame {
			return ips, true
		}
		if is == noFrame || next.v[regSP] <= now.v[regSP] && is == callFrame {
			break
		}
		now, isCall = next, is == callFrame
		ips = append(ips, now.v[regIP])
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
	at := now.v[regIP]
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
		return byFramePointer(now, read)
	}
	t := m.file.unwinding(r, p.pid, m)
	addr, ok := m.file.address(at - m.Start + m.Offset)
	e := t.find(addr)
	if !ok || e == nil {
		// Assembly among code that has a table, such as the entries of musl:
		// the outermost frame is marked by a frame pointer of 0 (psABI 3.4.1).
		if isCall && len(t.entries) > 0 && now.known[regBP] && now.v[regBP] == 0 {
			return next, lastFrame
		}
		return byFramePointer(now, read)
	}
	rules, err := t.rulesAt(e, addr)
	if err != nil {
		return byFramePointer(now, read)
	}
	next, isLast, err := t.caller(&rules, e.common.returns, now, read)
	switch {
	case err != nil:
		return byFramePointer(now, read)
	case isLast:
		return next, lastFrame
	case e.common.isSignal:
		return next, signalFrame
	}
	return next, callFrame
}

// byFramePointer trusts that rbp points to where the caller's is, below the
// return address.
func byFramePointer(now *registers, read memory) (next registers, is frameKind) {
	frame := now.v[regBP]
	if !now.known[regBP] || frame < now.v[regSP] || frame%8 != 0 || frame >= 1<<63 {
		return next, noFrame
	}
	back, ok := read(frame + 8)
	outer, ok2 := read(frame)
	if !ok || !ok2 || back == 0 {
		return next, noFrame
	}
	next.set(regIP, back)
	next.set(regBP, outer)
	next.set(regSP, frame+16)
	return next, callFrame
}

// unwinding is the file's table, empty if it has none that can be read. The
// lock of r is held.
func (f *file) unwinding(r *Resolver, pid int, m *mapping) *unwindTable {
	if f.unwind == nil {
		f.unwind = &unwindTable{}
		if err := f.readUnwinding(r, pid, m); err != nil {
			r.notes[fmt.Sprintf("callers in %s are found by frame pointers only: %v", f.path, err)]++
		}
	}
	return f.unwind
}

func (f *file) readUnwinding(r *Resolver, pid int, m *mapping) error {
	mapped := func() (*os.File, error) { return os.Open(r.mapFile(pid, m)) }
	return f.asELF(".eh_frame", mapped, func(e *elf.File) (err error) {
		if e.Machine != elf.EM_X86_64 {
			return nil
		}
		f.segments(e)
		f.unwind, err = readUnwindTable(e)
		return err
	})
}
