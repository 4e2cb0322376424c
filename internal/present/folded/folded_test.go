package folded

import (
	"reflect"
	"strings"
	"testing"
	"time"

	parsed "iocause/internal/parse/folded"
	"iocause/internal/require"
	"iocause/internal/sample"
)

func profile() *sample.Profile {
	frames := []*sample.Frame{{Name: "main"}, {Name: "operator;\n<b>", Module: "x"}, {Name: "vfs_read", Kernel: true}}
	return &sample.Profile{Counts: "waits", Stacks: []sample.Stack{
		{Process: "cat", Thread: "one", State: "disk", Frames: frames, Time: 1500 * time.Microsecond, Count: 3},
		{Process: "cat", Thread: "two", State: "disk", Frames: frames, Time: 400 * time.Nanosecond, Count: 1},
		{Process: "cat", State: "mutex", Frames: frames[:1], Time: 100 * time.Nanosecond, Count: 1},
		{Process: "", State: "idle", Time: 7 * time.Microsecond, Count: 1},
	}}
}

func TestWrite(t *testing.T) {
	var b strings.Builder
	require.NoError(t, Write(&b, profile()))
	const want = "?;[idle] 7\n" +
		"cat;main;[mutex] 1\n" +
		"cat;main;operator:\\u000a<b>;vfs_read_[k];[disk] 1500\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	p := profile()
	p.Counts = "samples"
	b.Reset()
	require.NoError(t, Write(&b, p))
	if !strings.Contains(b.String(), "vfs_read_[k];[disk] 4\n") {
		t.Errorf("samples: %s", b.String())
	}
}

func TestReadWhatWasWritten(t *testing.T) {
	var b strings.Builder
	require.NoError(t, Write(&b, profile()))
	p, err := parsed.Read(strings.NewReader(b.String()), []string{"disk", "mutex", "idle"})
	require.NoError(t, err)
	if !reflect.DeepEqual(p.States, []string{"disk", "mutex", "idle"}) {
		t.Errorf("states %q", p.States)
	}
	s := p.Stacks[2]
	if s.Process != "cat" || s.State != "disk" || s.Time != 1500*time.Microsecond || len(s.Frames) != 3 || *s.Frames[2] != (sample.Frame{Name: "vfs_read", Kernel: true}) {
		t.Errorf("%+v", s)
	}
}

func TestRead(t *testing.T) {
	p, err := parsed.Read(strings.NewReader("# a remark\n\na;b c;[unknown] 12\na 3.5\n"), []string{"disk"})
	require.NoError(t, err)
	if len(p.Stacks) != 2 || p.Stacks[0].Frames[0].Name != "b c" || p.Stacks[0].Frames[1].Name != "[unknown]" || p.Stacks[1].Time != 3500*time.Nanosecond {
		t.Errorf("%+v", p.Stacks)
	}
	for _, bad := range []string{"", "a;b\n", "a;b x\n", "a -1\n", "a NaN\n", "a 1e300\n"} {
		if _, err := parsed.Read(strings.NewReader(bad), nil); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("a;b;[disk] 12\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsed.Read(strings.NewReader(text), []string{"disk"})
		if err != nil {
			return
		}
		var b strings.Builder
		require.NoError(t, Write(&b, p))
		if _, err := parsed.Read(strings.NewReader(b.String()), []string{"disk", ""}); err != nil {
			t.Errorf("%q, written from %q: %v", b.String(), text, err)
		}
	})
}

// TestPlain puts every byte into every place of a name: what clean changes is never plain.
func TestPlain(t *testing.T) {
	plains := 0
	for place := range 17 {
		for c := range 256 {
			name := []byte("operator_new~ 9Z!")
			name[place] = byte(c)
			asks := strings.ContainsFunc(string(name), func(r rune) bool { return r < ' ' || r > '~' || r == ';' })
			got := plain(string(name))
			if got && asks {
				t.Errorf("%q is plain", name)
			}
			if got {
				plains++
			}
		}
	}
	if plains < 17*('~'-' '-3) {
		t.Errorf("%d names are plain", plains)
	}
}
