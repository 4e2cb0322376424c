package recording

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"iocause/internal/sample"
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

	processes map[int]written[sample.Process]
	files     map[sample.FileID]written[sample.File]
}

// written is what was last written of a name, and in which window.
type written[T comparable] struct {
	what T
	at   uint64
}

// again is after how many windows a name is written again that nothing refers
// to, so that a part of a recording has it too.
const again = 60

// window is how far back zstd looks: records are small.
const window = 1 << 20

// NewWriter writes the first line and the header.
func NewWriter(to io.Writer, h Header) (*Writer, error) {
	return newWriter(to, h, zstd.SpeedDefault)
}

func newWriter(to io.Writer, h Header, level zstd.EncoderLevel) (*Writer, error) {
	pack, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false), zstd.WithEncoderLevel(level))
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

// Window writes one window. What readers would refuse, of tens of thousands of processes
// that each did something, is written without these, which a gap tells.
func (w *Writer) Window(r *Record) error {
	thin, memory := w.thinned(r), 0
	if w.plain, memory = encode(w.plain[:0], thin); memory > mostMemory || len(w.plain) > mostUnpacked {
		w.plain, _ = encode(w.plain[:0], withoutProcesses(thin))
		w.processes, w.files = nil, nil // which are not in the file
	}
	w.record = w.record[:0]
	if err := w.put(kindWindow, w.plain, r.Window.Start, r.Window.Length); err != nil {
		return err
	}
	w.windows++
	w.last = r.Window.Start.Add(r.Window.Length)
	return nil
}

// thinned is a record without the processes and files that nothing in the
// window refers to and that were written lately: a machine knows many more
// names than do something in a second.
func (w *Writer) thinned(r *Record) *Record {
	processes, files := map[int]bool{}, map[sample.FileID]bool{}
	refer := func(e sample.Entity) { processes[e.PID], files[e.File] = true, true }
	for _, m := range r.Window.Metrics() {
		r.Window.Each(m, func(e sample.Entity, _ *sample.Series) { refer(e) })
		r.Window.EachHistogram(m, func(e sample.Entity, _ *sample.Hist) { refer(e) })
	}
	thin := *r.Window
	thin.Processes, w.processes = wanted(r.Window.Processes, processes, w.processes, w.windows)
	thin.Files, w.files = wanted(r.Window.Files, files, w.files, w.windows)
	return &Record{Window: &thin, Cost: r.Cost}
}

// withoutProcesses is a record without the figures of processes and files.
func withoutProcesses(r *Record) *Record {
	all := r.Window
	w := sample.NewWindow(all.Start, all.Length)
	w.Told = all.Told
	gap := sample.Gap{Why: fmt.Sprintf("the figures of %d processes and %d files take more than the %d MiB that a reader believes of one window: record shorter intervals",
		len(all.Processes), len(all.Files), mostMemory>>20)}
	ofMachine := func(e sample.Entity) bool { return e.PID == 0 && e.File == sample.FileID{} }
	for _, m := range all.Metrics() {
		left := false
		all.Each(m, func(e sample.Entity, s *sample.Series) {
			if left = left || !ofMachine(e); ofMachine(e) {
				w.SetSeries(m, e, s)
			}
		})
		all.EachHistogram(m, func(e sample.Entity, h *sample.Hist) {
			if left = left || !ofMachine(e); ofMachine(e) {
				w.SetHistogram(m, e, h)
			}
		})
		if left {
			gap.Metrics = append(gap.Metrics, m)
		}
	}
	w.Gaps = append(slices.Clip(all.Gaps), gap)
	return &Record{Window: w, Cost: r.Cost}
}

// wanted chooses what is to be written, and what is known to be written then.
func wanted[K, T comparable](all map[K]T, referred map[K]bool, before map[K]written[T], now uint64) (some map[K]T, known map[K]written[T]) {
	some, known = map[K]T{}, make(map[K]written[T], len(all))
	for k, v := range all {
		old, ok := before[k]
		if !ok || referred[k] || old.what != v || now-old.at >= again {
			some[k] = v
			old = written[T]{v, now}
		}
		known[k] = old
	}
	return some, known
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
