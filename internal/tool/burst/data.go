// Package burst finds bursts of I/O: runs of milliseconds that stand out from
// the second around them, and who made them.
package burst

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"iocause/internal/detect"
)

// Owner is who made requests.
type Owner struct {
	PID    int
	Comm   string
	Cgroup string // "" when not known
}

// Burst is one that was found, with whose it is and what it cost.
type Burst struct {
	detect.Burst // in milliseconds of a clock that At goes by
	Disk         string
	At           time.Time
	Done         uint64        // requests that were completed meanwhile
	Took         time.Duration // those, together

	owners map[Owner]uint64 // requests
}

// Interval is what arrived at the disks within a time.
type Interval struct {
	Start  time.Time
	Length time.Duration

	disks map[string]*sums
	notes []string // what is not in the figures
}

// Latency is the mean of what was completed during the burst; ok is false where
// that is nothing.
func (b *Burst) Latency() (mean time.Duration, ok bool) {
	if b.Done == 0 {
		return 0, false
	}
	return b.Took / time.Duration(b.Done), true
}

// by are the owners, the one with most requests first.
func (b *Burst) by() []Owner {
	return slices.SortedFunc(maps.Keys(b.owners), func(x, y Owner) int {
		return cmp.Or(cmp.Compare(b.owners[y], b.owners[x]), cmp.Compare(x.PID, y.PID), strings.Compare(x.Cgroup, y.Cgroup))
	})
}

// Who names the n owners with the most requests.
func (b *Burst) Who(n int) string {
	var parts []string
	for _, o := range b.by() {
		if b.owners[o] == 0 || len(parts) == n {
			break
		}
		parts = append(parts, share(o, b.owners[o], b.Ops))
	}
	return strings.Join(parts, ", ")
}

// share is an owner with its share of the requests of bursts.
func share(o Owner, n, of uint64) string {
	return fmt.Sprintf("%s %d %.0f%%", o.Comm, o.PID, float64(n)*100/float64(max(of, 1)))
}

// Object is a burst for a JSON document, times in seconds.
func (b *Burst) Object() map[string]any {
	owners := []map[string]any{}
	for _, o := range b.by() {
		owners = append(owners, map[string]any{"comm": o.Comm, "pid": o.PID, "cgroup": o.Cgroup, "ios": b.owners[o]})
	}
	object := map[string]any{"time": b.At.Format(time.RFC3339Nano), "disk": b.Disk, "seconds": float64(b.To-b.From) / 1000, "ios": b.Ops, "bytes": b.Bytes,
		"peak_1ms_ios": b.Peak.Ops, "peak_1ms_bytes": b.Peak.Bytes, "owners": owners, "completed": b.Done, "mean_latency_seconds": nil}
	if b.Done > 0 {
		object["mean_latency_seconds"] = b.Took.Seconds() / float64(b.Done)
	}
	return object
}
