package diagnose

import (
	"testing"
	"time"

	"iocause/internal/sample"
)

// A limit that could not be read is not known, whatever the cgroup is called; a
// cgroup whose memory was read, or on a host where nothing failed, is.
func TestLimitUnknown(t *testing.T) {
	for _, c := range []struct {
		name   string
		gap    bool
		usage  string
		cgroup string
		want   bool
	}{
		{"hidden, in a cgroup", true, "", "/a", true},
		{"hidden, seems to be at the top", true, "", "/", true},
		{"read", true, "/a", "/a", false},
		{"another one read", true, "/b", "/a", true},
		{"no memory controller", false, "", "/a", false},
	} {
		r := sample.NewRecorder(epoch)
		r.PutProcess(7, sample.Process{Comm: "p", MemoryCgroup: c.cgroup})
		r.Put(sample.WaitIO, sample.Entity{PID: 7, Class: "read"}, 5, "test")
		if c.gap {
			r.PutGap(sample.Gap{Why: "cgroup: hidden", Metrics: []sample.Metric{sample.CgroupMemUsage, sample.CgroupMemLimit}})
		}
		if c.usage != "" {
			r.Put(sample.CgroupMemUsage, sample.Entity{Cgroup: c.usage}, 1e6, "test")
		}
		k := newCase(r.Window(epoch.Add(10*time.Second)), Target{})
		if got := k.limitUnknown(); (got != "") != c.want {
			t.Errorf("%s: %q, want unknown to be %v", c.name, got, c.want)
		}
	}
}

// Refaults that the host's own reclaim cannot have caused are a cgroup's.
func TestEvictsFor(t *testing.T) {
	for _, c := range []struct {
		refaults, kswapd, direct float64
		want                     evictor
	}{
		{100000, 0, 0, byCgroup},
		{100000, 10000, 5000, byCgroup},
		{100000, 90000, 20000, byHost},
		{100000, 50000, 0, byUnknown},
		{10, 0, 0, byUnknown},
	} {
		r := sample.NewRecorder(epoch)
		r.Put(sample.VMRefaultFile, sample.Entity{}, c.refaults, "test")
		r.Put(sample.VMStealKswapd, sample.Entity{}, c.kswapd, "test")
		r.Put(sample.VMStealDirect, sample.Entity{}, c.direct, "test")
		if got := newCase(r.Window(epoch.Add(time.Second)), Target{}).evictsFor(); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
