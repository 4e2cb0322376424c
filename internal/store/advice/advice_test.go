package advice

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/require"
)

// What is kept is read back; nobody else may read it; and of too many the oldest go.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(dir); !errors.Is(err, ErrNone) {
		t.Errorf("an empty folder: %v", err)
	}
	l := &Ledger{}
	for range most + 3 {
		l.Add(Entry{Given: time.Unix(1, 0).UTC(), Program: "a\"\x1b[2J", Low: 2})
	}
	b, err := l.Bytes()
	if err == nil {
		err = Save(dir, b)
	}
	require.NoError(t, err)
	got, err := Load(dir)
	if err != nil || len(got.Entries) != most || got.Entries[0].Number != 4 || got.Entries[most-1].Number != most+3 || got.Entries[0].Program != l.Entries[0].Program {
		t.Fatalf("%v, %+v", err, got)
	}
	if st, err := os.Stat(filepath.Join(dir, file)); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	for _, bad := range []string{"{", `{"version":2}`, strings.Repeat(" ", mostSize) + string(b)} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(bad), 0o600))
		if _, err := Load(dir); err == nil {
			t.Errorf("%.20q is a ledger", bad)
		}
	}
}

func TestError(t *testing.T) {
	for _, c := range []struct{ low, high, factor, want float64 }{{2, 4, 3, 0}, {2, 4, 1.5, -0.25}, {2, 4, 5, 0.25}, {2, 0, 50, 0}, {0, 1.5, 1, 0}} {
		e := Entry{Low: c.low, High: c.high, Outcome: &Outcome{Factor: &c.factor}}
		if got, ok := e.Error(); !ok || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %g", c, got)
		}
	}
	for _, c := range []struct{ saved, want float64 }{{0.7, 0}, {0.5, -0.1}, {0.95, 0.05}} {
		e := Entry{Saves: &Saved{Low: 0.6, High: 0.9}, Outcome: &Outcome{Saved: &c.saved}}
		if got, ok := e.Error(); !ok || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("saved %g: %g, want %g", c.saved, got, c.want)
		}
	}
	one := 1.0
	for _, e := range []Entry{{}, {Low: 1.5}, {Low: 1.5, Outcome: &Outcome{}}, {Outcome: &Outcome{Factor: &one}}} {
		if _, ok := e.Error(); ok {
			t.Errorf("%+v has an error", e)
		}
	}
}

// A limit of I/O that was raised lets through as many times as much as it is higher: no
// more can be expected of it. One that is gone, or of another kind, leaves the prediction.
func TestLeast(t *testing.T) {
	const v1, v2 = "/sys/fs/cgroup/blkio/db/blkio.throttle.read_iops_device", "/sys/fs/cgroup/db/io.max"
	for _, c := range []struct {
		changes []Change
		want    float64
	}{
		{nil, 8},
		{[]Change{{What: v1, From: "254:0 300", To: "254:0 600"}}, 2},
		{[]Change{{What: v1, From: "254:0 300", To: "254:0 600"}, {What: v1, From: "254:0 600", To: "254:0 900"}}, 3},
		{[]Change{{What: v1, From: "254:0 300", To: "254:0 30000"}}, 8},
		{[]Change{{What: v1, From: "254:0 300", To: ""}}, 8},
		{[]Change{{What: v1, From: "8:0 7 254:0 300", To: "8:0 7 254:0 450"}}, 1.5},
		{[]Change{{What: v2, From: "254:0 rbps=max wbps=max riops=300 wiops=9", To: "254:0 rbps=max wbps=max riops=1200 wiops=9"}}, 4},
		{[]Change{{What: v2, From: "254:0 rbps=max wbps=max riops=300 wiops=max", To: "254:0 rbps=max wbps=max riops=max wiops=max"}}, 8},
		{[]Change{{What: v1, From: "254:0 300", To: "254:0 600"}, {What: "/sys/fs/cgroup/memory/db/memory.limit_in_bytes", From: "1", To: "2"}}, 8},
		{[]Change{{What: v2, From: "8:0 wbps=1000", To: "8:0 wbps=100"}}, 8},
	} {
		e := Entry{Cause: "cgroup-io-throttle", Low: 8, Changes: c.changes}
		if got := e.Least(); got != c.want {
			t.Errorf("%+v: at least %g, want %g", c.changes, got, c.want)
		}
	}
	factor := 2.05
	e := Entry{Cause: "noisy-neighbour", Low: 8, Changes: []Change{{What: v2, From: "8:0 wbps=1000", To: "8:0 wbps=2000"}}}
	if got := e.Least(); got != 8 {
		t.Errorf("a neighbour's limit: at least %g, want 8", got)
	}
	e = Entry{Cause: "cgroup-io-throttle", Low: 8, Changes: []Change{{What: v1, From: "254:0 300", To: "254:0 600"}}, Outcome: &Outcome{Factor: &factor}}
	if off, ok := e.Error(); off != 0 || !ok {
		t.Errorf("2.05 times as much is off by %g of twice the limit", off)
	}
}
