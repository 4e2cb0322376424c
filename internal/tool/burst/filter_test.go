package burst

import (
	"testing"
	"time"

	"iocause/internal/source/probe/burst"
)

// A millisecond is narrowed to what is asked for; what it had no room to name
// is counted, and the disk's completions stay.
func TestBurstFilter(t *testing.T) {
	for _, c := range []struct {
		filter     Filter
		ops, bytes uint64
		keep       bool
		beyond     uint64
	}{
		{Filter{}, 20, 200, true, 0},
		{Filter{Device: "sda"}, 20, 200, true, 0},
		{Filter{Device: "sdb"}, 20, 200, false, 0},
		{Filter{PIDs: []int{7}}, 11, 110, true, 3},
		{Filter{Comm: "writer"}, 11, 110, true, 3},
		{Filter{Cgroup: "/a"}, 17, 170, true, 3},
		{Filter{Cgroup: "/a/b"}, 10, 100, true, 3},
		{Filter{Cgroup: "/"}, 17, 170, true, 3},
		{Filter{PIDs: []int{7}, Cgroup: "/a"}, 11, 110, true, 3},
		{Filter{PIDs: []int{9}}, 0, 0, true, 3}, // its completions
		{Filter{PIDs: []int{7}, Device: "sdb"}, 20, 200, false, 0},
	} {
		b := burst.Bin{Disk: "sda", MS: 5, Ops: 20, Bytes: 200, Done: 2, Took: time.Millisecond, Owners: []burst.Owner{
			{PID: 7, Comm: "writer", Cgroup: "/a/b", Ops: 10, Bytes: 100}, {PID: 7, Comm: "writer", Cgroup: "/a", Ops: 1, Bytes: 10},
			{PID: 8, Comm: "reader", Cgroup: "/a", Ops: 6, Bytes: 60}}}
		f := c.filter
		if got, beyond := f.keep(&b); got != c.keep || b.Ops != c.ops || b.Bytes != c.bytes || b.Done != 2 || beyond != c.beyond {
			t.Errorf("%+v: kept %v, %d I/Os of %d bytes, %d not named; want %v, %d, %d, %d", c.filter, got, b.Ops, b.Bytes, beyond, c.keep, c.ops, c.bytes, c.beyond)
		}
	}
}
