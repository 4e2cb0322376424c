package diagnose

import (
	"fmt"
	"testing"
	"time"

	"iocause/internal/sample"
)

// What a loop device takes is taken by the disk below it too: that is one rate, not two,
// and the one of the device that the writer waits for.
func TestDrainOfStackedDevices(t *testing.T) {
	r := sample.NewRecorder(epoch)
	for device, written := range map[string]float64{"loop1": 840e6, "vda": 880e6} {
		r.Put(sample.BlockBytes, sample.Entity{Device: device, Class: sample.ClassWrite}, written, "test")
	}
	c := newCase(r.Window(epoch.Add(10*time.Second)), Target{})
	if got := c.drainRate(); got != 88e6 {
		t.Errorf("%g bytes/s of two devices, one on the other, want 88e6", got)
	}
	c = newCase(c.w, Target{Device: "loop1"})
	if got := c.drainRate(); got != 84e6 {
		t.Errorf("%g bytes/s of the device that is asked about, want 84e6", got)
	}
}

// Who is told to raise the limit must get a higher one from the command to copy.
func TestDirtyLimitIsRaised(t *testing.T) {
	advised := 0
	for avail := 1.0; avail <= 512; avail++ {
		for share := 0.01; share < dirtySmall; share += 0.005 {
			r := sample.NewRecorder(epoch)
			r.Put(sample.MemAvailable, sample.Entity{}, avail*(1<<30), "test")
			limit := share * avail * (1 << 30)
			for _, a := range newCase(r.Window(epoch.Add(10*time.Second)), Target{}).dirtyAdvice(limit, limit/2, 1e8) {
				if a.Command == "" {
					continue
				}
				var to float64
				if _, err := fmt.Sscanf(a.Command, "sysctl vm.dirty_bytes=%g", &to); err != nil || to < worthRaising*limit {
					t.Fatalf("%g GiB available, limit %g: %q (%v)", avail, limit, a.Command, err)
				}
				advised++
			}
		}
	}
	if advised == 0 {
		t.Error("no limit is raised")
	}
}
