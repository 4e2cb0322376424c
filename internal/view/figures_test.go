package view

import (
	"testing"
	"time"

	"iocause/internal/sample"
)

// compared is a window of a program in a small cgroup beside another program.
func compared() *sample.Window {
	start := time.Unix(1000, 0)
	r := sample.NewRecorder(start)
	r.At(start.Add(2 * time.Second))
	file, other := sample.FileID{Dev: 1, Ino: 5}, sample.FileID{Dev: 1, Ino: 6}
	r.PutProcess(7, sample.Process{Comm: "reader", MemoryCgroup: "/app/reader", IOCgroup: "/app/reader"})
	r.PutProcess(8, sample.Process{Comm: "other", MemoryCgroup: "/other", IOCgroup: "/other"})
	r.PutFile(file, sample.File{Path: "/data", Size: 400 << 20})
	r.PutFile(other, sample.File{Path: "/small", Size: 1 << 20})
	put := func(m sample.Metric, e sample.Entity, v float64) { r.Put(m, e, v, "test") }
	put(sample.MemTotal, sample.Entity{}, 8<<30)
	put(sample.CgroupMemLimit, sample.Entity{Cgroup: "/app", Class: "max"}, 100<<20)
	put(sample.CgroupMemLimit, sample.Entity{Cgroup: "/app/reader", Class: "max"}, 200<<20)
	put(sample.CgroupMemLimit, sample.Entity{Cgroup: "/other", Class: "max"}, 1<<20)
	put(sample.CgroupMemUsage, sample.Entity{Cgroup: "/app"}, 99<<20)
	put(sample.CgroupIOLimit, sample.Entity{Cgroup: "/app", Device: "vda", Class: "reads"}, 500)
	put(sample.CgroupIOLimit, sample.Entity{Cgroup: "/other", Device: "vda", Class: "reads"}, 9)
	for pid, f := range map[int]sample.FileID{7: file, 8: other} {
		for _, e := range []sample.Entity{{PID: pid}, {PID: pid, File: f}} {
			put(sample.CacheAccesses, e, 1000)
			put(sample.CacheMisses, e, float64(pid)*100)
		}
		put(sample.WaitIO, sample.Entity{PID: pid, Class: "read"}, 1)
		put(sample.WaitIO, sample.Entity{PID: pid, Class: "sync"}, 0.5)
	}
	put(sample.CacheAccesses, sample.Entity{}, 2500) // the host's own: more than the sum
	put(sample.CacheMisses, sample.Entity{}, 1500)
	put(sample.DiskBusy, sample.Entity{Device: "vda"}, 1)
	put(sample.DiskReads, sample.Entity{Device: "vda"}, 100)
	put(sample.DiskReadTime, sample.Entity{Device: "vda"}, 0.5)
	return r.Window(start.Add(2 * time.Second))
}

func TestFigures(t *testing.T) {
	for name, c := range map[string]struct {
		scope  Scope
		want   map[string]float64
		absent []string
	}{
		"a program": {Scope{7: true}, map[string]float64{
			"cache.hit_ratio": 0.3, "cache.read": 1000 * PageBytes / 2, "wait.io": 0.75,
			"data.read_files": 400 << 20, "data.of_memory": 4, "cgroup.limit": 100 << 20, "cgroup.usage": 99 << 20,
			"cgroup.io_limit.vda.reads": 500, "disk.vda.busy": 0.5, "disk.vda.read_latency": 0.005,
		}, []string{"disk.vda.write_latency", "wait.locks", "host.cpu"}},
		"the machine": {nil, map[string]float64{
			"cache.hit_ratio": 0.4, "wait.io": 1.5, "data.read_files": 401 << 20, "data.of_memory": float64(401<<20) / float64(8<<30),
		}, []string{"cgroup.limit", "cgroup.usage", "cgroup.io_limit.vda.reads", "proc.cpu"}},
		"nobody": {Scope{99: true}, map[string]float64{"wait.io": 0, "disk.vda.busy": 0.5},
			[]string{"cache.hit_ratio", "data.read_files", "cgroup.limit"}},
	} {
		got := map[string]Figure{}
		for _, f := range Figures(compared(), c.scope) {
			if _, twice := got[f.Key]; twice || f.Unit == "" || f.Source == "" || f.Name == "" {
				t.Errorf("%s: %+v, twice %v", name, f, twice)
			}
			got[f.Key] = f
		}
		for key, want := range c.want {
			if f, ok := got[key]; !ok || f.Value != want {
				t.Errorf("%s: %s is %v, %v, want %v", name, key, f.Value, ok, want)
			}
		}
		for _, key := range c.absent {
			if f, ok := got[key]; ok {
				t.Errorf("%s: %s is %v, want none", name, key, f.Value)
			}
		}
	}
}
