package health

import (
	"os"
	"strings"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// The disk that IOCAUSE_DISK names is asked by its real ioctls: test/vm/devices sets
// up an emulated one, and says in IOCAUSE_WARNING what it warns of.
func TestRealDisk(t *testing.T) {
	disk, warning := os.Getenv("IOCAUSE_DISK"), os.Getenv("IOCAUSE_WARNING")
	if disk == "" {
		t.Skip("IOCAUSE_DISK names no disk that can be asked: test/vm/devices has some")
	}
	s, err := Open(host.Live())
	if err != nil {
		t.Fatal(err)
	}
	r := sample.NewRecorder(time.Now())
	for range 20 { // the first answers of an emulated disk may be late
		for _, phase := range []sample.Phase{sample.First, sample.Last} {
			if err := s.Collect(phase, r); err != nil {
				t.Error(err)
			}
		}
	}
	w := r.Window(time.Now())
	e := sample.Entity{Device: disk}
	n, ok := w.Value(sample.HealthWarnings, e)
	if !ok {
		t.Fatalf("%s was not heard: %v", disk, w.Gaps)
	}
	of := sample.Entity{Device: disk, Class: warning}
	if got := w.Get(sample.HealthWarnings, of); warning == "" && n != 0 || warning != "" && got == nil {
		t.Errorf("%v warnings, want %q", n, warning)
	}
	for _, m := range []sample.Metric{sample.DeviceCacheThere, sample.DeviceCacheOn} {
		want := 1.0
		if m == sample.DeviceCacheOn && os.Getenv("IOCAUSE_CACHE") == "off" {
			want = 0
		}
		if got, ok := w.Value(m, e); !ok || got != want {
			t.Errorf("%s is %v (%v), want %v", m, got, ok, want)
		}
	}
	if asleep, ok := w.Value(sample.HealthAsleep, e); !ok || asleep != 0 {
		t.Errorf("asleep: %v (%v)", asleep, ok)
	}
	// Forty questions, and none of them is in the error log.
	log := w.Get(sample.HealthErrors, sample.Entity{Device: disk, Class: "error log entries"})
	switch {
	case strings.HasPrefix(disk, "nvme") && log == nil:
		t.Error("the number of entries in the error log is not known")
	case log != nil && log.Points[0].Value != log.Last():
		t.Errorf("the error log has %v entries after the questions, %v before", log.Last(), log.Points[0].Value)
	}
	if !strings.HasPrefix(disk, "nvme") {
		expect(t, w, sample.HealthErrors, "reallocated sectors", disk, 0)
	}
}
