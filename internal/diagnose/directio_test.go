package diagnose

import (
	"testing"
	"time"

	"iocause/internal/sample"
)

// Reads are taken for ordered only where chance cannot have hidden the repeats that
// reads at random would have: of 1,520 requests of 16 KiB in 344 MiB, 51 come back.
func TestOrderedBeyondChance(t *testing.T) {
	const pages, request = 344 << 8, 4
	file := sample.FileID{Ino: 5}
	for _, c := range []struct {
		repeats float64 // requests
		want    bool
	}{{51, false}, {34, false}, {12, true}} {
		r := sample.NewRecorder(epoch)
		r.PutFile(file, sample.File{Path: "/data", Size: pages * pageSize})
		direct := 1520.0 * request * pageSize
		r.Put(sample.WaitIO, sample.Entity{PID: 7, Class: "read"}, 5, "test")
		r.Put(sample.BlockOps, sample.Entity{PID: 7, Device: "vda", Class: "read"}, 1520, "test")
		r.Put(sample.BlockBytes, sample.Entity{PID: 7, Device: "vda", Class: "read"}, direct, "test")
		r.Put(sample.DirectReadBytes, sample.Entity{PID: 7, File: file}, direct, "test")
		r.Put(sample.BlockDirect, sample.Entity{PID: 7}, direct, "test")
		r.Put(sample.BlockDirectAgn, sample.Entity{PID: 7}, c.repeats*request*pageSize, "test")
		k := newCase(r.Window(epoch.Add(5*time.Second)), Target{})
		if d := k.directSet(); d.ordered() != c.want {
			t.Errorf("%.0f requests came back of %.0f: ordered is %v", c.repeats, d.expected(d.files)/request/pageSize, d.ordered())
		}
	}
}
