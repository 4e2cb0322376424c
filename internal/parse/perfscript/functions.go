package perfscript

import (
	"encoding/binary"
	"hash/maphash"
	"strings"

	"iocause/internal/sample"
)

// nothing is the number of lines that stand for no function.
const nothing = 1<<32 - 1

// functions finds what lines stand for: by the whole line where that is among the last
// seen, as most lines of a recording are, else by function and module, since addresses
// and offsets may differ in every line. Only hashes are compared, of a seed that each
// run draws: that two of a million functions fall together has a chance of one in 30
// million. The lines of a sample are looked up together, so that the processor waits
// for memory once and not for each of them.
type functions struct {
	seed   maphash.Seed
	recent []slot // by the end of the line's hash: a later line takes the place
	slots  []slot // open addressing; a power of two, at most half of them taken
	used   int
	frames []*sample.Frame   // of a list, outermost first, and nil; its number is its first place
	texts  map[string]string // names and paths, each once
	chunk  []sample.Frame    // where the next frames come from

	namesOnly bool // modules are left out

	missed int // lines in a row that were not among the last seen
	blind  int // so many lines are not looked for there: they would not be found

	waiting []entry // of the sample, innermost first
	text    []byte  // names and modules of those to look up
}

// slot is a hash and the number of a list; where there is none, the hash is 0.
type slot struct {
	hash uint64
	id   uint32
}

// entry is a line of the sample: its list where that is known, else what to look up.
type entry struct {
	id             uint32
	java           bool
	line, function uint64 // hashes; 0 where the list is known, or the line is not to be known again
	name, end      int    // ends of name and module in the text, with a line break between
}

const (
	recentLines = 1 << 14 // 256 KiB, which fits into a processor's own cache
	blindLines  = 8 * recentLines
	firstSlots  = 1 << 12
	chunkFrames = 256
	mostWaiting = 256 // lines, which bounds what a sample takes
)

func newFunctions(namesOnly bool) *functions {
	return &functions{
		namesOnly: namesOnly,
		seed:      maphash.MakeSeed(), texts: map[string]string{},
		recent: make([]slot, recentLines), slots: make([]slot, firstSlots),
	}
}

// addLine takes a line of a sample, if it is one.
func (f *functions) addLine(line []byte, java bool) bool {
	var h uint64
	if f.blind > 0 {
		f.blind--
	} else {
		h = f.hash(line, java)
		if last := &f.recent[h%recentLines]; last.hash == h {
			f.missed = 0
			f.waiting = append(f.waiting, entry{id: last.id})
			return true
		}
		if f.missed++; f.missed == recentLines {
			f.missed, f.blind = 0, blindLines
		}
	}
	name, module, ok := parseFrame(line)
	if ok {
		f.add(name, module, java)
		f.waiting[len(f.waiting)-1].line = h
	}
	return ok
}

// add takes a function with its offset into a sample.
func (f *functions) add(name, module []byte, java bool) {
	from := len(f.text)
	name = stripOffset(name)
	if f.namesOnly && string(name) != unknown { // which is called as its module is
		module = nil
	}
	f.text = append(f.text, name...)
	e := entry{java: java, name: len(f.text)}
	f.text = append(append(f.text, '\n'), module...) // which is in neither
	e.end = len(f.text)
	e.function = f.hash(f.text[from:], java)
	f.waiting = append(f.waiting, e)
}

// take appends the numbers of the sample's lists to a key.
func (f *functions) take(key []byte) []byte {
	from := 0
	for f.used+len(f.waiting) > len(f.slots)/2 {
		f.grow()
	}
	for i := range f.waiting {
		e := &f.waiting[i]
		if e.function != 0 {
			s := f.find(e.function)
			if s.hash == 0 {
				f.insert(s, e, from)
			}
			e.id, from = s.id, e.end
			if e.line != 0 {
				f.recent[e.line%recentLines] = slot{e.line, e.id}
			}
		}
		if e.id != nothing {
			key = binary.LittleEndian.AppendUint32(key, e.id)
		}
	}
	f.waiting, f.text = f.waiting[:0], f.text[:0]
	return key
}

// insert fills a slot with what is new. The name begins at from.
func (f *functions) insert(s *slot, e *entry, from int) {
	*s = slot{e.function, uint32(len(f.frames))}
	if !f.build(f.once(f.text[from:e.name]), f.once(f.text[e.name+1:e.end]), e.java) {
		s.id = nothing
	}
	e.id = s.id
	f.used++
}

// hash is never 0. Classes of Java are written differently, and have another.
func (f *functions) hash(b []byte, java bool) uint64 {
	h := maphash.Bytes(f.seed, b)
	if java {
		h = ^h
	}
	return max(h, 1)
}

// find is the slot of a hash, or the free one where it belongs.
func (f *functions) find(h uint64) *slot {
	for i := h; ; i++ {
		s := &f.slots[i&uint64(len(f.slots)-1)]
		if s.hash == h || s.hash == 0 {
			return s
		}
	}
}

func (f *functions) grow() {
	old := f.slots
	f.slots = make([]slot, 2*len(old))
	for _, s := range old {
		if s.hash != 0 {
			*f.find(s.hash) = s
		}
	}
}

func (f *functions) once(text []byte) string {
	t, ok := f.texts[string(text)]
	if !ok {
		t = string(text)
		f.texts[t] = t
	}
	return t
}

// build makes the frames of one line, whose offset is taken off: several where the
// compiler put one function into the other (OUTER->INNER). java is a program of that
// name, whose classes are written as the JVM writes types.
func (f *functions) build(name, path string, java bool) bool {
	if strings.HasPrefix(name, "(") {
		return false // the name of a process, which old versions print here
	}
	kernel := strings.HasPrefix(path, "[") && path != unknown || strings.HasSuffix(path, "vmlinux")
	short := path[strings.LastIndexByte(path, '/')+1:]
	parts := []string{name}
	if strings.Contains(name, "->") {
		parts = strings.Split(name, "->")
	}
	for len(parts) > 1 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	for i, part := range parts {
		part = tidy(part, path, short, java)
		if i > 0 && !strings.Contains(part, "_[i]") {
			part += "_[i]"
		}
		if len(f.chunk) == cap(f.chunk) {
			f.chunk = make([]sample.Frame, 0, chunkFrames)
		}
		f.chunk = append(f.chunk, sample.Frame{Name: part, Module: short, File: path, Kernel: kernel})
		f.frames = append(f.frames, &f.chunk[len(f.chunk)-1])
	}
	f.frames = append(f.frames, nil)
	return true
}

// list appends the frames of a list.
func (f *functions) list(to []*sample.Frame, id uint32) []*sample.Frame {
	for ; f.frames[id] != nil; id++ {
		to = append(to, f.frames[id])
	}
	return to
}
