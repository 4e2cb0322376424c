package recording

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"time"

	"iocause/internal/store/frames"
)

// Is tells by the beginning of a file, of 32 bytes or more where it has them,
// whether it is a recording of any version.
func Is(beginning []byte) bool { return bytes.HasPrefix(beginning, []byte(name)) }

// Reader reads a recording. It keeps one record at a time. It is used by one
// goroutine.
type Reader struct {
	from io.ReaderAt
	size int64 // as it was when the reading began: more may be written
	at   int64 // of what follows
	sum  *crc32.Table
	zstd *frames.Decoder

	header  Header
	end     End
	ended   bool
	summed  int64     // bytes whose checksum was worked out
	read    int64     // bytes that were unpacked
	since   time.Time // windows that are wanted
	until   time.Time
	last    time.Time // end of the newest window
	broken  int64     // where a damaged part began, -1 outside of one
	why     string
	losses  []Loss
	lost    int // losses that were not kept
	scratch []byte
}

// NewReader reads the first line and the header. A header that is damaged
// leaves Header empty, and is one of the losses.
func NewReader(from io.ReaderAt, size int64) (*Reader, error) {
	unpack, err := frames.NewDecoder()
	if err != nil {
		return nil, fmt.Errorf("preparing to read the recording: %w", err)
	}
	r := &Reader{from: from, size: size, sum: crc32.MakeTable(crc32.Castagnoli), zstd: unpack, broken: -1}
	first := make([]byte, min(size, 64))
	if err := r.bytes(first, 0); err != nil {
		return nil, err
	}
	if !Is(first) {
		return nil, fmt.Errorf("reading the recording: %w: it does not begin with %q", ErrFormat, strings.TrimSpace(name))
	}
	line, _, ok := bytes.Cut(first, []byte("\n"))
	if v := strings.TrimPrefix(string(line), name); ok && v != version {
		return nil, fmt.Errorf("reading the recording: %w: it says %.20q", ErrVersion, v)
	}
	r.at = int64(min(len(magic), len(first)))
	h, rest, err := r.record()
	switch {
	case err == io.EOF:
		return r, nil
	case err != nil:
		return nil, err
	case h.kind != kindHeader: // it is lost; this is the first window
		r.at = h.at
		return r, nil
	}
	if text, err := r.unpack(rest); err != nil || json.Unmarshal(text, &r.header) != nil {
		r.header = Header{}
		r.lose(h.at, errDamaged.Error())
	}
	return r, nil
}

// Header is what was said at the beginning.
func (r *Reader) Header() Header { return r.header }

// End is what was said at the end; ok is false where that was not read, or
// the recording was not ended in order.
func (r *Reader) End() (e End, ok bool) { return r.end, r.ended }

// Losses are the parts that could not be read so far, and how many more there
// were than are kept.
func (r *Reader) Losses() (told []Loss, more int) { return r.losses, r.lost }

// Only makes Next leave out the windows whose middle lies before from, or at
// to or after it. Zero times choose nothing.
func (r *Reader) Only(from, to time.Time) { r.since, r.until = from, to }

// Next is the next window. It returns io.EOF at the end of the file; what is
// damaged is passed over, and is in Losses.
func (r *Reader) Next() (*Record, error) {
	for {
		h, rest, err := r.record()
		if err != nil {
			return nil, err
		}
		switch h.kind {
		case kindWindow:
			if !r.wanted(&h) {
				r.last = h.start.Add(h.length)
				continue
			}
			text, err := r.unpack(rest)
			if err != nil {
				r.lose(h.at, err.Error())
				continue
			}
			w, err := decode(text, h.start, h.length)
			if err != nil {
				r.lose(h.at, err.Error())
				continue
			}
			r.last = h.start.Add(h.length)
			return w, nil
		case kindEnd:
			text, err := r.unpack(rest)
			if err != nil || json.Unmarshal(text, &r.end) != nil {
				r.end = End{}
				r.lose(h.at, errDamaged.Error())
				continue
			}
			r.ended = true
		default: // of a later version, or a second header: passed over
		}
	}
}

func (r *Reader) wanted(h *head) bool {
	middle := h.start.Add(h.length / 2)
	return (r.since.IsZero() || !middle.Before(r.since)) && (r.until.IsZero() || middle.Before(r.until))
}

// Interval is when the first window begins and the last one ends, without
// unpacking any. Both are zero where there is no window.
func (r *Reader) Interval() (from, to time.Time, err error) {
	scan := &Reader{from: r.from, size: r.size, at: int64(len(magic)), sum: r.sum, broken: -1}
	for {
		h, _, err := scan.record()
		if err == io.EOF {
			return from, to, nil
		}
		if err != nil {
			return from, to, err
		}
		if h.kind != kindWindow {
			continue
		}
		if from.IsZero() || h.start.Before(from) {
			from = h.start
		}
		if end := h.start.Add(h.length); end.After(to) {
			to = end
		}
	}
}

// head is what is known of a record without unpacking it.
type head struct {
	at     int64
	kind   kind
	start  time.Time
	length time.Duration
}

// record is the next record that is whole, with its packed rest. It is io.EOF
// at the end of the file.
func (r *Reader) record() (head, []byte, error) {
	for {
		h, rest, why, err := r.try(r.at)
		switch {
		case err != nil:
			return h, nil, err
		case why == "":
			if r.broken >= 0 {
				r.loss(r.at, h)
			}
			r.at += int64(headSize + len(rest))
			return h, rest, nil
		case r.at >= r.size:
			if r.broken >= 0 {
				r.loss(r.size, head{})
			}
			return h, nil, io.EOF
		}
		if r.broken < 0 {
			r.broken, r.why = r.at, why
		}
		if r.at, err = r.find(r.at + 1); err != nil {
			return h, nil, err
		}
	}
}

// try reads the record at an offset; why says what is wrong with it.
func (r *Reader) try(at int64) (h head, rest []byte, why string, err error) {
	var b [headSize]byte
	if left := r.size - at; left < int64(headSize) {
		return h, nil, "it ends within a record", nil
	}
	if err := r.bytes(b[:], at); err != nil {
		return h, nil, "", err
	}
	if string(b[:len(mark)]) != mark {
		return h, nil, "no record begins there", nil
	}
	fields := b[len(mark):]
	length := binary.LittleEndian.Uint32(fields[4:])
	switch {
	case length > mostPacked:
		return h, nil, "a record's length is invalid", nil
	case int64(length) > r.size-at-int64(headSize):
		return h, nil, "it ends within a record", nil
	}
	// A file that is made to be bad could have a long record begin at every mark.
	if r.summed += int64(length); r.summed > 8*r.size+1<<20 {
		return h, nil, "too much of it is damaged", nil
	}
	if cap(r.scratch) < int(length) {
		r.scratch = make([]byte, length)
	}
	rest = r.scratch[:length]
	if err := r.bytes(rest, at+int64(headSize)); err != nil {
		return h, nil, "", err
	}
	if checksum(r.sum, fields, rest) != binary.LittleEndian.Uint32(fields[24:]) {
		return h, nil, "a record's checksum is wrong", nil
	}
	h = head{at: at, kind: kind(fields[0]), start: time.Unix(0, int64(binary.LittleEndian.Uint64(fields[8:]))),
		length: time.Duration(binary.LittleEndian.Uint64(fields[16:]))}
	if h.length < 0 {
		return h, nil, "a record's length is invalid", nil
	}
	return h, rest, "", nil
}

// find is where the next mark is, or the end of the file.
func (r *Reader) find(at int64) (int64, error) {
	const chunk = 1 << 16
	buf := make([]byte, chunk)
	for at < r.size {
		part := buf[:min(chunk, r.size-at)]
		if err := r.bytes(part, at); err != nil {
			return at, err
		}
		if i := bytes.Index(part, []byte(mark)); i >= 0 {
			return at + int64(i), nil
		}
		if at+int64(len(part)) == r.size {
			break
		}
		at += int64(len(part) - len(mark) + 1)
	}
	return r.size, nil
}

// lose notes a record whose checksum is right and that cannot be read.
func (r *Reader) lose(at int64, why string) {
	r.note(Loss{Offset: at, Bytes: r.at - at, Why: why, After: r.last})
}

// loss ends a damaged part where something can be read again.
func (r *Reader) loss(until int64, next head) {
	l := Loss{Offset: r.broken, Bytes: until - r.broken, Why: r.why, After: r.last}
	if next.kind == kindWindow {
		l.Before = next.start
	}
	r.broken = -1
	r.note(l)
}

func (r *Reader) note(l Loss) {
	if len(r.losses) >= mostLosses {
		r.lost++
		return
	}
	r.losses = append(r.losses, l)
}

func (r *Reader) unpack(packed []byte) ([]byte, error) {
	// All of it together is believed no further than a part of it.
	text, err := r.zstd.Unpack(packed, int(min(mostUnpacked, frames.Ratio*r.size+mostUnpacked-r.read)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	r.read += int64(len(text))
	return text, nil
}

// bytes reads exactly so many.
func (r *Reader) bytes(b []byte, at int64) error {
	if n, err := r.from.ReadAt(b, at); n < len(b) {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // it has shrunk meanwhile
		}
		return fmt.Errorf("reading the recording: %w", err)
	}
	return nil
}
