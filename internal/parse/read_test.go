package parse

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"iocause/internal/require"
	"iocause/internal/sample"
)

func read(t testing.TB, text string) *Text {
	t.Helper()
	r := Reader{Tools: List()}
	got, err := r.Read(context.Background(), "a.txt", strings.NewReader(text))
	require.NoError(t, err)
	return got
}

// fixtures are the texts of all readers.
func fixtures(t testing.TB) map[string]string {
	t.Helper()
	names, err := filepath.Glob("*/testdata/*.txt")
	if err != nil || len(names) < 50 {
		t.Fatalf("%d fixtures: %v", len(names), err)
	}
	out := map[string]string{}
	for _, n := range names {
		b, err := os.ReadFile(n)
		require.NoError(t, err)
		out[n] = string(b)
	}
	return out
}

// Every fixture is found to be what it is, and every line has one fate.
func TestRecognition(t *testing.T) {
	for name, text := range fixtures(t) {
		got := read(t, text)
		tool, _, _ := strings.Cut(name, "/")
		if len(got.Blocks) == 0 {
			t.Errorf("%s: nothing is recognised", name)
		}
		lines := got.Outside
		for _, b := range got.Blocks {
			if b.Tool != tool {
				t.Errorf("%s: lines %d to %d are taken for %s", name, b.First, b.Last, b.Tool)
			}
			lines += b.Used + b.Skipped + b.Broken
		}
		if lines != got.Lines {
			t.Errorf("%s: %d lines have a fate, of %d", name, lines, got.Lines)
		}
		if got.Faulty > 0 && tool != "cachestat" {
			t.Errorf("%s: %v", name, got.Faults)
		}
	}
}

// Text around the outputs, on the same lines as well, changes nothing.
func TestProseAround(t *testing.T) {
	for name, text := range fixtures(t) {
		if strings.HasSuffix(name, "json-3.33.txt") || strings.HasPrefix(name, "settings/") || strings.HasPrefix(name, "dmesg/") {
			continue // made of single lines, or of braces
		}
		plain := read(t, text)
		around := read(t, "We looked at the machine and saw this.\nIt began at noon (12:00:01).\n\n"+text+"\nThat was all of it, 3 times.\nNothing more.\n")
		if len(plain.Blocks) != len(around.Blocks) {
			t.Errorf("%s: %d outputs alone, %d with prose around", name, len(plain.Blocks), len(around.Blocks))
			continue
		}
		for i, b := range plain.Blocks {
			if a := around.Blocks[i]; a.Used != b.Used || a.Intervals != b.Intervals || len(a.series) != len(b.series) {
				t.Errorf("%s: with prose around %+v, alone %+v", name, a, b)
			}
		}
	}
}

// muchText leaves a test that reads much text, with one goroutine at a time, to the
// run without the race detector.
func muchText(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("reads much text, one goroutine at a time")
	}
}

// A text of any length is kept in bounded memory, at a coarser grain.
func TestLongText(t *testing.T) {
	muchText(t)
	const reports = 20000
	in, out := io.Pipe()
	go func() {
		for range reports {
			io.WriteString(out, "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n 10.00 0.00 0.00 5.00 0.00 85.00\n\n"+
				"Device: r/s w/s rkB/s wkB/s avgqu-sz await svctm %util\nsda 100.00 0.00 400.00 0.00 1.00 10.00 1.00 100.00\n\n")
		}
		out.Close()
	}()
	r := Reader{Tools: List()}
	got, err := r.Read(context.Background(), "long", in)
	if err != nil || len(got.Blocks) != 1 {
		t.Fatalf("%d outputs, %v", len(got.Blocks), err)
	}
	b := got.Blocks[0]
	s := b.series[key{sample.DiskReads, sample.Entity{Device: "sda"}}]
	total := 0.0
	for _, p := range s.points {
		total += p.Value
	}
	if b.Intervals != reports || total != 100*reports || len(s.points) > maxIntervals || b.Merged < 2 {
		t.Errorf("%d intervals with %g reads in %d points, %d merged", b.Intervals, total, len(s.points), b.Merged)
	}
}

// Many devices over a long time are kept in bounded memory as well.
func TestManySeries(t *testing.T) {
	muchText(t)
	in, out := io.Pipe()
	go func() {
		row := strings.Repeat("x", 8)
		for range 60 {
			io.WriteString(out, "Device: r/s w/s rkB/s wkB/s avgqu-sz await svctm %util\n")
			for d := range 2000 {
				io.WriteString(out, row+strconv.Itoa(d)+" 100.00 0.00 400.00 0.00 1.00 10.00 1.00 100.00\n")
			}
			io.WriteString(out, "\n")
		}
		out.Close()
	}()
	r := Reader{Tools: List()}
	got, err := r.Read(context.Background(), "wide", in)
	if err != nil || len(got.Blocks) != 1 {
		t.Fatalf("%d outputs, %v", len(got.Blocks), err)
	}
	points := 0
	for _, s := range got.Blocks[0].series {
		points += len(s.points)
	}
	if b := got.Blocks[0]; points > maxPoints || b.Merged < 2 || b.Intervals != 60 || len(b.series) < 16000 {
		t.Errorf("%d points of %d series in %d intervals, %d merged", points, len(b.series), b.Intervals, b.Merged)
	}
}

// Endless lines and endless nothing.
func TestLongLines(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := Reader{Tools: List()}
	got, err := r.Read(context.Background(), "-", io.MultiReader(io.LimitReader(zeros{}, 64<<20), strings.NewReader("\nvm.dirty_ratio = 30\n")))
	runtime.ReadMemStats(&after)
	if err != nil || got.Long != 1 || got.Lines != 2 || len(got.Blocks) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("a line of 64 MiB took %d bytes", used)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := Reader{Tools: List()}
	got, err := r.Read(ctx, "-", io.LimitReader(newlines{}, 1<<20))
	if err == nil || got.Lines == 0 || got.Lines > 5000 {
		t.Errorf("%d lines, %v", got.Lines, err)
	}
}

type newlines struct{}

func (newlines) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '\n'
	}
	return len(p), nil
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain\r\n": "plain", "a\tb": "a b", "\x1b[1;31mred\x1b[0m\n": "red", "\x1b]0;title\x07x": "x", "\x1b]0;t\x1b\\x": "x",
		"&gt; sda &lt;1&gt;&nbsp;2": "sda <1> 2", "a\u200bb\u2009c\u00add": "ab cd", "a & b": "a & b",
		"a\u00a0b": "a b", "a\u202fb": "a b", "\ufeffa": "a",
		"> sda 1": "sda 1", "> >  sda": " sda", ">>\n": "", ">=(ms) .. <(ms)": ">=(ms) .. <(ms)", "  x > 4": "  x > 4", "->": "->", "\x1b": "", "\x1b[": "", "a\x00b": "ab", "\u00e9": "\u00e9",
	} {
		if got := clean([]byte(in)); got != want {
			t.Errorf("%q is cleaned to %q, want %q", in, got, want)
		}
	}
}

// A text whose lines end in CR alone.
func TestCarriageReturns(t *testing.T) {
	got := read(t, "Device: r/s w/s rkB/s wkB/s avgqu-sz await svctm %util\rsda 100.00 0.00 400.00 0.00 1.00 10.00 1.00 100.00\r")
	if len(got.Blocks) != 1 || got.Blocks[0].Used != 2 || got.Lines != 2 {
		t.Errorf("%+v", got)
	}
}

// Long lines cost no more than their bytes, whatever words are in them.
func TestLongLinesOfWords(t *testing.T) {
	if testing.Short() {
		t.Skip("compares times, which the race detector changes")
	}
	line := strings.Repeat("error timeout sda: I/O Device reset 12+3 records IOPS= PRIO READS = ", 4000) + "\n"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	for range 400 { // 100 MB
		if _, err := z.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	z.Close()
	begun := time.Now()
	got, err := (&Reader{Tools: List()}).Read(t.Context(), "x.gz", &packed)
	if took := time.Since(begun); err != nil || got.Lines != 400 || took > 20*time.Second {
		t.Errorf("%d lines in %s, %v", got.Lines, took, err)
	}
}

// The same tool again is another situation; the same state is not.
func TestCases(t *testing.T) {
	const (
		low  = "    HITS   MISSES  DIRTIES    RATIO   BUFFERS_MB   CACHE_MB\n 100 900 0 10% 1 100\n 100 900 0 10% 1 100\n"
		high = "    HITS   MISSES  DIRTIES    RATIO   BUFFERS_MB   CACHE_MB\n 1000 0 0 100% 1 100\n"
		a    = "available memory : 100 MB\n"
		b    = "available memory : 200 MB\n"
	)
	for text, want := range map[string]int{
		low: 1, low + "\nthen\n" + high: 2, a + low + "then\n" + b + high: 2, a + low + "then\n" + a: 1, low + "then\n" + a + "then\n" + b: 1, a: 1,
	} {
		got, left := Cases([]*Text{read(t, text)}, false)
		if len(got) != want || left != 0 {
			t.Errorf("%q has %d cases, want %d", text, len(got), want)
		}
		if one, _ := Cases([]*Text{read(t, text)}, true); len(one) != 1 {
			t.Errorf("%q has %d cases in one", text, len(one))
		}
	}
	// several files of one case each are one
	if got, _ := Cases([]*Text{read(t, low), read(t, a)}, false); len(got) != 1 {
		t.Errorf("two files have %d cases", len(got))
	}
}

// Tools that watched for different times keep their rates.
func TestRatesOfDifferentTimes(t *testing.T) {
	text := "$ cachestat 1\n    HITS   MISSES  DIRTIES    RATIO   BUFFERS_MB   CACHE_MB\n 10 90 0 10% 1 100\n 10 90 0 10% 1 100\n 10 90 0 10% 1 100\n 10 90 0 10% 1 100\n" +
		"$ iostat -x 1\nDevice: r/s w/s rkB/s wkB/s avgqu-sz await svctm %util\nsda 100.00 0.00 400.00 0.00 1.00 10.00 1.00 100.00\n"
	cases, _ := Cases([]*Text{read(t, text)}, false)
	w := cases[0].Window
	reads, _ := w.Sum(sample.DiskReads, sample.Entity{Device: "sda"})
	accesses, _ := w.Sum(sample.CacheAccesses, sample.Entity{})
	if w.Seconds() != 4 || reads != 400 || accesses != 400 {
		t.Errorf("in %g s %g reads and %g accesses, want 4 s, 400 and 400", w.Seconds(), reads, accesses)
	}
	if at := w.Get(sample.DiskReads, sample.Entity{Device: "sda"}).Source; at != "a.txt:9" {
		t.Errorf("reads are from %s, want a.txt:9", at)
	}
}

// Tools that one reader reads watch at the same time: each keeps its rates.
func TestRatesOfOneReader(t *testing.T) {
	text := "$ mpstat 1 1\n12:00:00 CPU %usr %nice %sys %iowait %irq %soft %steal %guest %gnice %idle\n12:00:01 all 5 0 5 40 0 0 0 0 0 50\n" +
		"$ sar -d 1 1\n12:00:10 DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util\n12:00:11 sda 200 800 0 0 4 8.00 40.00 100.00\n"
	cases, _ := Cases([]*Text{read(t, text)}, false)
	w := cases[0].Window
	busy, _ := w.Sum(sample.DiskBusy, sample.Entity{Device: "sda"})
	flight, _ := w.Sum(sample.DiskWeighted, sample.Entity{Device: "sda"})
	wait, _ := w.Sum(sample.CPUIOWait, sample.Entity{})
	if len(cases) != 1 || w.Seconds() != 1 || busy != 1 || flight != 8 || wait != .4 {
		t.Errorf("%d cases of %g s, the disk is busy for %g s with %g in flight, processors wait for %g s, want 1, 1, 1, 8 and 0.4", len(cases), w.Seconds(), busy, flight, wait)
	}
}

// Other text between two files of pressure leaves each its own.
func TestPressureInPieces(t *testing.T) {
	text := "$ cat /proc/pressure/cpu\nsome avg10=20.00 avg60=0 avg300=0 total=1\n$ uptime\n up 3 days\n$ cat /proc/pressure/io\nsome avg10=60.00 avg60=0 avg300=0 total=1\n"
	cases, _ := Cases([]*Text{read(t, text)}, false)
	w := cases[0].Window
	cpu, _ := w.Sum(sample.PSISome, sample.Entity{Class: "cpu"})
	io, _ := w.Sum(sample.PSISome, sample.Entity{Class: sample.ClassIO})
	if len(cases) != 1 || w.Seconds() != 10 || cpu != 2 || io != 6 {
		t.Errorf("%d cases of %g s with pressure of %g and %g s, want 1, 10, 2 and 6", len(cases), w.Seconds(), cpu, io)
	}
}

// Shares of all processors are of as many as another tool tells.
func TestShareOfAllProcessors(t *testing.T) {
	text := "Linux 6.1.0 (db) 11/21/26 _x86_64_ (16 CPU)\n\navg-cpu:  %user   %nice %system %iowait  %steal   %idle\n 10.00 0.00 0.00 5.00 0.00 85.00\n\n" +
		"$ vmstat 1 4\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n" + strings.Repeat(" 1 0 0 400 400 400 0 0 0 0 1 1 5 5 50 40 0\n", 4)
	cases, _ := Cases([]*Text{read(t, text)}, false)
	w := cases[0].Window
	wait, _ := w.Sum(sample.CPUIOWait, sample.Entity{})
	n, _ := w.Value(sample.CPUCount, sample.Entity{})
	if got := wait / w.Seconds(); len(cases) != 1 || n != 16 || got < 6.399 || got > 6.401 {
		t.Errorf("%d cases, %g of %g processors wait, want 6.4 of 16", len(cases), got, n)
	}
}

// In one case, a tool's outputs follow each other.
func TestOneCase(t *testing.T) {
	const look = "Device: r/s w/s rkB/s wkB/s avgqu-sz await svctm %util\nsda 100.00 0.00 400.00 0.00 1.00 10.00 1.00 100.00\n\nat noon\navailable memory : 5 MB\nthen\n"
	cases, _ := Cases([]*Text{read(t, look+strings.ReplaceAll(look, "100.00 0.00 400", "300.00 0.00 400"))}, true)
	w := cases[0].Window
	reads, _ := w.Sum(sample.DiskReads, sample.Entity{Device: "sda"})
	if len(cases) != 1 || w.Seconds() != 2 || reads != 400 {
		t.Errorf("%d cases, %g reads in %g s, want 1, 400 and 2", len(cases), reads, w.Seconds())
	}
	if s := w.Get(sample.DiskReads, sample.Entity{Device: "sda"}); s.Source != "a.txt:2-8" || s.Points[1].At.Seconds() != 2 {
		t.Errorf("reads are %+v", s)
	}
}

// What a text lacks is a gap that says what to run next.
func TestGapsSayWhatToRun(t *testing.T) {
	cases, _ := Cases([]*Text{read(t, "Mem: 1\navailable memory : 100 MB\n")}, false)
	why := cases[0].Window.WhyAbsent(sample.BlockOps)
	if !strings.Contains(why, "paste iostat -xz 1 5") {
		t.Errorf("devices are absent because %s", why)
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range fixtures(f) {
		f.Add([]byte(text))
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write([]byte("available memory : 1 MB\n")); err != nil {
		f.Fatal(err)
	}
	w.Close()
	f.Add(z.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		r := Reader{Tools: List()}
		got, _ := r.Read(context.Background(), "fuzz", bytes.NewReader(b))
		cases, _ := Cases([]*Text{got}, false)
		for _, c := range cases {
			if c.Window == nil || c.Window.Seconds() <= 0 {
				t.Errorf("a case has no time")
			}
		}
	})
}
