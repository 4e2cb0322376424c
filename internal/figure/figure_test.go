package figure

import (
	"slices"
	"testing"
	"time"

	"iocause/internal/sample"
)

func window(put func(r *sample.Recorder)) *sample.Window {
	r := sample.NewRecorder(time.Unix(1700000000, 0))
	put(r)
	return r.Window(time.Unix(1700000010, 0))
}

func TestHitRatio(t *testing.T) {
	if r, ok := HitRatio(8, 2); !ok || r != 0.75 {
		t.Errorf("%g, %v", r, ok)
	}
	if _, ok := HitRatio(0, 0); ok {
		t.Error("a share of nothing")
	}
}

func TestAwait(t *testing.T) {
	w := window(func(r *sample.Recorder) {
		sda, sdb := sample.Entity{Device: "sda"}, sample.Entity{Device: "sdb"}
		r.Put(sample.DiskReads, sda, 4, "x")
		r.Put(sample.DiskReadTime, sda, 2, "x")
		r.Put(sample.DiskWrites, sda, 1, "x")
		r.Put(sample.DiskWriteTime, sda, 8, "x")
		r.Put(sample.DiskReads, sdb, 9, "x")
	})
	reads, writes := Reads(w, "sda"), Writes(w, "sda")
	if v, ok := reads.Await(); !ok || v != 0.5 {
		t.Errorf("a read takes %g s, %v", v, ok)
	}
	if v, ok := reads.Plus(writes).Await(); !ok || v != 2 {
		t.Errorf("a request takes %g s, %v", v, ok)
	}
	if v, ok := Reads(w, "sdb").Await(); ok {
		t.Errorf("%g s of reads whose time was not measured", v)
	}
	if v, ok := Reads(w, "sdc").Await(); ok {
		t.Errorf("%g s of no reads", v)
	}
}

func TestBusiest(t *testing.T) {
	w := window(func(r *sample.Recorder) {
		for name, busy := range map[string]float64{"sdb": 3, "sda": 3, "sdc": 5, "idle": 0} {
			r.Put(sample.DiskBusy, sample.Entity{Device: name}, busy, "x")
		}
	})
	if got, want := Busiest(w, sample.DiskBusy), []string{"sdc", "sda", "sdb"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestMemoryLimit(t *testing.T) {
	w := window(func(r *sample.Recorder) {
		r.Put(sample.CgroupMemLimit, sample.Entity{Cgroup: "/a/b/c", Class: "max"}, 900, "x")
		r.Put(sample.CgroupMemLimit, sample.Entity{Cgroup: "/a/b/c", Class: "high"}, 800, "x")
		r.Put(sample.CgroupMemLimit, sample.Entity{Cgroup: "/a", Class: ""}, 500, "x")
		r.Put(sample.CgroupMemLimit, sample.Entity{Cgroup: "/", Class: "max"}, 500, "x")
	})
	if l, ok := MemoryLimit(w, "/a/b/c"); !ok || l != 800 {
		t.Errorf("%g, %v", l, ok)
	}
	if _, ok := MemoryLimit(w, "/a/b"); ok {
		t.Error("a limit where none is")
	}
	if l, at, ok := LowestMemoryLimit(w, "/a/b/c"); !ok || l != 500 || at != "/a" {
		t.Errorf("%g of %q, %v", l, at, ok)
	}
	if _, _, ok := LowestMemoryLimit(w, ""); ok {
		t.Error("a limit of no cgroup")
	}
	for cgroup, want := range map[string]string{"": "", "/": "", "/a": "/", "/a/b": "/a"} {
		if got := Above(cgroup); got != want {
			t.Errorf("above %q is %q, want %q", cgroup, got, want)
		}
	}
}
