package recording

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Writer writes a recording. It is used by one goroutine.
type Writer struct {
	to      io.Writer
	sum     *crc32.Table
	pack    *zstd.Encoder
	plain   []byte // kept from record to record
	record  []byte
	written int64
	windows uint64
	last    time.Time // end of the newest window
}

// window is how far back zstd looks: records are small.
const window = 1 << 20

// NewWriter writes the first line and the header.
func NewWriter(to io.Writer, h Header) (*Writer, error) {
	pack, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("preparing to write the recording: %w", err)
	}
	w := &Writer{to: to, sum: crc32.MakeTable(crc32.Castagnoli), pack: pack, last: h.Began}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("writing the header of the recording: %w", err)
	}
	w.record = append(w.record[:0], magic...)
	return w, w.put(kindHeader, text, h.Began, 0)
}

// Window writes one window.
func (w *Writer) Window(r *Record) error {
	w.plain = encode(w.plain[:0], r)
	w.record = w.record[:0]
	if err := w.put(kindWindow, w.plain, r.Window.Start, r.Window.Length); err != nil {
		return err
	}
	w.windows++
	w.last = r.Window.Start.Add(r.Window.Length)
	return nil
}

// End writes that the recording was ended in order. Windows of e is filled in.
func (w *Writer) End(e End) error {
	e.Windows = w.windows
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("writing the end of the recording: %w", err)
	}
	w.record = w.record[:0]
	return w.put(kindEnd, text, w.last, 0)
}

// put writes one record behind what w.record holds, all at once.
func (w *Writer) put(k kind, plain []byte, start time.Time, length time.Duration) error {
	if len(plain) > mostUnpacked {
		return fmt.Errorf("writing the recording: a record of %d bytes is more than the %d that a reader takes", len(plain), mostUnpacked)
	}
	at := len(w.record)
	b := append(w.record, mark...)
	b = append(b, byte(k), 0, 0, 0)
	b = append(b, make([]byte, headSize-len(mark)-4)...)
	b = w.pack.EncodeAll(plain, b)
	head, rest := b[at+len(mark):at+headSize], b[at+headSize:]
	binary.LittleEndian.PutUint32(head[4:], uint32(len(rest)))
	binary.LittleEndian.PutUint64(head[8:], uint64(start.UnixNano()))
	binary.LittleEndian.PutUint64(head[16:], uint64(length))
	binary.LittleEndian.PutUint32(head[24:], checksum(w.sum, head, rest))
	w.record = b
	n, err := w.to.Write(b)
	w.written += int64(n)
	if err != nil {
		return fmt.Errorf("writing the recording: %w", err)
	}
	return nil
}

// checksum is that of a head without its mark and its own place, and the rest.
func checksum(t *crc32.Table, head, rest []byte) uint32 {
	return crc32.Update(crc32.Checksum(head[:24], t), t, rest)
}

// Written is how many bytes are in the file.
func (w *Writer) Written() int64 { return w.written }

// Windows is how many windows are in the file.
func (w *Writer) Windows() uint64 { return w.windows }
