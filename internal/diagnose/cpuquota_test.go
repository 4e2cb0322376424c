package diagnose

import (
	"testing"
	"time"

	"iocause/internal/sample"
)

// Who is stopped by a processor limit is asked about before who computes more, also
// where it is stopped for a quarter of the time only that it could run; who queues for
// that long without a limit is not.
func TestQuotaComesFirst(t *testing.T) {
	for _, c := range []struct {
		throttled float64 // periods of 100
		want      int
	}{{90, 7}, {5, 8}} {
		r := sample.NewRecorder(epoch)
		r.PutProcess(7, sample.Process{Comm: "nginx", CPUCgroup: "/limited"})
		r.PutProcess(8, sample.Process{Comm: "client", CPUCgroup: "/"})
		r.Put(sample.ProcUser, sample.Entity{PID: 7}, 4.5, "test")
		r.Put(sample.ProcUser, sample.Entity{PID: 8}, 6.5, "test")
		r.Put(sample.ProcRunDelay, sample.Entity{PID: 7}, 1.4, "test")
		r.Put(sample.CgroupThrottled, sample.Entity{Cgroup: "/limited"}, c.throttled, "test")
		r.Put(sample.CgroupPeriods, sample.Entity{Cgroup: "/limited"}, 100, "test")
		r.Put(sample.CgroupCPUQuota, sample.Entity{Cgroup: "/limited"}, 0.45, "test")
		if got := newCase(r.Window(epoch.Add(10*time.Second)), Target{}).victim.pid; got != c.want {
			t.Errorf("stopped in %.0f of 100 periods: asked about %d, want %d", c.throttled, got, c.want)
		}
	}
}
