// Package symbol turns addresses of call stacks into the names of functions:
// of the kernel, of programs and libraries, of code that was compiled while it
// ran. Where no symbol covers an address it names the file and the offset in
// it, and never the nearest symbol.
package symbol

import (
	"fmt"
	"path"
	"strings"
	"sync"

	"iocause/internal/host"
)

// Frame is what is known of an address.
type Frame struct {
	Name     string // function, demangled; or "libc.so.6+0x888bb", "[anonymous]+0x1f0", "0x7f..." without a mapping
	Module   string // file name, "kernel" or a kernel module's name, ""
	File     string // path of the file
	IsSymbol bool   // Name is a function's
	NoCode   bool   // the process has nothing there that could run
}

// Resolver resolves addresses. Meet and Unwind are safe for concurrent use; the
// others are for one goroutine, that may run beside them.
type Resolver struct {
	host   *host.Host
	kernel *kernel
	mu     sync.Mutex // of processes and files
	procs  map[int]*process
	files  map[fileID]*file
	vdso   *file
	served map[host.DevNumber]*server // file systems seen so far, nil for one that has none
	notes  map[string]int

	machine *machine
}

// New prepares a resolver. It reads the kernel's symbols when the first is asked for.
func New(h *host.Host) *Resolver {
	return &Resolver{host: h, procs: map[int]*process{}, files: map[fileID]*file{}, served: map[host.DevNumber]*server{}, notes: map[string]int{}, machine: thisMachine()}
}

// Close closes the files that were kept open.
func (r *Resolver) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.files {
		f.close()
	}
}

// Meet reads the mappings of a process and opens the files that they map: it
// may end before its addresses are asked for.
func (r *Resolver) Meet(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.procs[pid]; p != nil {
		p.read(r) // another one of the same number, or another program
		return
	}
	r.process(pid)
}

// process is the one of a number, read when it is first asked for. The lock is held.
func (r *Resolver) process(pid int) *process {
	p := r.procs[pid]
	if p == nil {
		p = &process{pid: pid, names: map[uint64]Frame{}, missing: map[uint64]bool{}}
		r.procs[pid] = p
		p.read(r)
	}
	return p
}

// Check looks whether the addresses lie in mappings that are known of a
// process, and reads those anew if one does not: libraries are loaded, and
// programs replaced. comm is its name, which a new program changes, "" if that
// is not known.
func (r *Resolver) Check(pid int, comm string, ips []uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.process(pid)
	stale := comm != "" && p.comm != comm
	if stale {
		p.comm = comm
	}
	for i := 0; i < len(ips) && !stale; i++ {
		stale = p.find(ips[i]) == nil && !p.missing[ips[i]]
	}
	if !stale {
		return
	}
	p.read(r)
	for _, ip := range ips {
		if p.find(ip) == nil {
			p.missing[ip] = true
		}
	}
}

// User is the function at an address of a process. isReturn tells that it is
// where a call returns to, so that the call lies before it.
func (r *Resolver) User(pid int, ip uint64, isReturn bool) Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := ip
	if isReturn && at > 0 {
		at--
	}
	p := r.process(pid)
	if f, ok := p.names[at]; ok {
		return f
	}
	f := r.user(p, at)
	if !f.IsSymbol && at != ip { // the offset that is printed is the address's own
		f.Name = nameless(p.find(at), ip)
	}
	p.names[at] = f
	return f
}

func (r *Resolver) user(p *process, at uint64) Frame {
	m := p.find(at)
	if m == nil {
		if !p.seen {
			r.notes[gone]++
			p.seen = true
		}
		if name := p.jit(r, at); name != "" {
			return Frame{Name: name, Module: "jit", IsSymbol: true}
		}
		return Frame{Name: fmt.Sprintf("%#x", at), NoCode: len(p.maps) > 0}
	}
	f := Frame{Module: m.module(), File: m.Path}
	if m.file == nil {
		if name := p.jit(r, at); name != "" {
			return Frame{Name: name, Module: "jit", File: m.Path, IsSymbol: true}
		}
		f.Name = nameless(m, at)
		if f.Module == anonymous {
			p.noteUnnamed(r)
		}
		return f
	}
	if name, ok := m.file.symbol(r, p.pid, m, at); ok {
		f.Name, f.IsSymbol = name, true
		return f
	}
	if name := p.jit(r, at); name != "" { // compiled into a file in memory
		return Frame{Name: name, Module: "jit", File: m.Path, IsSymbol: true}
	}
	f.Name = nameless(m, at)
	if m.file.err != nil && !m.file.noted {
		m.file.noted = true
		r.notes[fmt.Sprintf("no symbols of %s: %v", m.Path, m.file.err)]++
	}
	return f
}

// nameless names an address by its file and the offset in it.
func nameless(m *mapping, at uint64) string {
	if m == nil {
		return fmt.Sprintf("%#x", at)
	}
	return fmt.Sprintf("%s+%#x", m.module(), at-m.Start+m.Offset)
}

// anonymous is the name of memory that is no file's.
const anonymous = "[anonymous]"

// module is the short name of what is mapped.
func (m *mapping) module() string {
	if m.Path == "" || strings.HasPrefix(m.Path, "//anon") {
		return anonymous
	}
	return path.Base(strings.TrimSuffix(m.Path, deleted))
}

// gone is the note on processes without mappings.
const gone = "processes ended before their mappings could be read: their functions have no names"

// Notes say what could not be read, and how often.
func (r *Resolver) Notes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for text, n := range r.notes {
		switch {
		case !strings.HasPrefix(text, gone):
		case n == 1:
			text = "1 process ended before its mappings could be read: its functions have no names"
		default:
			text = fmt.Sprintf("%d %s", n, text)
		}
		out = append(out, text)
	}
	return out
}
