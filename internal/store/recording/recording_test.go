package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"iocause/internal/require"
	"iocause/internal/sample"
)

// some is a window with everything that a window can hold.
func some(seed uint64, start time.Time) *Record {
	r := rand.New(rand.NewPCG(seed, 2))
	rec := sample.NewRecorder(start)
	for tick := range 3 {
		rec.At(start.Add(time.Duration(tick) * 300 * time.Millisecond))
		for pid := 1; pid < 40; pid += 1 + r.IntN(3) {
			e := sample.Entity{PID: pid}
			rec.PutProcess(pid, sample.Process{Comm: fmt.Sprintf("p\x00\xff%d\n", pid), Start: time.Duration(r.Int64()), Kernel: pid%7 == 0, MemoryCgroup: "/a", IOCgroup: "", CPUCgroup: []string{"", "/c"}[pid%2]})
			rec.Put(sample.ProcUser, e, float64(r.IntN(200))/100, "/proc/PID/stat")
			rec.Put(sample.ProcRSS, e, float64(r.Int64N(1<<40)), "/proc/PID/stat")
			rec.Put(sample.WaitIO, sample.Entity{PID: pid, Class: "read"}, r.Float64(), "tp:sched_switch")
			e.File = sample.FileID{Dev: math.MaxUint32, Ino: math.MaxUint64 - uint64(pid)}
			rec.Put(sample.CacheAccesses, e, -float64(r.IntN(1<<30)), "tp:x")
			rec.PutFile(e.File, sample.File{Path: fmt.Sprintf("/f/\x1b[31m%d", pid), Size: -1, Device: "vda", Deleted: pid%2 == 0, Partial: pid%3 == 0})
		}
		rec.PutAt(start.Add(time.Duration(r.Int64N(1e9))), sample.BlockBinOps, sample.Entity{Device: "vda"}, 3, "tp:y")
		for i, v := range []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, 5e-324, 0.1, 1.5e-9, 1 << 53, -1<<53 + 1, 1e18} {
			rec.Put(sample.Sysctl, sample.Entity{Class: fmt.Sprint(i)}, v, "")
		}
	}
	var h sample.Histogram
	h.Unit = "nanoseconds"
	for range 100 {
		h.Add(r.Uint64() >> r.IntN(64))
	}
	rec.PutHistogram(sample.HistDevice, sample.Entity{Device: "vda", Class: "read"}, h, "tp:z")
	rec.PutGap(sample.Gap{Source: "locks", Why: "no \xfe", Metrics: []sample.Metric{sample.LockWait, sample.LockHeld}})
	rec.PutGap(sample.Gap{Why: "the host"})
	w := rec.Window(start.Add(time.Second + time.Duration(r.IntN(1000))))
	w.Told = seed%2 == 0
	return &Record{Window: w, Cost: Cost{CPUSeconds: 0.125, RSSBytes: 1 << 25}}
}

func encoded(r *Record) []byte {
	b, _ := encode(nil, r)
	return b
}

// same compares two records to the last bit of every number.
func same(a, b *Record) bool {
	return bytes.Equal(encoded(a), encoded(b)) && a.Window.Start.Equal(b.Window.Start) && a.Window.Length == b.Window.Length
}

// sameWindow compares without the encoder, but for what is not equal to itself.
func sameWindow(t *testing.T, a, b *sample.Window) {
	t.Helper()
	if !reflect.DeepEqual(a.Processes, b.Processes) || !reflect.DeepEqual(a.Files, b.Files) || !reflect.DeepEqual(a.Gaps, b.Gaps) ||
		a.Told != b.Told || !reflect.DeepEqual(a.Metrics(), b.Metrics()) {
		t.Fatalf("processes, files, gaps or metrics differ")
	}
	for _, m := range a.Metrics() {
		a.Each(m, func(e sample.Entity, s *sample.Series) {
			o := b.Get(m, e)
			if o == nil || o.Source != s.Source || len(o.Points) != len(s.Points) {
				t.Fatalf("%s of %v: %v, want %v", m, e, o, s)
			}
			for i, p := range s.Points {
				if q := o.Points[i]; p.At != q.At || math.Float64bits(p.Value) != math.Float64bits(q.Value) {
					t.Errorf("%s of %v: %v at %v, want %v at %v", m, e, q.Value, q.At, p.Value, p.At)
				}
			}
		})
		a.EachHistogram(m, func(e sample.Entity, h *sample.Hist) {
			if o := b.Histogram(m, e); o == nil || *o != *h {
				t.Errorf("the histogram %s of %v differs", m, e)
			}
		})
	}
}

// file is a recording of n windows, and where each record ends.
func file(t testing.TB, n int) (all []byte, ends []int, records []*Record) {
	t.Helper()
	var b bytes.Buffer
	start := time.Unix(1700000000, 123456789)
	w, err := NewWriter(&b, Header{Program: "test", Began: start, Interval: 1, Host: []byte(`{"kernel":"6"}`),
		Sources: []Source{{Name: "locks", Gaps: []sample.Gap{{Why: "none"}}}}, Command: &Command{Name: []byte("a\xff"), PID: 7}})
	require.NoError(t, err)
	ends = append(ends, b.Len())
	for i := range n {
		r := some(uint64(i), start)
		start = start.Add(r.Window.Length)
		require.NoError(t, w.Window(r))
		records = append(records, r)
		ends = append(ends, b.Len())
	}
	require.NoError(t, w.End(End{Run: &Run{Exit: 3, Processes: []Process{{PID: 7, Comm: []byte("a\xff")}}}}))
	if w.Written() != int64(b.Len()) {
		t.Errorf("%d bytes are said to be written, %d are", w.Written(), b.Len())
	}
	return b.Bytes(), append(ends, b.Len()), records
}

// read reads what can be read.
func read(t testing.TB, b []byte) (*Reader, []*Record) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	var all []*Record
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return r, all
		}
		require.NoError(t, err)
		all = append(all, rec)
	}
}

func TestWhatIsReadIsWhatWasWritten(t *testing.T) {
	b, _, want := file(t, 4)
	r, got := read(t, b)
	if len(got) != len(want) {
		t.Fatalf("%d windows, want %d", len(got), len(want))
	}
	for i := range want {
		sameWindow(t, want[i].Window, got[i].Window)
		if !same(want[i], got[i]) || got[i].Cost != want[i].Cost {
			t.Errorf("window %d differs", i)
		}
	}
	h := r.Header()
	if h.Program != "test" || !h.Began.Equal(want[0].Window.Start) || string(h.Host) != `{"kernel":"6"}` || string(h.Command.Name) != "a\xff" || h.Sources[0].Gaps[0].Why != "none" {
		t.Errorf("header %+v", h)
	}
	e, ok := r.End()
	if !ok || e.Windows != 4 || e.Run.Exit != 3 || string(e.Run.Processes[0].Comm) != "a\xff" {
		t.Errorf("end %+v, %v", e, ok)
	}
	if l, more := r.Losses(); len(l)+more > 0 {
		t.Errorf("losses %v", l)
	}
	from, to, err := r.Interval()
	if last := want[3].Window; err != nil || !from.Equal(want[0].Window.Start) || !to.Equal(last.Start.Add(last.Length)) {
		t.Errorf("from %v to %v, %v", from, to, err)
	}
}

// step goes over a file: every byte of the heads, and every 37th of the rest.
func step(n int, ends []int) int {
	for _, end := range append([]int{len(magic)}, ends...) {
		if n >= end-2 && n < end+headSize {
			return 1
		}
		if n < end-2 {
			return min(37, end-2-n)
		}
	}
	return 1
}

// A writer that is killed loses the record that it was writing, and no other.
func TestTruncatedAnywhere(t *testing.T) {
	b, ends, want := file(t, 3)
	for n := len(magic); n < len(b); n += step(n, ends) {
		r, got := read(t, b[:n])
		whole := 0
		atEnd := n == len(magic)
		for i, end := range ends {
			if i > 0 && i <= len(want) && end <= n {
				whole = i
			}
			atEnd = atEnd || end == n
		}
		if len(got) != whole {
			t.Fatalf("cut at %d: %d windows, want %d", n, len(got), whole)
		}
		l, _ := r.Losses()
		if (len(l) == 1) == atEnd || len(l) == 1 && (l[0].Offset+l[0].Bytes != int64(n) || l[0].Why != "it ends within a record") {
			t.Fatalf("cut at %d: losses %v", n, l)
		}
		if _, ok := r.End(); ok {
			t.Fatalf("cut at %d: ended in order", n)
		}
	}
}

// A byte that is wrong costs its record, and what is lost is said.
func TestDamagedAnywhere(t *testing.T) {
	b, ends, want := file(t, 3)
	for n := len(magic); n < len(b); n += step(n, ends) {
		at := 0
		for i, end := range ends {
			if n < end {
				at = i
				break
			}
		}
		bad := bytes.Clone(b)
		bad[n] ^= 0x20
		r, got := read(t, bad)
		var left []*Record
		for i := range want {
			if i+1 != at {
				left = append(left, want[i])
			}
		}
		if len(got) != len(left) {
			t.Fatalf("byte %d: %d windows, want %d", n, len(got), len(left))
		}
		for i := range left {
			if !left[i].Window.Start.Equal(got[i].Window.Start) || !reflect.DeepEqual(left[i].Window.Files, got[i].Window.Files) {
				t.Fatalf("byte %d: window %d is another", n, i)
			}
		}
		l, _ := r.Losses()
		from := len(magic)
		if at > 0 {
			from = ends[at-1]
		}
		if len(l) != 1 || l[0].Offset != int64(from) || l[0].Bytes != int64(ends[at]-from) {
			t.Fatalf("byte %d, in the record from %d to %d: losses %v", n, from, ends[at], l)
		}
		if at == 2 && (!l[0].After.Equal(want[1].Window.Start) || !l[0].Before.Equal(want[2].Window.Start) || !strings.Contains(l[0].String(), "is lost")) {
			t.Fatalf("byte %d: %v", n, l[0])
		}
	}
}

// What is put between two records, marks included, is passed over.
func TestGarbageBetweenRecords(t *testing.T) {
	b, ends, want := file(t, 2)
	garbage := append(bytes.Repeat([]byte(mark), 5), make([]byte, 200_000)...)
	garbage = append(garbage, mark[:5]...)
	r, got := read(t, append(append(bytes.Clone(b[:ends[1]]), garbage...), b[ends[1]:]...))
	l, _ := r.Losses()
	if len(got) != 2 || !same(want[1], got[1]) || len(l) != 1 || l[0].Bytes != int64(len(garbage)) {
		t.Errorf("%d windows, losses %v", len(got), l)
	}
}

func TestOnlyASpan(t *testing.T) {
	b, _, want := file(t, 5)
	for _, c := range []struct {
		from, to time.Time
		want     []*Record
	}{
		{time.Time{}, time.Time{}, want},
		{want[1].Window.Start, want[3].Window.Start, want[1:3]},
		{want[1].Window.Start.Add(400 * time.Millisecond), time.Time{}, want[1:]},
		{want[1].Window.Start.Add(600 * time.Millisecond), time.Time{}, want[2:]},
		{time.Time{}, want[0].Window.Start, nil},
	} {
		r, err := NewReader(bytes.NewReader(b), int64(len(b)))
		require.NoError(t, err)
		r.Only(c.from, c.to)
		n := 0
		for rec, err := r.Next(); err == nil; rec, err = r.Next() {
			if n >= len(c.want) || !same(rec, c.want[n]) {
				t.Fatalf("from %v to %v: window %d is another", c.from, c.to, n)
			}
			n++
		}
		if _, ended := r.End(); n != len(c.want) || !ended {
			t.Errorf("from %v to %v: %d windows, want %d", c.from, c.to, n, len(c.want))
		}
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	for content, want := range map[string]error{
		"":                        ErrFormat,
		"iocause-trace 1\n{}\n":   ErrFormat,
		name + "2\nwhatever":      ErrVersion,
		strings.Repeat("x", 1000): ErrFormat,
	} {
		if _, err := NewReader(strings.NewReader(content), int64(len(content))); !errors.Is(err, want) {
			t.Errorf("%.20q: %v, want %v", content, err, want)
		}
	}
}

// full takes so many bytes and then no more, as a full disk does.
type full struct {
	bytes.Buffer
	room int
}

var errFull = errors.New("no space left on device")

func (f *full) Write(b []byte) (int, error) {
	n := min(len(b), f.room-f.Len())
	f.Buffer.Write(b[:n])
	if n < len(b) {
		return n, errFull
	}
	return n, nil
}

// A full disk is an error, and what was written before can be read.
func TestFullDisk(t *testing.T) {
	_, ends, want := file(t, 3)
	f := &full{room: ends[2] + 100}
	w, err := NewWriter(f, Header{Program: "test", Began: want[0].Window.Start, Interval: 1, Host: []byte(`{"kernel":"6"}`),
		Sources: []Source{{Name: "locks", Gaps: []sample.Gap{{Why: "none"}}}}, Command: &Command{Name: []byte("a\xff"), PID: 7}})
	require.NoError(t, err)
	for i, r := range want {
		if err := w.Window(r); (err == nil) != (i < 2) || err != nil && !errors.Is(err, errFull) {
			t.Errorf("window %d: %v", i, err)
		}
	}
	if _, got := read(t, f.Bytes()); len(got) != 2 {
		t.Errorf("%d windows can be read, want 2", len(got))
	}
}

// Names that nothing refers to are written when they are new, when they change,
// and now and then; whatever the window refers to is in it.
func TestIdleNamesAreWrittenNowAndThen(t *testing.T) {
	var b bytes.Buffer
	start := time.Unix(1700000000, 0)
	w, err := NewWriter(&b, Header{Began: start})
	require.NoError(t, err)
	for i := range 2*again + 1 {
		one := sample.NewWindow(start.Add(time.Duration(i)*time.Second), time.Second)
		one.Processes = map[int]sample.Process{1: {Comm: "busy"}, 2: {Comm: "idle"}, 3: {Comm: "renamed"}}
		if i >= 5 {
			one.Processes[3] = sample.Process{Comm: "again"}
		}
		one.SetSeries(sample.ProcUser, sample.Entity{PID: 1}, &sample.Series{Points: []sample.Point{{Value: 1}}})
		require.NoError(t, w.Window(&Record{Window: one}))
		if len(one.Processes) != 3 {
			t.Fatalf("the window has changed: %v", one.Processes)
		}
	}
	_, all := read(t, b.Bytes())
	for i, r := range all {
		p := r.Window.Processes
		_, idle := p[2]
		_, renamed := p[3]
		if p[1].Comm != "busy" || idle != (i%again == 0) || renamed != (i == 0 || i%again == 5) {
			t.Errorf("window %d has %v", i, p)
		}
	}
}

// machine is a window of a machine with so many processes, of which some did
// something.
func machine(processes, busy int, window int, rec *sample.Recorder, r *rand.Rand) *sample.Window {
	at := time.Unix(1700000000+int64(window), 0)
	rec.At(at)
	for pid := 1; pid <= processes; pid++ {
		e := sample.Entity{PID: pid}
		rec.PutProcess(pid, sample.Process{Comm: fmt.Sprintf("worker-%d", pid%50), MemoryCgroup: fmt.Sprintf("/system.slice/app%d.service", pid%20), IOCgroup: fmt.Sprintf("/system.slice/app%d.service", pid%20)})
		if pid > busy {
			continue
		}
		for _, m := range []sample.Metric{sample.ProcUser, sample.ProcSystem, sample.ProcReadChars, sample.ProcReadCalls, sample.ProcReadBytes, sample.ProcWriteBytes, sample.ProcRSS, sample.ProcThreads} {
			rec.Put(m, e, float64(r.IntN(1<<20)), "/proc/PID/stat")
		}
		id := sample.FileID{Dev: 0xfd00000, Ino: uint64(1000 + pid)}
		rec.PutFile(id, sample.File{Path: fmt.Sprintf("/var/lib/app/data/segment-%d.dat", pid), Size: 1 << 30, Device: "vda"})
		e.File = id
		for _, m := range []sample.Metric{sample.CacheAccesses, sample.CacheMisses, sample.CacheInserted, sample.CacheCalls, sample.CacheWait} {
			rec.Put(m, e, float64(r.IntN(1<<16))/1e3, "tp:mm_filemap_get_pages")
		}
	}
	for i, m := range sample.Catalog() {
		if i%3 == 0 && m.On == "host" {
			rec.Put(m.Metric, sample.Entity{}, float64(r.Int64N(1<<34)), "/proc/vmstat")
		}
	}
	return rec.NextWindow(at)
}

// TestManyProcesses reads a window of as many busy processes as one of fifteen seconds has
// where 100,000 start and end in a minute.
func TestManyProcesses(t *testing.T) {
	const processes = 25_000
	window := machine(processes, processes, 0, sample.NewRecorder(time.Unix(1700000000, 0)), rand.New(rand.NewPCG(1, 2)))
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{Program: "test", Began: window.Start, Interval: 15})
	require.NoError(t, err)
	require.NoError(t, w.Window(&Record{Window: window}))
	require.NoError(t, w.End(End{}))
	r, records := read(t, b.Bytes())
	if losses, _ := r.Losses(); len(losses) > 0 || len(records) != 1 {
		t.Fatalf("%d windows, lost: %+v", len(records), losses)
	}
	if got := len(records[0].Window.Processes); got != processes {
		t.Errorf("%d processes of %d", got, processes)
	}
}

// TestWindowThatReadersRefuse writes one of so many busy processes that a reader would not
// believe it: what it has of the machine is read, the rest is told as a gap, and the next
// window has all.
func TestWindowThatReadersRefuse(t *testing.T) {
	rec, random := sample.NewRecorder(time.Unix(1700000000, 0)), rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{Program: "test", Began: time.Unix(1700000000, 0), Interval: 1})
	require.NoError(t, err)
	large := machine(50_000, 50_000, 0, rec, random)
	require.NoError(t, w.Window(&Record{Window: large}))
	require.NoError(t, w.Window(&Record{Window: machine(50_000, 100, 1, rec, random)}))
	require.NoError(t, w.End(End{}))
	r, records := read(t, b.Bytes())
	if losses, _ := r.Losses(); len(losses) > 0 || len(records) != 2 {
		t.Fatalf("%d windows, lost: %+v", len(records), losses)
	}
	kept, machines := records[0].Window, 0
	for _, m := range large.Metrics() {
		large.Each(m, func(e sample.Entity, s *sample.Series) {
			if got := kept.Get(m, e); (got != nil) != (e == sample.Entity{}) {
				t.Fatalf("%s of %+v: %v", m, e, got)
			} else if got != nil && fmt.Sprint(got.Points) == fmt.Sprint(s.Points) {
				machines++
			}
		})
	}
	if n := len(kept.Metrics()); machines == 0 || machines != n || len(kept.Processes)+len(kept.Files) > 0 {
		t.Errorf("%d of %d figures of the machine are as they were; %d processes, %d files", machines, n, len(kept.Processes), len(kept.Files))
	}
	if why := kept.WhyAbsent(sample.ProcUser); !strings.Contains(why, "50000 processes and 50000 files") {
		t.Errorf("why there are no figures of processes: %q", why)
	}
	if got := records[1].Window; len(got.Processes) != 50_000 || !got.Has(sample.ProcUser) || len(got.Gaps) > 0 {
		t.Errorf("the next window has %d processes, %v", len(got.Processes), got.Gaps)
	}
}

// TestMemoryIsForeseen: the writer counts what the reader will.
func TestMemoryIsForeseen(t *testing.T) {
	for _, r := range []*Record{some(1, time.Unix(1, 0)), some(2, time.Unix(1, 0)), {Window: machine(500, 100, 0, sample.NewRecorder(time.Unix(1700000000, 0)), rand.New(rand.NewPCG(1, 2)))}} {
		b, memory := encode(nil, r)
		d := &decoder{rest: b, texts: []string{""}}
		_, err := d.record(r.Window.Start, r.Window.Length)
		require.NoError(t, err)
		if memory != d.spent || memory == 0 {
			t.Errorf("%d bytes are foreseen, %d are counted", memory, d.spent)
		}
	}
}

// Bytes and time of a window by processes on the machine, and of these by how
// many did something.
func BenchmarkWindow(b *testing.B) {
	for _, n := range [][2]int{{100, 5}, {100, 100}, {1000, 20}, {1000, 200}, {10_000, 200}} {
		b.Run(fmt.Sprintf("%d,busy=%d", n[0], n[1]), func(b *testing.B) {
			w, err := NewWriter(io.Discard, Header{})
			require.NoError(b, err)
			rec, r := sample.NewRecorder(time.Unix(1700000000, 0)), rand.New(rand.NewPCG(1, 1))
			head := w.Written()
			window := 0
			for b.Loop() {
				b.StopTimer()
				window++
				x := machine(n[0], n[1], window, rec, r)
				b.StartTimer()
				require.NoError(b, w.Window(&Record{Window: x}))
			}
			b.ReportMetric(float64(w.Written()-head)/float64(window), "B/window")
		})
	}
}

func FuzzReader(f *testing.F) {
	b, ends, _ := file(f, 2)
	f.Add(b)
	f.Add(b[:ends[1]+50])
	f.Add(append(bytes.Clone(b[:ends[0]]), b[ends[1]:]...))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		for range 1000 {
			rec, err := r.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				t.Fatalf("an error that is not the file's: %v", err)
			}
			rec.Window.Metrics()
		}
	})
}

// Whatever can be decoded is written and read again as the same.
func FuzzDecode(f *testing.F) {
	start := time.Unix(1, 0)
	f.Add(encoded(some(1, start)))
	f.Add(encoded(some(2, start)))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decode(b, start, time.Second)
		if err != nil {
			return
		}
		again, err := decode(encoded(r), start, time.Second)
		if err != nil || !same(r, again) {
			t.Fatalf("written and read again it is another: %v", err)
		}
	})
}

// Content that a checksum vouches for may still be nonsense: it is refused, or
// is a window that can be written and read again.
func TestMutatedContent(t *testing.T) {
	start := time.Unix(1, 0)
	good := encoded(some(1, start))
	r := rand.New(rand.NewPCG(7, 7))
	refused := 0
	for range 2000 {
		b := bytes.Clone(good)
		for range 1 + r.IntN(4) {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		if r.IntN(4) == 0 {
			b = b[:r.IntN(len(b))]
		}
		got, err := decode(b, start, time.Second)
		if err != nil {
			refused++
			continue
		}
		if again, err := decode(encoded(got), start, time.Second); err != nil || !same(got, again) {
			t.Fatalf("written and read again it is another: %v", err)
		}
	}
	if refused == 0 || refused == 2000 {
		t.Errorf("%d of 2000 were refused", refused)
	}
}
