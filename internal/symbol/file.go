package symbol

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ianlancetaylor/demangle"
	"golang.org/x/sys/unix"

	"iocause/internal/host"
)

// fileID tells files apart, whatever they are called in which container.
type fileID struct {
	dev   host.DevNumber
	inode uint64
}

// file is one program or library.
type file struct {
	open   *os.File // until its symbols are read
	path   string   // as its first process sees it
	read   bool     // symbols were looked for
	noted  bool
	err    error // why there are none
	loads  []elf.ProgHeader
	table  table
	plain  map[string]string // mangled names, demangled
	memory []byte            // of the vDSO, in place of open
	unwind *unwindTable      // nil until it is looked for
	server *server           // that has the file, nil for none
}

// mostOpen files are kept open for the case that their process ends.
const mostOpen = 2000

// open opens a mapped file: through /proc/PID/map_files, which works for
// deleted files too, else by its name in the process's root directory. The lock of r is held.
func (r *Resolver) open(pid int, m *mapping) *file {
	id := fileID{m.Dev, m.Inode}
	if f := r.files[id]; f != nil {
		return f
	}
	f := &file{path: m.Path, plain: map[string]string{}}
	r.files[id] = f
	if len(r.files) > mostOpen {
		f.err, f.read = errors.New("too many files"), true
		return f
	}
	if f.server = r.serverOf(pid, m.Dev); f.server != nil {
		return f // opened when it is read: to close it may wait, too
	}
	if f.open, f.err = host.OpenRegular(r.mapFile(pid, m)); f.err == nil {
		return f
	}
	if strings.HasSuffix(m.Path, deleted) {
		f.err = fmt.Errorf("it was deleted, and cannot be opened through map_files: %w", f.err)
		f.read = true
		return f
	}
	f.open, f.err = host.OpenInside(r.root(pid), m.Path, 0)
	if f.err == nil && !isInode(f.open, m.Inode) {
		f.close()
		f.err = errors.New("it was replaced by another file")
	}
	f.read = f.err != nil
	return f
}

func isInode(f *os.File, inode uint64) bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && st.Ino == inode
}

func (f *file) close() {
	if f.open != nil {
		f.open.Close()
		f.open = nil
	}
}

// symbol is the function at an address in a mapping of the file.
func (f *file) symbol(r *Resolver, pid int, m *mapping, at uint64) (string, bool) {
	if !f.read {
		f.read = true
		f.err = f.patiently(func(f *file) error { return f.readSymbols(r, pid, m) })
		f.close()
	}
	addr, ok := f.address(at - m.Start + m.Offset)
	if !ok {
		return "", false
	}
	name, ok := f.table.at(addr)
	if !ok {
		return "", false
	}
	plain, known := f.plain[name]
	if !known {
		plain = demangle.Filter(name, demangle.NoParams, demangle.NoClones)
		f.plain[name] = plain
	}
	return plain, true
}

// address is where the linker put what is at an offset of the file.
func (f *file) address(offset uint64) (uint64, bool) {
	for _, l := range f.loads {
		if offset >= l.Off && offset-l.Off < l.Filesz {
			return l.Vaddr + offset - l.Off, true
		}
	}
	return 0, false
}

// readSymbols reads the segments and the functions.
func (f *file) readSymbols(r *Resolver, pid int, m *mapping) error {
	return f.asELF("symbols", func() (*os.File, error) { return f.again(r, pid, m) }, func(e *elf.File) (err error) {
		f.segments(e)
		f.table, err = functions(e, func() table { return r.debugFile(pid, f.path, e) })
		return err
	})
}

// again opens a file that is not open: one of a server for the first time, of others those
// that could be opened.
func (f *file) again(r *Resolver, pid int, m *mapping) (*os.File, error) {
	if f.err != nil {
		return nil, f.err
	}
	return host.OpenRegular(r.mapFile(pid, m))
}

// asELF reads a part of the file. Files are made by whoever runs them: what the
// parser trips over is an error of that file. One that was closed is opened again.
func (f *file) asELF(part string, again func() (*os.File, error), read func(e *elf.File) error) (err error) {
	defer func() {
		if trouble := recover(); trouble != nil {
			err = fmt.Errorf("reading its %s: %v", part, trouble)
		}
	}()
	var from io.ReaderAt
	switch {
	case f.memory != nil:
		from = bytes.NewReader(f.memory)
	case f.open != nil:
		from = f.open
	default:
		open, err := again()
		if err != nil {
			return err
		}
		defer open.Close()
		from = open
	}
	e, err := newELF(from)
	if err != nil {
		return fmt.Errorf("reading its %s: %w", part, err)
	}
	return read(e)
}

// segments notes which parts of the file are code.
func (f *file) segments(e *elf.File) {
	f.loads = nil
	for _, p := range e.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			f.loads = append(f.loads, p.ProgHeader)
		}
	}
}

// readVDSO reads the code that the kernel maps into every process. Ours is the
// same as theirs. The lock of r is held.
func (r *Resolver) readVDSO() *file {
	if r.vdso != nil {
		return r.vdso
	}
	f := &file{path: "[vdso]", plain: map[string]string{}}
	r.vdso = f
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		f.err, f.read = err, true
		return f
	}
	for _, m := range parseMaps(text) {
		if m.Path != "[vdso]" || m.End-m.Start > 1<<20 {
			continue
		}
		mem, err := os.Open("/proc/self/mem")
		if err != nil {
			f.err, f.read = err, true
			return f
		}
		defer mem.Close()
		f.memory = make([]byte, m.End-m.Start)
		if _, err := mem.ReadAt(f.memory, int64(m.Start)); err != nil {
			f.err, f.read, f.memory = err, true, nil
		}
		return f
	}
	f.read = true
	return f
}
