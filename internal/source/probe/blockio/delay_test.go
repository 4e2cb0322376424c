package blockio

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// A layer that delays (dm-delay, IOCAUSE_DELAY milliseconds) gets its delay within 2 %:
// the time from when a read is queued to it until it hands the read on, and from when
// the disk has completed that until the layer has, as the kernel's own trace has all
// four. It waits for whole ticks of the kernel's timer, so that it may
// take longer than it is told, and an emulated machine adds to that.
func TestDelayOfLayers(t *testing.T) {
	told, err := strconv.Atoi(os.Getenv("IOCAUSE_DELAY"))
	if err != nil {
		t.Skip("IOCAUSE_DELAY names no delay: no layer delays")
	}
	n := map[int]int64{1: 307, 10: 101, 100: 23}[told] // primes
	path := bpftest.File(t, int(4*n))
	top, disks := stackOf(t, path)
	if len(disks) != 1 {
		t.Fatalf("the disks are %v, want one", disks)
	}
	dev, disk := number(t, top), number(t, disks[0])
	events := map[string]string{
		"block_bio_queue": fmt.Sprint("dev == ", dev), "block_bio_remap": fmt.Sprint("old_dev == ", dev),
		"block_rq_complete": fmt.Sprint("dev == ", disk), "block_bio_complete": fmt.Sprint("dev == ", dev),
	}
	buf := bpftest.Aligned(t, 4096)
	// the trace begins before the window and ends after it, so that it has every read that the window has
	kernel := tracing(t, events)
	opens := func(h *host.Host) (sample.Source, error) {
		kernel.begin() // of another try
		return Open(h)
	}
	w := bpftest.Observe(t, opens, func() { directReads(t, path, buf, stride(n, 16384)) })
	text := kernel.end()
	line := regexp.MustCompile(`(\d+)\.(\d{6}): block_(bio_queue|bio_remap|rq_complete|bio_complete): \d+,\d+ R\S* (?:\(.*\) )?(\d+) \+ \d+(?: <- \(\d+,\d+\) (\d+))?`)
	type read struct {
		queued, handed, arrived time.Duration
	}
	at, onDisk := map[string]*read{}, map[string]*read{}
	truth, reads := time.Duration(0), 0.0
	for _, m := range line.FindAllStringSubmatch(text, -1) {
		seconds, _ := strconv.Atoi(m[1])
		micro, _ := strconv.Atoi(m[2])
		now := time.Duration(seconds)*time.Second + time.Duration(micro)*time.Microsecond
		switch m[3] {
		case "bio_queue":
			at[m[4]] = &read{queued: now}
		case "bio_remap":
			if r := at[m[5]]; r != nil {
				r.handed, onDisk[m[4]] = now, r
			}
		case "rq_complete":
			if r := onDisk[m[4]]; r != nil {
				r.arrived = now
			}
		case "bio_complete":
			if r := at[m[4]]; r != nil && r.handed > 0 && r.arrived > 0 {
				truth += r.handed - r.queued + now - r.arrived
				reads++
			}
			delete(at, m[4])
		}
	}
	var ops, own float64
	w.Each(sample.LayerOps, func(e sample.Entity, s *sample.Series) {
		if c, ok := sample.ParseLayerClass(e.Class); ok && c.Top == top && e.Device == top && c.Op == sample.ClassRead {
			ops = s.Sum()
			own, _ = w.Sum(sample.LayerOwnTime, e)
		}
	})
	if ops < float64(n) || reads < ops || reads > 1.05*ops {
		t.Fatalf("%g reads of %s, %g in the trace, want %d of this test, and as many in the trace or a few more", ops, top, reads, n)
	}
	own, delayed := own/ops, truth.Seconds()/reads
	t.Logf("told %d ms: %.3f ms a read, by the kernel's trace (%g reads; %g in the window); the layer's own time is %.4f of that", told, 1e3*delayed, reads, ops, own/delayed)
	if own < 0.98*delayed || own > 1.02*delayed {
		t.Errorf("%s has %g s of its own in a read, want the %g s that it delays within 2 %%", top, own, delayed)
	}
}
