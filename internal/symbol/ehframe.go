package symbol

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"
)

// unwindTable says how to get from a function to its caller, for all of a
// file's code: its section .eh_frame (Linux Standard Base, Core 5.0, 10.6;
// DWARF 5, 6.4).
type unwindTable struct {
	data    []byte // the section
	addr    uint64 // where the linker put it
	entries []unwindEntry
	machine *machine
}

// unwindEntry is a description (FDE) of a range of code. Offsets are into the section.
type unwindEntry struct {
	start, end uint64
	common     *commonEntry
	program    [2]int
}

// commonEntry is what descriptions share (CIE).
type commonEntry struct {
	codeAlign uint64
	dataAlign int64
	returns   uint64 // the column of the return address
	encoding  byte   // of addresses
	hasData   bool   // descriptions have augmentation data
	isSignal  bool   // a signal handler returns here: the address is no call's
	program   [2]int
}

// mostUnwind is the size of the largest section that is read, in bytes: a
// browser's has about 10 MB.
const mostUnwind = 64 << 20

var errTruncated = errors.New("it ends too early")

// readUnwindTable reads the section of a file; a file without one has an empty table.
func readUnwindTable(e *elf.File, m *machine) (*unwindTable, error) {
	t := &unwindTable{machine: m}
	s := e.Section(".eh_frame")
	if s == nil || s.Type == elf.SHT_NOBITS || e.Class != elf.ELFCLASS64 || e.Data != elf.ELFDATA2LSB {
		return t, nil
	}
	if s.Size > mostUnwind {
		return t, fmt.Errorf("reading its .eh_frame: it has %d bytes", s.Size)
	}
	var err error
	if t.data, err = s.Data(); err != nil {
		return t, fmt.Errorf("reading its .eh_frame: %w", err)
	}
	t.addr = s.Addr
	err = t.parse()
	slices.SortFunc(t.entries, func(a, b unwindEntry) int { return int(min(max(int64(a.start-b.start), -1), 1)) })
	if err != nil {
		return t, fmt.Errorf("reading its .eh_frame: %w", err)
	}
	return t, nil
}

// find is the entry of an address, nil for none.
func (t *unwindTable) find(at uint64) *unwindEntry {
	i := sort.Search(len(t.entries), func(i int) bool { return t.entries[i].start > at })
	if i == 0 || at >= t.entries[i-1].end {
		return nil
	}
	return &t.entries[i-1]
}

func (t *unwindTable) parse() error {
	common := map[int]*commonEntry{}
	for at := 0; at+4 <= len(t.data); {
		r := reader{data: t.data, at: at}
		size := int(r.u32())
		if size == 0 {
			return nil
		}
		start := r.at
		if size == 0xffffffff || size > len(t.data)-start { // 64-bit DWARF: nobody makes it
			return errTruncated
		}
		at = start + size
		r.data = t.data[:at]
		id := int(r.u32())
		if id == 0 {
			c, err := parseCommon(&r)
			if err != nil {
				return err
			}
			common[start-4] = c
			continue
		}
		c := common[start-id]
		if c == nil {
			continue // of a kind that is not understood
		}
		f := unwindEntry{common: c}
		f.start = r.pointer(c.encoding, t.addr)
		f.end = f.start + r.pointer(c.encoding&0x0f, 0)
		if c.hasData {
			r.skip(int(r.uleb()))
		}
		f.program = [2]int{r.at, at}
		if r.err != nil {
			return r.err
		}
		if f.end > f.start && f.start != 0 { // 0: code that the linker dropped
			t.entries = append(t.entries, f)
		}
	}
	return nil
}

// parseCommon is nil for a kind that is not understood.
func parseCommon(r *reader) (*commonEntry, error) {
	version := r.u8()
	augmentation := r.text()
	if version != 1 && version != 3 || augmentation != "" && augmentation[0] != 'z' {
		return nil, r.err
	}
	c := &commonEntry{codeAlign: r.uleb(), dataAlign: r.sleb()}
	if version == 1 {
		c.returns = uint64(r.u8())
	} else {
		c.returns = r.uleb()
	}
	if augmentation != "" {
		c.hasData = true
		end := int(r.uleb())
		end += r.at
		for _, kind := range augmentation[1:] {
			switch kind {
			case 'R':
				c.encoding = r.u8()
			case 'P':
				encoding := r.u8()
				r.pointer(encoding&0x0f, 0)
			case 'L':
				r.u8()
			case 'S':
				c.isSignal = true
			}
		}
		r.skip(end - r.at)
	}
	c.program = [2]int{r.at, len(r.data)}
	return c, r.err
}

// reader reads what files say: any bytes. After its end all is zero and err is set.
type reader struct {
	data []byte
	at   int
	err  error
}

func (r *reader) take(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.data)-r.at {
		r.err = errTruncated
		return make([]byte, 8)
	}
	r.at += n
	return r.data[r.at-n : r.at]
}

func (r *reader) skip(n int) {
	if n < 0 || n > len(r.data)-r.at {
		r.err = errTruncated
		return
	}
	r.at += n
}

func (r *reader) u8() byte    { return r.take(1)[0] }
func (r *reader) u16() uint64 { return uint64(binary.LittleEndian.Uint16(r.take(2))) }
func (r *reader) u32() uint64 { return uint64(binary.LittleEndian.Uint32(r.take(4))) }
func (r *reader) u64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

func (r *reader) text() string {
	n := bytes.IndexByte(r.data[min(r.at, len(r.data)):], 0)
	if n < 0 {
		r.err = errTruncated
		return ""
	}
	return string(r.take(n + 1)[:n])
}

func (r *reader) uleb() (v uint64) {
	for shift := uint(0); ; shift += 7 {
		b := r.u8()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 || r.err != nil {
			return v
		}
	}
}

func (r *reader) sleb() (v int64) {
	for shift := uint(0); ; {
		b := r.u8()
		v |= int64(b&0x7f) << shift
		shift += 7
		if b < 0x80 || r.err != nil {
			if b&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// pointer reads an address of an encoding (LSB, 10.5.1); addr is where the
// section lies.
func (r *reader) pointer(encoding byte, addr uint64) (v uint64) {
	at := uint64(r.at)
	switch encoding & 0x0f {
	case 0x00, 0x04, 0x0c: // as wide as an address
		v = r.u64()
	case 0x01:
		v = r.uleb()
	case 0x02:
		v = r.u16()
	case 0x03:
		v = r.u32()
	case 0x09:
		v = uint64(r.sleb())
	case 0x0a:
		v = uint64(int16(r.u16()))
	case 0x0b:
		v = uint64(int32(r.u32()))
	default:
		r.err = fmt.Errorf("an address has the encoding %#x", encoding)
	}
	switch encoding & 0x70 {
	case 0x00:
	case 0x10: // relative to itself
		v += addr + at
	default:
		r.err = fmt.Errorf("an address has the encoding %#x", encoding)
	}
	return v
}
