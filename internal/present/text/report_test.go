package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"iocause/internal/diagnose"
	"iocause/internal/require"
)

// testdata/<name>.json is a report; <name>.screen.txt and <name>.<width>.txt are
// how its first screen and the whole of it must look.
// "go test ./internal/present/text -update" writes the latter anew.
func TestGolden(t *testing.T) {
	reports, err := filepath.Glob("testdata/*.json")
	if err != nil || len(reports) < 5 {
		t.Fatalf("%d reports in testdata: %v", len(reports), err)
	}
	for _, path := range reports {
		r := load(t, path)
		for name, style := range map[string]Style{"screen": {Width: 80}, "80": {Width: 80, Whole: true}, "120": {Width: 120, Whole: true}} {
			golden := strings.TrimSuffix(path, ".json") + "." + name + ".txt"
			t.Run(filepath.Base(golden), func(t *testing.T) {
				var got bytes.Buffer
				require.NoError(t, Write(&got, r, style))
				if update := flag.Lookup("update"); update.Value.String() == "true" {
					require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o644))
				}
				want, err := os.ReadFile(golden)
				require.NoError(t, err)
				if got.String() != string(want) {
					t.Errorf("got\n%s\nwant\n%s", got.String(), want)
				}
			})
		}
	}
}

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write the golden files anew")
	flag.Parse()
	os.Exit(m.Run())
}

func load(t *testing.T, path string) *diagnose.Report {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var r diagnose.Report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return &r
}

func TestEveryWidthIsKept(t *testing.T) {
	reports, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	for _, path := range reports {
		r := load(t, path)
		for most, whole := range map[int]bool{21: false, 45: true} {
			for _, width := range []int{40, 57, 80, 100, 200} {
				var out bytes.Buffer
				require.NoError(t, Write(&out, r, Style{Width: width, Whole: whole}))
				lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
				if width >= 80 && len(lines) > most {
					t.Errorf("%s at %d columns: %d lines, %d at most", path, width, len(lines), most)
				}
				for _, line := range lines {
					if strings.HasPrefix(line, "verify   iocause diagnose") { // a command too
						continue
					}
					if Width(line) > width && !strings.HasPrefix(strings.TrimSpace(line), "echo ") { // a command, which is not cut
						t.Errorf("%s at %d columns: %q is %d wide", path, width, line, Width(line))
					}
				}
			}
		}
	}
}

// What is too long ends with a clause; only where there is none, in the middle of one.
func TestShortenEndsWithAClause(t *testing.T) {
	for s, want := range map[string]string{
		"short": "short",
		"reads come from memory: 2x as fast; what it saves is not known":  "reads come from memory: 2x as fast",
		"reads come from memory: at least twice as fast as now, or more":  "reads come from memory",
		"reads (of one: or more; files) come from memory, at least twice": "reads (of one: or more; files) come…",
		"a: that is too little to end with, however long the whole is":    "a: that is too little to end with,…",
	} {
		if got := strings.Join(Shorten(s, 36, 1), "\n"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := strings.Join(Shorten("one two three; four five six", 12, 2), "|"); got != "one two|three" {
		t.Errorf("in two lines: %q", got)
	}
}

func TestColorChangesNothingElse(t *testing.T) {
	sgr := regexp.MustCompile("\x1b\\[[0-9;]*m")
	r := load(t, "testdata/hostile.json")
	var with, without bytes.Buffer
	require.NoError(t, errors.Join(Write(&with, r, Style{Color: true}), Write(&without, r, Style{})))
	if !strings.Contains(with.String(), "\x1b[") {
		t.Error("no colour at all")
	}
	if strings.ContainsRune(without.String(), '\x1b') {
		t.Error("escape sequences without colour")
	}
	if got := sgr.ReplaceAllString(with.String(), ""); got != without.String() {
		t.Errorf("with colour taken off:\n%s\nwithout:\n%s", got, without.String())
	}
	for _, line := range strings.Split(with.String(), "\n") {
		if on := sgr.FindAllString(line, -1); len(on)%2 != 0 || len(on) > 0 && on[len(on)-1] != off {
			t.Errorf("colour is left on at the end of %q", line)
		}
	}
}

type full struct{}

var errFull = errors.New("disk full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrorIsReported(t *testing.T) {
	if err := Write(full{}, &diagnose.Report{}, Style{}); !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
}

// Of what was not observed, the first screen has room for one line: the gap that
// leaves most causes undecided.
func TestWeightiestGapIsShown(t *testing.T) {
	r := &diagnose.Report{Primary: diagnose.CPUBound, Findings: []diagnose.Finding{{Cause: diagnose.CPUBound, Confidence: 0.7}},
		Gaps: []string{"no schedstat", "no locks", "no block I/O"},
		CannotTell: []diagnose.Missing{{Cause: diagnose.LockContention, Missing: "no locks"},
			{Cause: diagnose.DeviceQueueing, Missing: "no block I/O"}, {Cause: diagnose.DeviceErrors, Missing: "no block I/O"}}}
	var out bytes.Buffer
	require.NoError(t, Write(&out, r, Style{}))
	if want := "Unseen   no block I/O (and 2 more)"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, out.String())
	}
}

// What is not permitted is shown with what helps, where there is room for two lines.
func TestUnseenSaysWhatHelps(t *testing.T) {
	why := "blockio: opening the block I/O probe: not permitted to load BPF programs: run as root, or with CAP_BPF and CAP_PERFMON (this root lacks CAP_BPF and CAP_PERFMON)"
	r := &diagnose.Report{Primary: diagnose.CPUBound, Findings: []diagnose.Finding{{Cause: diagnose.CPUBound, Confidence: 0.7}},
		Gaps: append([]string{why}, make([]string, 10)...), CannotTell: []diagnose.Missing{{Cause: diagnose.DeviceErrors, Missing: why}}}
	p := &page{width: 80, column: 9}
	p.checked(r, short{lines: 2})
	if text := strings.Join(p.lines, " "); !strings.Contains(text, "run as root") {
		t.Error(text)
	}
}

// FuzzReport puts hostile names everywhere.
func FuzzReport(f *testing.F) {
	f.Add("java", "/data/x", 80)
	f.Add("\x1b[2J", "\n\u202e\xff", 41)
	f.Fuzz(func(t *testing.T, name, path string, width int) {
		c := diagnose.Culprit{PID: 1, Comm: name, Cgroup: path, File: path, Device: name}
		fd := diagnose.Finding{Cause: diagnose.ID(name), Title: path, Culprit: c, Disprove: name,
			Evidence: []diagnose.Evidence{{Name: name, Value: 1, Unit: name, Source: path}},
			Excluded: []diagnose.Excluded{{Cause: diagnose.ID(path), Why: name}},
			Advice:   []diagnose.Advice{{Do: path, Expect: name}}}
		r := &diagnose.Report{Primary: fd.Cause, Victim: c, Findings: []diagnose.Finding{fd, fd},
			CannotTell: []diagnose.Missing{{Cause: diagnose.ID(name), Missing: path}}, Gaps: []string{name, path}}
		width = 40 + int(uint(width)%160)
		var out bytes.Buffer
		require.NoError(t, errors.Join(Write(&out, r, Style{Width: width}), Write(&out, r, Style{Width: width, Whole: true})))
		for _, line := range strings.Split(out.String(), "\n") {
			if Width(line) > width || line != Escape(line) {
				t.Fatalf("%q: wider than %d columns, or not escaped", line, width)
			}
		}
	})
}
