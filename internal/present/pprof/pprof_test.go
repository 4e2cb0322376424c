package pprof

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	parsed "iocause/internal/parse/pprof"
	"iocause/internal/require"
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
	require.NoError(t, Write(&b, some()))
	p, err := profile.Parse(&b)
	require.NoError(t, err)
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
	require.NoError(t, err)
	require.NoError(t, Write(f, some()))
	require.NoError(t, f.Close())
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
	require.NoError(t, Write(&b, some()))
	if !parsed.Looks(b.Bytes()) {
		t.Error("it is not recognised")
	}
	whole := b.Bytes()
	p, err := parsed.Read(bytes.NewReader(whole), "")
	require.NoError(t, err)
	s := p.Stacks[0]
	if p.Unit != "" || p.Length != 10*time.Second || s.Process != "app\n<b>" || s.Thread != "worker" || s.State != "disk" || s.Time != 1500*time.Millisecond || s.Count != 3 {
		t.Errorf("%+v", s)
	}
	if len(s.Frames) != 2 || s.Frames[0].Name != "main" || s.Frames[0].Module != "app" || s.Frames[1].Name != "vfs_read" || !s.Frames[1].Kernel || s.Frames[0].Kernel {
		t.Errorf("%+v %+v", s.Frames[0], s.Frames[len(s.Frames)-1])
	}
	if p, err = parsed.Read(bytes.NewReader(whole), "waits"); err != nil || p.Unit != "waits" || p.Stacks[0].Count != 3 || p.Stacks[0].Time != 0 {
		t.Errorf("%v, %+v", err, p)
	}
	if _, err = parsed.Read(bytes.NewReader(whole), "no"); err == nil || err.Error() != `it has no value "no"; it has waits, time` {
		t.Errorf("%v", err)
	}
	if _, err = parsed.Read(bytes.NewReader(whole[:len(whole)/2]), ""); err == nil {
		t.Error("half a profile is read")
	}
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	require.NoError(f, Write(&b, some()))
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parsed.Read(bytes.NewReader(data), "")
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
