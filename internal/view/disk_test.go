package view

import (
	"strings"
	"testing"
	"time"

	"iocause/internal/present/text"
	"iocause/internal/sample"
)

// A terminal of 80 columns has no room for all; requests that failed are shown.
func TestFailedRequestsAreShownInNarrowTerminals(t *testing.T) {
	for _, failed := range []float64{0, 3} {
		begin := time.Unix(1700000000, 0).UTC()
		r := sample.NewRecorder(begin)
		dev, own := sample.Entity{Device: "nvme0n1", Class: "write"}, sample.Entity{PID: 7, Device: "nvme0n1", Class: "write"}
		r.PutProcess(7, sample.Process{Comm: "a-rather-long-name"})
		whole := sample.Entity{Device: "nvme0n1"}
		for m, v := range map[sample.Metric]float64{sample.DiskReads: 123456, sample.DiskWrites: 123456, sample.DiskReadBytes: 1234567890, sample.DiskWriteBytes: 1234567890,
			sample.DiskReadTime: 12.345, sample.DiskWriteTime: 12.345, sample.DiskBusy: 0.777, sample.DiskWeighted: 1.234, sample.DiskFlushes: 12} {
			r.Put(m, whole, v, "test")
		}
		for _, e := range []sample.Entity{dev, own} {
			r.Put(sample.BlockOps, e, 123456, "test")
			r.Put(sample.BlockBytes, e, 1234567890, "test")
			r.Put(sample.BlockQueueTime, e, 1.23456, "test")
			r.Put(sample.BlockDeviceTime, e, 12.3456, "test")
			r.Put(sample.BlockSequential, e, 1234, "test")
			r.Put(sample.BlockErrors, e, failed, "test")
		}
		for _, tab := range Disk(r.Window(begin.Add(time.Second)), &Query{By: "process"}) {
			var b strings.Builder
			if err := text.WriteTable(&b, &tab, text.Style{Width: 80}); err != nil {
				t.Fatal(err)
			}
			if shown := strings.Contains(b.String(), "ERR"); shown != (failed > 0) {
				t.Errorf("%g failed, and the column is shown: %v\n%s", failed, shown, b.String())
			}
		}
	}
}
