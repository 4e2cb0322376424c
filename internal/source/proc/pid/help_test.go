package pid

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// fixture is a file of testdata.
func fixture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// seeds gives every fixture to a fuzz target.
func seeds(f *testing.F) {
	f.Helper()
	entries, err := os.ReadDir("testdata")
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			f.Add(fixture(f, e.Name()))
		}
	}
}

// wantLine demands an error that names a line.
func wantLine(t *testing.T, err error, line int) {
	t.Helper()
	var l *host.LineError
	if !errors.As(err, &l) || l.Line != line {
		t.Errorf("%v, want an error of line %d", err, line)
	}
}

// tree is a host whose files a test writes.
type tree struct {
	t   *testing.T
	dir string
}

func newTree(t *testing.T) tree { return tree{t, t.TempDir()} }

func (x tree) host() *host.Host {
	return host.Tree(x.dir, func() time.Time { return time.Unix(1700000000, 0) })
}

func (x tree) write(name, content string) {
	x.t.Helper()
	p := filepath.Join(x.dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		x.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		x.t.Fatal(err)
	}
}

func (x tree) open(open func(*host.Host) (sample.Source, error)) sample.Source {
	x.t.Helper()
	s, err := open(x.host())
	if err != nil {
		x.t.Fatal(err)
	}
	return s
}

// collect runs one phase and hands its values over.
func collect(t *testing.T, s sample.Source, phase sample.Phase) *sample.Window {
	t.Helper()
	r := sample.NewRecorder(time.Unix(1700000000, 0))
	if err := s.Collect(phase, r); err != nil {
		t.Error(err)
	}
	return r.Window(time.Unix(1700000001, 0))
}

func want(t *testing.T, w *sample.Window, m sample.Metric, e sample.Entity, value float64) {
	t.Helper()
	if got, ok := w.Value(m, e); !ok || got < value-1e-9 || got > value+1e-9 {
		t.Errorf("%s of %+v = %v, %v; want %v", m, e, got, ok, value)
	}
}

func wantAbsent(t *testing.T, w *sample.Window, m sample.Metric, e sample.Entity) {
	t.Helper()
	if got, ok := w.Value(m, e); ok {
		t.Errorf("%s of %+v = %v, want none", m, e, got)
	}
}
