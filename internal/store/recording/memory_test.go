package recording

import (
	"testing"
	"time"

	"iocause/internal/require"
	"iocause/internal/sample"
)

func TestMemoryKeepsTheNewest(t *testing.T) {
	start := time.Unix(1700000000, 0)
	window := func(n int) *sample.Window {
		at := start.Add(time.Duration(n) * time.Second)
		r := sample.NewRecorder(at)
		r.At(at.Add(time.Second))
		r.PutProcess(7, sample.Process{Comm: "seven"})
		for pid := range 200 { // no two are alike, so that they take room
			r.Put(sample.ProcUser, sample.Entity{PID: pid}, float64(n*7919+pid*104729%1009)/1013, "test")
		}
		return r.Window(at.Add(time.Second))
	}
	m, err := NewMemory(8 << 10)
	require.NoError(t, err)
	const all = 50
	for n := range all {
		require.NoError(t, m.Add(&Record{Window: window(n)}))
	}
	first, end := m.Kept()
	if end != all || first == 0 || first > all-3 {
		t.Errorf("kept are %d to %d of %d", first, end, all)
	}
	if m.bytes > 8<<10 {
		t.Errorf("%d bytes are kept", m.bytes)
	}
	for n := first; n < end; n++ {
		w, err := m.At(n)
		require.NoError(t, err)
		want := window(n)
		for pid := range 200 {
			e := sample.Entity{PID: pid}
			got, _ := w.Sum(sample.ProcUser, e)
			if v, _ := want.Sum(sample.ProcUser, e); got != v {
				t.Fatalf("window %d, process %d: %g, want %g", n, pid, got, v)
			}
		}
		if !w.Start.Equal(want.Start) || w.Length != time.Second || w.Processes[7].Comm != "seven" {
			t.Errorf("window %d is from %v, %v long, of %v", n, w.Start, w.Length, w.Processes)
		}
	}
	if _, err := m.At(first - 1); err == nil {
		t.Error("a window is there that is not kept")
	}
}
