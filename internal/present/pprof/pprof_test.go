package pprof

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	rpprof "runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"iocause/internal/sample"
)

func some() *sample.Profile {
	outer, inner := sample.Frame{Name: "main", Module: "app", File: "/bin/app"}, sample.Frame{Name: "vfs_read", Module: "kernel", Kernel: true}
	return &sample.Profile{
		Title: "Where threads wait", Counts: "waits", Begin: time.Unix(1700000000, 0), Length: 10 * time.Second,
		Notes: []string{"a note"},
		Stacks: []sample.Stack{
			{PID: 7, TID: 8, Process: "app\n<b>", Thread: "worker", State: "disk", Frames: []*sample.Frame{&outer, &inner}, Time: 1500 * time.Millisecond, Count: 3},
			{PID: 7, TID: 9, Process: "app\n<b>", State: "idle", Frames: []*sample.Frame{&outer, {}}, Time: time.Second, Count: 2},
			{},
		},
	}
}

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, some()); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.SampleType) != 2 || p.SampleType[0].Type != "waits" || p.SampleType[1].Unit != "nanoseconds" || p.DefaultSampleType != "time" {
		t.Errorf("figures %+v, %q", p.SampleType, p.DefaultSampleType)
	}
	s := p.Sample[0]
	if s.Value[0] != 3 || s.Value[1] != 1500e6 || s.Label["state"][0] != "disk" || s.Label["thread"][0] != "worker" || s.NumLabel["tid"][0] != 8 {
		t.Errorf("%+v", s)
	}
	if got := s.Location[0].Line[0].Function.Name; got != "vfs_read" {
		t.Errorf("innermost function %q", got)
	}
	if p.DurationNanos != 10e9 || p.TimeNanos != 1700000000e9 {
		t.Errorf("%d ns from %d", p.DurationNanos, p.TimeNanos)
	}
}

// The tool itself reads it.
func TestToolReadsIt(t *testing.T) {
	name := filepath.Join(t.TempDir(), "waits.pb.gz")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(f, some()); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "tool", "pprof", "-top", "-nodecount=5", name).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"Type: time", "1.50s 60.00%", "vfs_read", "2.50s   100%"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	out, err = exec.Command("go", "tool", "pprof", "-tags", name).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "disk") || !strings.Contains(string(out), "worker") {
		t.Errorf("%v\n%s", err, out)
	}
}

// What was written is read back: times, counts, labels and functions.
func TestRead(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, some()); err != nil {
		t.Fatal(err)
	}
	if !Looks(b.Bytes()) {
		t.Error("it is not recognised")
	}
	whole := b.Bytes()
	p, err := Read(bytes.NewReader(whole), "")
	if err != nil {
		t.Fatal(err)
	}
	s := p.Stacks[0]
	if p.Unit != "" || p.Length != 10*time.Second || s.Process != "app\n<b>" || s.Thread != "worker" || s.State != "disk" || s.Time != 1500*time.Millisecond || s.Count != 3 {
		t.Errorf("%+v", s)
	}
	if len(s.Frames) != 2 || s.Frames[0].Name != "main" || s.Frames[0].Module != "app" || s.Frames[1].Name != "vfs_read" || !s.Frames[1].Kernel || s.Frames[0].Kernel {
		t.Errorf("%+v %+v", s.Frames[0], s.Frames[len(s.Frames)-1])
	}
	if p, err = Read(bytes.NewReader(whole), "waits"); err != nil || p.Unit != "waits" || p.Stacks[0].Count != 3 || p.Stacks[0].Time != 0 {
		t.Errorf("%v, %+v", err, p)
	}
	if _, err = Read(bytes.NewReader(whole), "no"); err == nil || err.Error() != `it has no value "no"; it has waits, time` {
		t.Errorf("%v", err)
	}
	if _, err = Read(bytes.NewReader(whole[:len(whole)/2]), ""); err == nil {
		t.Error("half a profile is read")
	}
}

// A profile that Go's runtime wrote, unpacked.
func TestReadGo(t *testing.T) {
	var b bytes.Buffer
	if err := rpprof.Lookup("goroutine").WriteTo(&b, 0); err != nil {
		t.Fatal(err)
	}
	p, err := Read(&b, "")
	if err != nil {
		t.Fatal(err)
	}
	var all uint64
	named := false
	for _, s := range p.Stacks {
		all += s.Count
		for _, f := range s.Frames {
			named = named || f.Name == "iocause/internal/present/pprof.TestReadGo"
		}
	}
	if p.Unit != "goroutine" || all < 2 || !named {
		t.Errorf("%d of %s, this test among them: %v", all, p.Unit, named)
	}
}

// Profiles as text, which came before the format and pass for folded stacks.
func TestReadText(t *testing.T) {
	keep := make([][]byte, 0, 1000)
	for range cap(keep) {
		keep = append(keep, make([]byte, 64<<10))
	}
	runtime.GC() // the heap's profile is of the last collection but one
	runtime.GC()
	for _, name := range []string{"heap", "goroutine", "threadcreate"} {
		var b bytes.Buffer
		if err := rpprof.Lookup(name).WriteTo(&b, 1); err != nil {
			t.Fatal(err)
		}
		if !Looks(b.Bytes()) {
			t.Fatalf("%s is not known: %.80q", name, b.Bytes())
		}
		p, err := Read(&b, "")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var all uint64
		for _, s := range p.Stacks {
			all += s.Count
			if len(s.Frames) > 0 && !strings.HasPrefix(s.Frames[0].Name, "0x") {
				t.Errorf("%s: a frame %q, want an address", name, s.Frames[0].Name)
			}
		}
		if all == 0 || name == "heap" && all < 64<<20/2 {
			t.Errorf("%s: %d %s in all", name, all, p.Unit)
		}
	}
	runtime.KeepAlive(keep)
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	if err := Write(&b, some()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Read(bytes.NewReader(data), "")
		if err != nil {
			return
		}
		for _, s := range p.Stacks {
			if s.Time < 0 {
				t.Errorf("%+v", s)
			}
		}
	})
}

// A profile of zeros is refused before it takes memory.
func TestReadOfZeros(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for range 200 {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Read(&packed, "")
	runtime.ReadMemStats(&after)
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; !errors.Is(err, ErrLarge) || mb > 20 {
		t.Errorf("%v, %d MB", err, mb)
	}
}
