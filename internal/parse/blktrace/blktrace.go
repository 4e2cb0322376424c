// Package blktrace turns the files that blktrace(8) writes, one for each
// processor, into the lines that blkparse(1) prints of them.
//
// A record is struct blk_io_trace of include/uapi/linux/blktrace_api.h, 48
// bytes, and as many more as it says:
//
//	magic, sequence u32; time, sector u64; bytes, action, pid, device, cpu u32;
//	error, extra u16
package blktrace

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	magic   = 0x656174 // the upper three bytes
	version = 7        // the lowest one
	size    = 48       // bytes of a record without what follows it
)

// ErrRecord is a file with something else where a record should begin.
var ErrRecord = errors.New("not a record of blktrace")

// Is tells whether a file that begins like this is of blktrace.
func Is(head []byte) bool { return orderOf(head) != nil }

// orderOf is the order of the bytes on the machine that wrote a record, nil
// when it is none.
func orderOf(head []byte) binary.ByteOrder {
	switch {
	case len(head) < 4:
	case binary.LittleEndian.Uint32(head)>>8 == magic:
		return binary.LittleEndian
	case binary.BigEndian.Uint32(head)>>8 == magic:
		return binary.BigEndian
	}
	return nil
}

// record is one event.
type record struct {
	sequence, bytes, action, pid, device, cpu uint32
	time, sector                              uint64
	fault                                     uint16
	extra                                     []byte // valid until the next one is read
}

// file reads the records of one processor.
type file struct {
	r     *bufio.Reader
	order binary.ByteOrder
	now   record
	n     int // records so far
	at    int64
	buf   []byte
}

// next reads a record; io.EOF is the end between two of them.
func (f *file) next() error {
	var head [size]byte
	if n, err := io.ReadFull(f.r, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("record %d at byte %d is cut off after %d bytes: %w", f.n+1, f.at, n, io.ErrUnexpectedEOF)
		}
		return err
	}
	if f.order == nil {
		f.order = orderOf(head[:])
	}
	if f.order == nil || f.order.Uint32(head[:])>>8 != magic {
		return fmt.Errorf("%w at byte %d, behind record %d: it begins with % x", ErrRecord, f.at, f.n, head[:4])
	}
	if v := f.order.Uint32(head[:]) & 0xff; v != version {
		return fmt.Errorf("%w at byte %d: version %d, not %d", ErrRecord, f.at, v, version)
	}
	u32 := func(at int) uint32 { return f.order.Uint32(head[at:]) }
	f.now = record{
		sequence: u32(4), time: f.order.Uint64(head[8:]), sector: f.order.Uint64(head[16:]), bytes: u32(24), action: u32(28),
		pid: u32(32), device: u32(36), cpu: u32(40), fault: f.order.Uint16(head[44:]),
	}
	n := int(f.order.Uint16(head[46:]))
	if cap(f.buf) < n {
		f.buf = make([]byte, n)
	}
	f.now.extra = f.buf[:n]
	if got, err := io.ReadFull(f.r, f.now.extra); err != nil {
		return fmt.Errorf("record %d at byte %d is cut off after %d bytes: %w", f.n+1, f.at, size+got, io.ErrUnexpectedEOF)
	}
	f.n++
	f.at += int64(size + n)
	return nil
}

// reader puts the records of several files in the order of their times.
type reader struct {
	files   []*file
	open    bool
	started bool
	base    uint64 // time of the first event
	comms   map[uint32]string
	out     bytes.Buffer
	err     error
}

// Text makes a reader of the text of one or several files of the same trace:
// one line for each record, an empty one for records without I/O. A file is
// taken for sorted by time.
func Text(from ...io.Reader) io.Reader {
	r := &reader{comms: map[uint32]string{}}
	for _, f := range from {
		b, ok := f.(*bufio.Reader)
		if !ok {
			b = bufio.NewReaderSize(f, 64<<10)
		}
		r.files = append(r.files, &file{r: b})
	}
	return r
}

// Read implements io.Reader.
func (r *reader) Read(b []byte) (int, error) {
	for r.out.Len() == 0 && r.err == nil {
		r.err = r.step()
	}
	if r.out.Len() > 0 {
		return r.out.Read(b)
	}
	return 0, r.err
}

// step writes the oldest record as a line. What a broken file held before it
// broke is kept, and the error told once the others have come as far.
func (r *reader) step() error {
	if !r.open {
		r.open = true
		for i := len(r.files) - 1; i >= 0; i-- {
			if err := r.advance(i); err != nil {
				return err
			}
		}
	}
	if len(r.files) == 0 {
		return io.EOF
	}
	at := 0
	for i, f := range r.files {
		if f.now.time < r.files[at].now.time {
			at = i
		}
	}
	r.line(&r.files[at].now)
	return r.advance(at)
}

// advance reads the next record of a file, and drops the file at its end.
func (r *reader) advance(i int) error {
	err := r.files[i].next()
	if errors.Is(err, io.EOF) {
		r.files = append(r.files[:i], r.files[i+1:]...)
		return nil
	}
	return err
}

// Upper half of an action: what kind of request it is about.
const (
	_ = 1 << (16 + iota) // a read, or no I/O
	isWrite
	isFlush
	isSync
	_ // of the queue
	_ // requeued
	_ // issued
	_ // completed
	_ // of a file system
	isPassthrough
	isNotice
	isAhead
	isMeta
	isDiscard
	isDriver
	isFUA
)

// letters are the actions by number, as blkparse writes them.
const letters = "?QMFGSRDCPU?IXBA?"

// maxComms bounds how many names of processes are kept.
const maxComms = 1 << 16

// line writes a record as blkparse prints it.
func (r *reader) line(e *record) {
	defer r.out.WriteByte('\n')
	if e.action&isNotice != 0 {
		if e.action&0xffff == 0 && len(r.comms) < maxComms { // the name of a process
			name, _, _ := strings.Cut(string(e.extra), "\x00")
			r.comms[e.pid] = name
		}
		return
	}
	number := int(e.action & 0x7fff) // the 16th bit says that a cgroup's number follows
	if number >= len(letters) || letters[number] == '?' || e.action&(isPassthrough|isDriver) != 0 {
		return
	}
	if !r.started {
		r.started, r.base = true, e.time
	}
	since := e.time - min(r.base, e.time)
	fmt.Fprintf(&r.out, "%d,%d %d %d %d.%09d %d %c %s", e.device>>20, e.device&(1<<20-1), e.cpu, e.sequence,
		since/1e9, since%1e9, e.pid, letters[number], kindOf(e.action, e.bytes))
	if n := e.bytes / 512; n > 0 {
		fmt.Fprintf(&r.out, " %d + %d", e.sector, n)
	}
	if letters[number] == 'C' {
		fmt.Fprintf(&r.out, " [%d]", e.fault)
	} else {
		fmt.Fprintf(&r.out, " [%s]", strings.Map(printable, r.comms[e.pid]))
	}
}

// printable keeps a name on its line: what is no text becomes '?'.
func printable(c rune) rune {
	if c < ' ' || c == 0x7f || c == '\ufffd' {
		return '?'
	}
	return c
}

// kindOf writes what kind of request it is, in blkparse's letters.
func kindOf(action, bytes uint32) string {
	var b []byte
	add := func(on bool, c byte) {
		if on {
			b = append(b, c)
		}
	}
	add(action&isFlush != 0, 'F')
	switch {
	case action&isDiscard != 0:
		b = append(b, 'D')
	case action&isWrite != 0:
		b = append(b, 'W')
	case bytes > 0:
		b = append(b, 'R')
	default:
		b = append(b, 'N')
	}
	add(action&isFUA != 0, 'F')
	add(action&isAhead != 0, 'A')
	add(action&isSync != 0, 'S')
	add(action&isMeta != 0, 'M')
	return string(b)
}
