package tracefile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"iocause/internal/sample"
)

// Reader reads a trace. It takes the records' layout from the file's header,
// so that fields and kinds of records that it does not know are skipped. It is
// used by one goroutine.
type Reader struct {
	from   *bufio.Reader
	header Header
	plans  map[uint8]*plan
	sum    *crc32.Table
	offset int64 // of what follows
	at     int64 // of the block
	block  []byte
	rest   []byte
	texts  []string
	io     sample.IO
	losses Losses
	end    time.Duration
	ended  bool
}

// plan is how a kind of record is read.
type plan struct {
	name   string
	fields []step
}

type step struct {
	kind   string
	before int64
	set    func(v uint64, s string) // nil for an unknown field
}

// NewReader reads the header.
func NewReader(from io.Reader) (*Reader, error) {
	r := &Reader{from: bufio.NewReaderSize(from, 1<<17), sum: crc32.MakeTable(crc32.Castagnoli), plans: map[uint8]*plan{}}
	first := make([]byte, len(magic))
	if _, err := io.ReadFull(r.from, first); err != nil && !isEnd(err) {
		return nil, fmt.Errorf("reading the trace: %w", err)
	}
	if string(first) != magic {
		return nil, fmt.Errorf("reading the trace: %w: it does not begin with %q", ErrFormat, magic[:len(magic)-1])
	}
	line, err := readLine(r.from)
	if err != nil {
		return nil, fmt.Errorf("reading the trace's header: %w", err)
	}
	if err := json.Unmarshal(line, &r.header); err != nil {
		return nil, fmt.Errorf("reading the trace's header: %w: %w", ErrFormat, err)
	}
	r.offset = int64(len(magic) + len(line))
	return r, r.plan()
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// readLine reads a line with its end.
func readLine(from *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := from.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case len(line) > mostHeader:
			return nil, fmt.Errorf("%w: its header has no end", ErrFormat)
		case isEnd(err):
			return nil, fmt.Errorf("%w: it ends within its header", ErrFormat)
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// plan prepares for the records that the header describes.
func (r *Reader) plan() error {
	known := setters(&r.io, &r.losses, &r.end)
	for _, rec := range r.header.Records {
		if r.plans[rec.Kind] != nil {
			return fmt.Errorf("reading the trace's header: %w: two records are of kind %d", ErrFormat, rec.Kind)
		}
		p := &plan{name: rec.Name}
		for _, f := range rec.Fields {
			switch f.Type {
			case "uint", "int", "delta", "string", "text":
			default:
				return fmt.Errorf("reading the trace's header: %w: a field is of type %.20q", ErrFormat, f.Type)
			}
			s := step{kind: f.Type, set: known[rec.Name+"."+f.Name]}
			if rec.Name == "text" && f.Name == "text" {
				s.set = func(_ uint64, text string) { r.texts = append(r.texts, text) }
			}
			p.fields = append(p.fields, s)
		}
		r.plans[rec.Kind] = p
	}
	return nil
}

// Header is the file's second line.
func (r *Reader) Header() Header { return r.header }

// Losses are the newest counters that were read.
func (r *Reader) Losses() Losses { return r.losses }

// End tells when the trace was ended in order, and whether it was.
func (r *Reader) End() (at time.Duration, ended bool) { return r.end, r.ended }

// Next is the next I/O, valid until the next call. It returns io.EOF at the
// end, and *CutError where the file is cut off or damaged.
func (r *Reader) Next() (*sample.IO, error) {
	for {
		if len(r.rest) == 0 {
			if err := r.next(); err != nil {
				return nil, err
			}
			continue
		}
		p := r.plans[r.rest[0]]
		if p == nil {
			return nil, r.cut("a record is of an unknown kind")
		}
		r.rest = r.rest[1:]
		if why := r.record(p); why != "" {
			return nil, r.cut(why)
		}
		switch p.name {
		case "io":
			return &r.io, nil
		case "forget":
			r.texts = r.texts[:0]
		case "end":
			r.ended = true
		case "text":
			if len(r.texts) > mostTexts {
				return nil, r.cut("it has too many names")
			}
		}
	}
}

// cut ends the reading for good.
func (r *Reader) cut(why string) error {
	r.rest, r.block = nil, nil
	r.from.Reset(bytes.NewReader(nil))
	return &CutError{r.at, why}
}

// next reads the next block.
func (r *Reader) next() error {
	r.at = r.offset
	var head [blockHead]byte
	n, err := io.ReadFull(r.from, head[:])
	switch {
	case n == 0 && isEnd(err):
		return io.EOF
	case isEnd(err):
		return r.cut("it ends within a block")
	case err != nil:
		return fmt.Errorf("reading the trace: %w", err)
	}
	length := binary.LittleEndian.Uint32(head[:])
	if length == 0 || length > mostBlock {
		return r.cut("a block's length is invalid")
	}
	if cap(r.block) < int(length) {
		r.block = make([]byte, length)
	}
	r.block = r.block[:length]
	if _, err := io.ReadFull(r.from, r.block); err != nil {
		if isEnd(err) {
			return r.cut("it ends within a block")
		}
		return fmt.Errorf("reading the trace: %w", err)
	}
	if crc32.Checksum(r.block, r.sum) != binary.LittleEndian.Uint32(head[4:]) {
		return r.cut("a block's checksum is wrong")
	}
	r.offset += int64(blockHead) + int64(length)
	r.rest = r.block
	return nil
}

// record reads the fields of one record. It returns what is wrong with it.
func (r *Reader) record(p *plan) string {
	for i := range p.fields {
		f := &p.fields[i]
		v, n := binary.Uvarint(r.rest)
		if n <= 0 {
			return "a record ends too early"
		}
		r.rest = r.rest[n:]
		var s string
		switch f.kind {
		case "int", "delta":
			signed := int64(v>>1) ^ -int64(v&1)
			if f.kind == "delta" {
				f.before += signed
				signed = f.before
			}
			v = uint64(signed)
		case "string":
			if v > mostText || v > uint64(len(r.rest)) {
				return "a record ends too early"
			}
			s = string(r.rest[:v])
			r.rest = r.rest[v:]
		case "text":
			if v > uint64(len(r.texts)) {
				return "a name is missing"
			}
			if v > 0 {
				s = r.texts[v-1]
			}
		}
		if f.set != nil {
			f.set(v, s)
		}
	}
	return ""
}
