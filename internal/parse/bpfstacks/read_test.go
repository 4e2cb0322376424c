package bpfstacks

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/parse/lines/linestest"
	"iocause/internal/require"
)

func fixture(t *testing.T, name string, o Options) *Result {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	if !Looks(text) {
		t.Errorf("%s is not recognised", name)
	}
	o.Name = name
	res, err := Read(strings.NewReader(string(text)), o)
	require.NoError(t, err)
	if n := strings.Count(string(text), "\n"); res.Used+res.Skipped+res.Unknown != n || res.Unknown > 0 {
		t.Errorf("%d used, %d skipped, %d not understood of %d lines: %q", res.Used, res.Skipped, res.Unknown, n, res.Bad)
	}
	return res
}

// What offcputime of libbpf-tools printed: microseconds without a title.
func TestOffcputime(t *testing.T) {
	p := fixture(t, "offcputime.stacks", Options{}).Profile
	s := p.Stacks[0]
	if p.Unit != "" || s.Process != "kworker/u8:4" || s.PID != 13214 || s.Time != 175833*time.Microsecond || len(s.Frames) != 9 || s.Frames[0].Name != "ret_from_fork_asm" || s.Frames[8].Name != "bpf_prog_6896d07dd3e1383c_sched_switch" {
		t.Errorf("unit %q, %+v", p.Unit, s)
	}
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "cut off") {
		t.Errorf("%q", p.Notes)
	}
}

// Maps of bpftrace: with one stack and with two, with and without a user's.
func TestBpftrace(t *testing.T) {
	p := fixture(t, "bpftrace.stacks", Options{}).Profile
	if p.Unit != "events" || p.Stacks[0].Process != "go" || p.Stacks[0].Count != 1 || p.Stacks[0].Frames[0].Name != "entry_SYSCALL_64_after_hwframe" {
		t.Errorf("unit %q, %+v", p.Unit, p.Stacks[0])
	}
	if len(p.Notes) == 0 || !strings.Contains(p.Notes[0], "entries of @io are left out") {
		t.Errorf("%q", p.Notes)
	}
	p = fixture(t, "bpftrace.stacks", Options{Map: "@io"}).Profile
	var all uint64
	for _, s := range p.Stacks {
		if s.Process == "kworker/1:1H" && (len(s.Frames) != 3 || s.Count != 10600448) {
			t.Errorf("%+v", s)
		}
		all += s.Count
	}
	if p.Unit != "io" || all < 10600448 || p.Stacks[0].Frames[0].Name != "syscall.Syscall6" {
		t.Errorf("unit %q, %d in all, %+v", p.Unit, all, p.Stacks[0])
	}
}

// Layouts of bcc: old, where the command is the last line; with a delimiter;
// without commands.
func TestLayouts(t *testing.T) {
	for name, c := range map[string]struct {
		text, process, frames, unit string
		time                        time.Duration
		count                       uint64
	}{
		"old":        {"Tracing off-CPU time (us) of all threads by kernel stack... Hit Ctrl-C to end.\n^C\n    schedule\n    run\n    a b\n        13\n", "a b", "run;schedule", "", 13 * time.Microsecond, 1},
		"delimiter":  {"Sampling at 49 Hertz of all threads by user + kernel stack for 2 secs.\n\n    f+0x1\n    --\n    g\n    -                x (y) (12)\n        4\n", "x (y)", "g;f", "samples", 0, 4},
		"stackcount": {"Tracing 1 functions for \"submit_bio\"... Hit Ctrl-C to end.\n  submit_bio\n  main\n    36\n", "", "main;submit_bio", "events", 0, 36},
		"maps in ns": {"@ns[\n    f+41\n    g+2\n, 7, c d]: 1500\n", "c d", "g;f", "", 1500, 1},
	} {
		if !Looks([]byte(c.text)) {
			t.Errorf("%s is not recognised", name)
		}
		res, err := Read(strings.NewReader(c.text), Options{Name: name})
		if err != nil || len(res.Profile.Stacks) != 1 || res.Unknown > 0 {
			t.Errorf("%s: %v, %+v", name, err, res)
			continue
		}
		s := res.Profile.Stacks[0]
		var frames []string
		for _, f := range s.Frames {
			frames = append(frames, f.Name)
		}
		if s.Process != c.process || strings.Join(frames, ";") != c.frames || res.Profile.Unit != c.unit || s.Time != c.time || s.Count != c.count {
			t.Errorf("%s: %q %q in %q: %+v", name, s.Process, frames, res.Profile.Unit, s)
		}
		if name == "delimiter" && (s.Frames[0].Kernel || !s.Frames[1].Kernel) {
			t.Error("the delimiter does not part kernel and user")
		}
	}
}

func TestBroken(t *testing.T) {
	res, err := Read(strings.NewReader("    f\n    g\nwhat\n        3\n@a[\n    f\n]: x\n"), Options{Name: "a"})
	if err != nil || res.Unknown != 2 || res.Bad[0] != `a:3: no function of a stack: "what"` || len(res.Profile.Stacks) != 1 {
		t.Errorf("%v, %+v", err, res)
	}
	if _, err = Read(strings.NewReader("\n"), Options{}); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
	for _, other := range []string{"a;b 1\n", "sh 1 2.0: 250000 cpu-clock: \n\t1f f+0x1 ([kernel.kallsyms])\n", "", "    a;b;c 12\n", "@: 5\n"} {
		if Looks([]byte(other)) {
			t.Errorf("%q is taken for stacks of BPF tools", other)
		}
	}
}

func FuzzRead(f *testing.F) {
	linestest.Seeds(f, "testdata/*.stacks")
	f.Fuzz(func(t *testing.T, text string) {
		res, _ := Read(strings.NewReader(text), Options{Name: "f"})
		for _, s := range res.Profile.Stacks {
			if s.Time < 0 {
				t.Errorf("%+v", s)
			}
		}
	})
}
