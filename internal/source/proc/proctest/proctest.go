// Package proctest holds what the tests of all readers of /proc need.
package proctest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// Fixture is a file of testdata.
func Fixture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Seeds gives every fixture to a fuzz target.
func Seeds(f *testing.F) {
	f.Helper()
	entries, err := os.ReadDir("testdata")
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			f.Add(Fixture(f, e.Name()))
		}
	}
}

// WantLine demands an error that names a line.
func WantLine(t *testing.T, err error, line int) {
	t.Helper()
	var l *host.LineError
	if !errors.As(err, &l) || l.Line != line {
		t.Errorf("%v, want an error of line %d", err, line)
	}
}

// Tree is a host whose files a test writes.
type Tree struct {
	t   *testing.T
	Dir string
}

// NewTree makes an empty one.
func NewTree(t *testing.T) Tree { return Tree{t, t.TempDir()} }

// Host is the tree as a host, with a clock that stands still.
func (x Tree) Host() *host.Host {
	return host.Tree(x.Dir, func() time.Time { return time.Unix(1700000000, 0) })
}

// Write makes a file and the folders above it.
func (x Tree) Write(name, content string) {
	x.t.Helper()
	p := filepath.Join(x.Dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		x.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		x.t.Fatal(err)
	}
}

// Open opens a source on the tree.
func (x Tree) Open(open func(*host.Host) (sample.Source, error)) sample.Source {
	x.t.Helper()
	s, err := open(x.Host())
	if err != nil {
		x.t.Fatal(err)
	}
	return s
}

// Collect runs one phase and hands its values over.
func Collect(t *testing.T, s sample.Source, phase sample.Phase) *sample.Window {
	t.Helper()
	r := sample.NewRecorder(time.Unix(1700000000, 0))
	if err := s.Collect(phase, r); err != nil {
		t.Error(err)
	}
	return r.Window(time.Unix(1700000001, 0))
}

// Want demands the newest value of a metric.
func Want(t *testing.T, w *sample.Window, m sample.Metric, e sample.Entity, value float64) {
	t.Helper()
	if got, ok := w.Value(m, e); !ok || got < value-1e-9 || got > value+1e-9 {
		t.Errorf("%s of %+v = %v, %v; want %v", m, e, got, ok, value)
	}
}

// WantAbsent demands that a metric was not measured.
func WantAbsent(t *testing.T, w *sample.Window, m sample.Metric, e sample.Entity) {
	t.Helper()
	if got, ok := w.Value(m, e); ok {
		t.Errorf("%s of %+v = %v, want none", m, e, got)
	}
}
