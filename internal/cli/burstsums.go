package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"iocause/internal/detect"
	"iocause/internal/source/probe/burst"
	"iocause/internal/table"
)

// burstDisk is one disk: the finder, and the bins that it may still name.
type burstDisk struct {
	finder *detect.BurstFinder
	next   int64 // the first millisecond that the finder does not have
	recent []burst.Bin
	now    *burstSums
}

func newBurstDisk(ms int64) *burstDisk {
	return &burstDisk{finder: detect.NewBurstFinder(ms), next: ms, now: &burstSums{owners: map[ioOwner]*ownerSums{}}}
}

// add takes the next bin that is not empty.
func (d *burstDisk) add(b *burst.Bin, f func(detect.Burst)) {
	d.feed(b.MS, f)
	d.recent = append(d.recent, *b)
	d.now.bin(b)
	d.finder.Add(detect.Load{Ops: b.Ops, Bytes: b.Bytes}, f)
	d.next = b.MS + 1
}

// feed gives the finder the empty bins before ms.
func (d *burstDisk) feed(ms int64, f func(detect.Burst)) {
	for ; d.next < ms; d.next++ {
		d.finder.Add(detect.Load{}, f)
	}
}

// forget drops the bins that no burst will name any more.
func (d *burstDisk) forget() {
	from := d.next - 2*detect.BurstBins
	if since, on := d.finder.Open(); on {
		from = min(from, since)
	}
	keep, _ := slices.BinarySearchFunc(d.recent, from, func(b burst.Bin, ms int64) int { return cmp.Compare(b.MS, ms) })
	if keep > detect.BurstBins {
		d.recent = slices.Delete(d.recent, 0, keep)
	}
}

// ownerSums are somebody's requests.
type ownerSums struct{ ops, bytes, inBursts uint64 }

// burstSums are the figures of a disk over an interval.
type burstSums struct {
	all, top1, top10 detect.Load
	in               detect.Load // bursts
	bursts           uint64
	longest          int64 // ms
	owners           map[ioOwner]*ownerSums

	ten   int64 // number of the 10 ms that so much is in
	inTen detect.Load
}

func larger(a, b detect.Load) detect.Load {
	return detect.Load{Ops: max(a.Ops, b.Ops), Bytes: max(a.Bytes, b.Bytes)}
}

func (s *burstSums) bin(b *burst.Bin) {
	l := detect.Load{Ops: b.Ops, Bytes: b.Bytes}
	s.all.Ops, s.all.Bytes = s.all.Ops+l.Ops, s.all.Bytes+l.Bytes
	if ten := b.MS / 10; ten != s.ten {
		s.ten, s.inTen = ten, detect.Load{}
	}
	s.inTen.Ops, s.inTen.Bytes = s.inTen.Ops+l.Ops, s.inTen.Bytes+l.Bytes
	s.top1, s.top10 = larger(s.top1, l), larger(s.top10, s.inTen)
	for _, o := range b.Owners {
		sum := s.owner(ioOwner{ioProcess{o.PID, o.Comm}, o.Cgroup})
		sum.ops += o.Ops
		sum.bytes += o.Bytes
	}
}

func (s *burstSums) owner(o ioOwner) *ownerSums {
	sum := s.owners[o]
	if sum == nil {
		if len(s.owners) >= mostTally {
			o = ioOwner{ioProcess: ioProcess{0, otherTally}}
			if sum = s.owners[o]; sum != nil {
				return sum
			}
		}
		sum = &ownerSums{}
		s.owners[o] = sum
	}
	return sum
}

func (s *burstSums) burst(e *explained) {
	s.bursts++
	s.longest = max(s.longest, e.To-e.From)
	s.in.Ops, s.in.Bytes = s.in.Ops+e.Ops, s.in.Bytes+e.Bytes
	for o, n := range e.owners {
		s.owner(o).inBursts += n
	}
}

// join adds another interval's figures.
func (s *burstSums) join(o *burstSums) {
	s.all.Ops, s.all.Bytes = s.all.Ops+o.all.Ops, s.all.Bytes+o.all.Bytes
	s.in.Ops, s.in.Bytes = s.in.Ops+o.in.Ops, s.in.Bytes+o.in.Bytes
	s.top1, s.top10 = larger(s.top1, o.top1), larger(s.top10, o.top10)
	s.bursts += o.bursts
	s.longest = max(s.longest, o.longest)
	for who, n := range o.owners {
		sum := s.owner(who)
		sum.ops, sum.bytes, sum.inBursts = sum.ops+n.ops, sum.bytes+n.bytes, sum.inBursts+n.inBursts
	}
}

// explained is a burst with whose it is and what it cost.
type explained struct {
	detect.Burst
	owners map[ioOwner]uint64 // requests
	done   uint64             // completed meanwhile
	took   time.Duration      // those, together
}

func (d *burstDisk) explain(b detect.Burst) explained {
	e := explained{Burst: b, owners: map[ioOwner]uint64{}}
	from, _ := slices.BinarySearchFunc(d.recent, b.From, func(x burst.Bin, ms int64) int { return cmp.Compare(x.MS, ms) })
	for _, x := range d.recent[from:] {
		if x.MS >= b.To {
			break
		}
		e.done += x.Done
		e.took += x.Took
		for _, o := range x.Owners {
			e.owners[ioOwner{ioProcess{o.PID, o.Comm}, o.Cgroup}] += o.Ops
		}
	}
	return e
}

// by are the owners, the one with most requests first.
func (e *explained) by() []ioOwner {
	return slices.SortedFunc(maps.Keys(e.owners), func(a, b ioOwner) int {
		return cmp.Or(cmp.Compare(e.owners[b], e.owners[a]), cmp.Compare(a.pid, b.pid), strings.Compare(a.cgroup, b.cgroup))
	})
}

// who names the n owners with the most requests.
func (e *explained) who(n int) string {
	var parts []string
	for _, o := range e.by() {
		if e.owners[o] == 0 || len(parts) == n {
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d %.0f%%", o.comm, o.pid, float64(e.owners[o])*100/float64(max(e.Ops, 1))))
	}
	return strings.Join(parts, ", ")
}

func (e *explained) object(disk string, at time.Time) map[string]any {
	owners := []map[string]any{}
	for _, o := range e.by() {
		owners = append(owners, map[string]any{"comm": o.comm, "pid": o.pid, "cgroup": o.cgroup, "ios": e.owners[o]})
	}
	object := map[string]any{"time": at.Format(time.RFC3339Nano), "disk": disk, "seconds": float64(e.To-e.From) / 1000, "ios": e.Ops, "bytes": e.Bytes,
		"peak_1ms_ios": e.Peak.Ops, "peak_1ms_bytes": e.Peak.Bytes, "owners": owners, "completed": e.done, "mean_latency_seconds": nil}
	if e.done > 0 {
		object["mean_latency_seconds"] = e.took.Seconds() / float64(e.done)
	}
	return object
}

// tables are those of an interval.
func (r *burstRun) tables(sums map[string]*burstSums, length time.Duration) []table.Table {
	disks := table.Table{Key: "disks", Title: "What arrives, a second, in the top 1 ms and 10 ms and on average",
		Columns: []table.Column{
			{Key: "disk", Head: "DISK", Flex: true}, {Key: "bursts", Head: "BURSTS", Unit: "count"},
			{Key: "longest_seconds", Head: "LONGEST", Unit: "seconds"}, {Key: "in_bursts_ratio", Head: "I/O IN", Unit: "ratio"},
			{Key: "peak_1ms_ios_per_s", Head: "IOPS 1ms", Unit: "count"}, {Key: "peak_10ms_ios_per_s", Head: "10ms", Unit: "count"},
			{Key: "ios_per_s", Head: "MEAN", Unit: "count"},
			{Key: "peak_1ms_bytes_per_s", Head: "B/s 1ms", Unit: "bytes"}, {Key: "peak_10ms_bytes_per_s", Head: "10ms", Unit: "bytes", Drop: 2},
			{Key: "bytes_per_s", Head: "MEAN", Unit: "bytes", Drop: 1}, {Key: "who", Head: "WHO BURST", Flex: true},
		}}
	owners := table.Table{Key: "owners", Title: "Who asked, in bursts and in all",
		Columns: []table.Column{
			{Key: "disk", Head: "DISK", Flex: true}, {Key: "comm", Head: "PROCESS", Flex: true}, {Key: "pid", Head: "PID"},
			{Key: "bursts", Head: "IN BURSTS", Unit: "count"}, {Key: "burst_ratio", Head: "OF ITS OWN", Unit: "ratio"},
			{Key: "ios", Head: "I/Os", Unit: "count"}, {Key: "bytes", Head: "BYTES", Unit: "bytes"}, {Key: "cgroup", Head: "CGROUP", Flex: true},
		}}
	seconds := max(length.Seconds(), 1e-3)
	early := false // bursts began before the interval
	for name, s := range sums {
		if s.all.Ops+s.all.Bytes == 0 {
			continue
		}
		who, most := table.None(), uint64(0)
		for o, n := range s.owners {
			cgroup := table.Str(o.cgroup)
			if o.cgroup == "" {
				cgroup = table.None()
			}
			owners.Rows = append(owners.Rows, []table.Cell{table.Str(name), table.Str(o.comm), table.Str(fmt.Sprint(o.pid)), table.Num(float64(n.inBursts)),
				table.Maybe(float64(n.inBursts)/float64(max(n.ops, 1)), n.ops > 0 && n.inBursts <= n.ops), table.Num(float64(n.ops)), table.Num(float64(n.bytes)), cgroup})
			early = early || n.inBursts > n.ops
			if n.inBursts > most {
				most = n.inBursts
				who = table.Str(fmt.Sprintf("%s %d %.0f%%", o.comm, o.pid, float64(most)*100/float64(max(s.in.Ops, 1))))
			}
		}
		disks.Rows = append(disks.Rows, []table.Cell{table.Str(name), table.Num(float64(s.bursts)), table.Maybe(float64(s.longest)/1000, s.bursts > 0),
			table.Maybe(float64(s.in.Ops)/float64(max(s.all.Ops, 1)), s.in.Ops <= s.all.Ops),
			table.Num(float64(s.top1.Ops) * 1000), table.Num(float64(s.top10.Ops) * 100), table.Num(float64(s.all.Ops) / seconds),
			table.Num(float64(s.top1.Bytes) * 1000), table.Num(float64(s.top10.Bytes) * 100), table.Num(float64(s.all.Bytes) / seconds), who})
	}
	if early {
		owners.Notes = append(owners.Notes, "a burst counts in the interval that it is found in, the first second's when that is over: some began earlier, and have no share here")
	}
	for _, key := range []string{"pid", "ios"} { // of those that are alike, in an order that does not change
		_ = owners.Sort(key) // the column is there
	}
	_ = disks.Sort("disk")
	return []table.Table{disks, owners}
}
