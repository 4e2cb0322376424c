// Package linestest runs readers of tools' output on fixtures and on bytes that
// a fuzzer makes up.
package linestest

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Tool is what a reader's package exports.
type Tool struct {
	Find func(string) int
	New  func(string) lines.Reader
}

// Key is a metric of an entity.
type Key struct {
	Metric sample.Metric
	Entity sample.Entity
}

// Got is what a reader handed over.
type Got struct {
	t        testing.TB
	Values   map[Key][]float64 // in their order
	Lines    map[Key][]int
	Hists    map[Key]sample.Histogram
	Procs    map[int]sample.Process
	Files    map[sample.FileID]sample.File
	Ticks    []float64
	Notes    []string
	Doubts   int
	Identity string
	IsState  bool
	Uses     map[lines.Use]int
	Faults   []string
	at       int
}

// At implements lines.Values.
func (g *Got) At(n int) { g.at = n }

// Put implements lines.Values.
func (g *Got) Put(m sample.Metric, e sample.Entity, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		g.t.Errorf("%s of %+v is %g", m, e, v)
	}
	if g.at < 1 {
		g.t.Errorf("%s comes from line %d", m, g.at)
	}
	k := Key{m, e}
	g.Values[k], g.Lines[k] = append(g.Values[k], v), append(g.Lines[k], g.at)
}

// Histogram implements lines.Values.
func (g *Got) Histogram(m sample.Metric, e sample.Entity, h sample.Histogram) {
	k := Key{m, e}
	old := g.Hists[k]
	old.Unit = h.Unit
	old.Merge(&h)
	g.Hists[k] = old
}

// Process implements lines.Values.
func (g *Got) Process(pid int, p sample.Process) { g.Procs[pid] = p }

// File implements lines.Values.
func (g *Got) File(id sample.FileID, f sample.File) { g.Files[id] = f }

// Tick implements lines.Values.
func (g *Got) Tick(seconds float64) {
	if math.IsNaN(seconds) || math.IsInf(seconds, 0) || seconds < 0 {
		g.t.Errorf("an interval of %g s", seconds)
	}
	g.Ticks = append(g.Ticks, seconds)
}

// Note implements lines.Values.
func (g *Got) Note(s string) { g.Notes = append(g.Notes, s) }

// Doubt implements lines.Values.
func (g *Got) Doubt(s string) { g.Doubts++; g.Note(s) }

// values makes Got a lines.Values: its field Identity bars the method's name.
type values struct{ *Got }

func (v values) Identity(id string) { v.Got.Identity = id }
func (v values) State()             { v.IsState = true }

func empty(t testing.TB) *Got {
	return &Got{
		t: t, Values: map[Key][]float64{}, Lines: map[Key][]int{}, Hists: map[Key]sample.Histogram{},
		Procs: map[int]sample.Process{}, Files: map[sample.FileID]sample.File{}, Uses: map[lines.Use]int{},
	}
}

// Read runs a tool over a text: the first output in it.
func Read(t testing.TB, tool Tool, text string) *Got {
	t.Helper()
	g := empty(t)
	var r lines.Reader
	before := ""
	for i, line := range strings.Split(text, "\n") {
		if r == nil {
			at := tool.Find(line)
			if at < 0 {
				before += line + "\n"
				continue
			}
			r = tool.New(before + line[:at])
			line = line[at:]
		}
		g.at = i + 1
		puts := len(g.Values)
		use, err := r.Line(lines.Line{Text: line, N: i + 1}, values{g})
		g.Uses[use]++
		if err != nil {
			g.Faults = append(g.Faults, err.Error())
		}
		if (use == lines.Broken) != (err != nil) {
			t.Errorf("line %d: use %d with the error %v", i+1, use, err)
		}
		if use == lines.Foreign || use == lines.Another {
			if len(g.Values) != puts {
				t.Errorf("line %d is refused, but gave values", i+1)
			}
			break
		}
	}
	if r != nil {
		r.Close(values{g})
	}
	return g
}

// Fixture reads a file of testdata.
func Fixture(t testing.TB, tool Tool, name string) *Got {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return Read(t, tool, string(b))
}

// Want demands the values of a metric, to three digits.
func (g *Got) Want(m sample.Metric, e sample.Entity, want ...float64) {
	g.t.Helper()
	got := g.Values[Key{m, e}]
	if len(got) != len(want) {
		g.t.Errorf("%s of %+v has the values %v, want %v", m, e, got, want)
		return
	}
	for i, v := range got {
		if math.Abs(v-want[i]) > 1e-3*math.Abs(want[i]) {
			g.t.Errorf("%s of %+v is %g in interval %d, want %g", m, e, v, i+1, want[i])
		}
	}
}

// On is a process and a file by its name.
func (g *Got) On(pid int, name string) sample.Entity {
	g.t.Helper()
	for id, f := range g.Files {
		if f.Path == name {
			return sample.Entity{PID: pid, File: id}
		}
	}
	g.t.Errorf("%s is not among %v", name, g.Files)
	return sample.Entity{}
}

// WantNote demands a note that holds some words.
func (g *Got) WantNote(words string) {
	g.t.Helper()
	for _, n := range g.Notes {
		if strings.Contains(n, words) {
			return
		}
	}
	g.t.Errorf("no note says %q: %q", words, g.Notes)
}

// Seeds adds the files that match to what a fuzzer begins with.
func Seeds(f *testing.F, pattern string) {
	f.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		f.Fatalf("no fixtures: %v", err)
	}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
}

// Fuzz feeds a reader whatever a fuzzer makes of the fixtures.
func Fuzz(f *testing.F, tool Tool) {
	Seeds(f, "testdata/*.txt")
	f.Fuzz(func(t *testing.T, text string) { Read(t, tool, text) })
}
