package blockio

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/require"
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
	devices, err := host.Live().Devices()
	require.NoError(t, err)
	dev, ok := devices.Number(top)
	if !ok {
		t.Fatalf("%s has no number", top)
	}
	const tracing = "/sys/kernel/tracing"
	write := func(file, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(tracing, file), []byte(text), 0))
	}
	disk, ok := devices.Number(disks[0])
	if !ok || len(disks) != 1 {
		t.Fatalf("the disks are %v, want one", disks)
	}
	events := map[string]string{
		"block_bio_queue": fmt.Sprint("dev == ", uint32(dev)), "block_bio_remap": fmt.Sprint("old_dev == ", uint32(dev)),
		"block_rq_complete": fmt.Sprint("dev == ", uint32(disk)), "block_bio_complete": fmt.Sprint("dev == ", uint32(dev)),
	}
	buf := bpftest.Aligned(t, 4096)
	w := bpftest.Observe(t, Open, func() {
		write("trace", "")
		for event, filter := range events {
			write("events/block/"+event+"/filter", filter)
			write("events/block/"+event+"/enable", "1")
		}
		directReads(t, path, buf, stride(n, 16384))
		for event := range events {
			write("events/block/"+event+"/enable", "0")
			write("events/block/"+event+"/filter", "0")
		}
	})
	trace, err := os.ReadFile(filepath.Join(tracing, "trace"))
	require.NoError(t, err)
	line := regexp.MustCompile(`(\d+)\.(\d{6}): block_(bio_queue|bio_remap|rq_complete|bio_complete): \d+,\d+ R\S* (?:\(.*\) )?(\d+) \+ \d+(?: <- \(\d+,\d+\) (\d+))?`)
	type read struct {
		queued, handed, arrived time.Duration
	}
	at, onDisk := map[string]*read{}, map[string]*read{}
	truth, reads := time.Duration(0), int64(0)
	for _, m := range line.FindAllStringSubmatch(string(trace), -1) {
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
	if reads < n || ops != float64(reads) {
		t.Fatalf("%g reads of %s, %d in the trace, want %d of this test at least", ops, top, reads, n)
	}
	ratio := own / truth.Seconds()
	t.Logf("told %d ms: %v a read, by the kernel's trace; the layer's own time is %.4f of that", told, truth/time.Duration(reads), ratio)
	if ratio < 0.98 || ratio > 1.02 {
		t.Errorf("%s has %g s of its own, want the %v that it delays within 2 %%", top, own, truth)
	}
}
