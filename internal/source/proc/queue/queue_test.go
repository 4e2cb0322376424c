package queue

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
	for device, want := range map[string][3]float64{"nvme0n1": {131072, 0, 1023}, "sda": {4194304, 1, 64}, "dm-0": {131072, 0, 128}} {
		for i, m := range []sample.Metric{sample.DeviceReadAhead, sample.DeviceRotate, sample.DeviceRequests} {
			got := w.Get(m, sample.Entity{Device: device})
			if got == nil || len(got.Points) != 1 || got.Last() != want[i] {
				t.Errorf("%s of %s: %+v, want %v once", m, device, got, want[i])
			}
		}
	}
	for m, class := range map[sample.Metric]string{
		sample.DeviceKind: "dm", sample.DeviceLabel: "vg-data", sample.DeviceOn: "nvme0n1", sample.DeviceMount: "/mnt/big data",
	} {
		if v, _ := w.Value(m, sample.Entity{Device: "dm-0", Class: class}); v != 1 {
			t.Errorf("%s of dm-0 is not %q", m, class)
		}
	}
	if w.Get(sample.DeviceRequests, sample.Entity{Device: "loop0"}) != nil {
		t.Error("loop0 has no size")
	}
}
