package tracefile

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"iocause/internal/sample"
)

// blockSize is what a block is written at, in bytes.
const blockSize = 1 << 16

// blockHead is the length and the checksum before a block, 4 bytes each.
const blockHead = 8

// Writer writes a trace. It is used by one goroutine.
type Writer struct {
	to      io.Writer
	block   []byte // begins with room for its head
	texts   map[string]uint64
	sum     *crc32.Table
	written int64

	start, sector, pid, tid int64 // of the I/O before
}

// NewWriter writes the header. Its Records are filled in.
func NewWriter(to io.Writer, h Header) (*Writer, error) {
	h.Records = schema()
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("writing the header of the trace: %w", err)
	}
	w := &Writer{to: to, block: make([]byte, blockHead, blockSize+4096), texts: map[string]uint64{}, sum: crc32.MakeTable(crc32.Castagnoli)}
	if err := w.write(append(append([]byte(magic), text...), '\n')); err != nil {
		return nil, err
	}
	return w, nil
}

func (w *Writer) write(b []byte) error {
	n, err := w.to.Write(b)
	w.written += int64(n)
	if err != nil {
		return fmt.Errorf("writing the trace: %w", err)
	}
	return nil
}

// Written is how many bytes are in the file.
func (w *Writer) Written() int64 { return w.written }

// text is the number of a string in the dictionary, which it adds on first
// sight.
func (w *Writer) text(s string) uint64 {
	if s == "" {
		return 0
	}
	if n, ok := w.texts[s]; ok {
		return n
	}
	if len(s) > mostText {
		s = s[:mostText]
	}
	n := uint64(len(w.texts) + 1)
	w.texts[s] = n
	w.block = append(w.block, kindText)
	w.block = binary.AppendUvarint(w.block, uint64(len(s)))
	w.block = append(w.block, s...)
	return n
}

// Add writes one I/O, or keeps it until its block is full.
func (w *Writer) Add(x *sample.IO) error {
	if len(w.texts)+4 > mostTexts {
		clear(w.texts)
		w.block = append(w.block, kindForget)
	}
	disk, comm, cgroup, file := w.text(x.Disk), w.text(x.Comm), w.text(x.Cgroup), w.text(x.File)
	b := append(w.block, kindIO)
	b = binary.AppendVarint(b, int64(x.Start)-w.start)
	b = binary.AppendVarint(b, int64(x.Queue))
	b = binary.AppendUvarint(b, uint64(x.Device))
	b = binary.AppendUvarint(b, disk)
	b = binary.AppendVarint(b, int64(x.Sector)-w.sector)
	b = binary.AppendUvarint(b, x.Bytes)
	b = binary.AppendUvarint(b, uint64(x.Flags))
	b = binary.AppendUvarint(b, uint64(x.Status))
	b = binary.AppendUvarint(b, uint64(x.Requeues))
	b = binary.AppendVarint(b, int64(x.PID)-w.pid)
	b = binary.AppendVarint(b, int64(x.TID)-w.tid)
	b = binary.AppendUvarint(b, comm)
	b = binary.AppendUvarint(b, cgroup)
	w.block = binary.AppendUvarint(b, file)
	w.start, w.sector, w.pid, w.tid = int64(x.Start), int64(x.Sector), int64(x.PID), int64(x.TID)
	if len(w.block) >= blockSize {
		return w.Flush()
	}
	return nil
}

// Losses writes the counters so far.
func (w *Writer) Losses(l Losses) {
	w.block = append(w.block, kindLosses)
	for _, n := range []uint64{l.Dropped, l.InFlight, l.Missed, l.Paths, l.Own, l.BelowMin, l.Passed} {
		w.block = binary.AppendUvarint(w.block, n)
	}
}

// Flush writes what was kept.
func (w *Writer) Flush() error {
	if len(w.block) == blockHead {
		return nil
	}
	rest := w.block[blockHead:]
	binary.LittleEndian.PutUint32(w.block, uint32(len(rest)))
	binary.LittleEndian.PutUint32(w.block[4:], crc32.Checksum(rest, w.sum))
	err := w.write(w.block)
	w.block = w.block[:blockHead]
	return err
}

// End writes that the trace was ended in order, at that time since it began.
func (w *Writer) End(at time.Duration) error {
	w.block = append(w.block, kindEnd)
	w.block = binary.AppendUvarint(w.block, uint64(at))
	return w.Flush()
}
