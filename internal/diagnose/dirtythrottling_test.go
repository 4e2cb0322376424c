package diagnose

import (
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
