package sysctl

import (
	"path/filepath"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
)

func TestCollect(t *testing.T) {
	s, err := Open(host.Tree(filepath.Join("..", "..", "..", "..", "testdata", "hosts", "nvme-cgroup2"), time.Now))
	if err != nil {
		t.Fatal(err)
	}
	r := sample.NewRecorder(time.Now())
	for _, phase := range []sample.Phase{sample.First, sample.Tick, sample.Last} {
		if err := s.Collect(phase, r); err != nil {
			t.Error(err)
		}
	}
	w := r.Window(time.Now())
	want := map[string]float64{"dirty_ratio": 20, "dirty_background_ratio": 10, "swappiness": 60, "dirty_bytes": 0}
	w.Each(sample.Sysctl, func(e sample.Entity, got *sample.Series) {
		if v, ok := want[e.Class]; !ok || len(got.Points) != 1 || got.Last() != v {
			t.Errorf("%s: %+v, want %v once", e.Class, got.Points, v)
		}
		delete(want, e.Class)
	})
	if len(want) > 0 {
		t.Errorf("not emitted: %v", want)
	}
}
