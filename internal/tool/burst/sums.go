package burst

import (
	"cmp"
	"slices"

	"iocause/internal/detect"
	"iocause/internal/source/probe/burst"
)

// disk is one disk: the finder, and the bins that it may still name.
type disk struct {
	finder *detect.BurstFinder
	next   int64 // the first millisecond that the finder does not have
	recent []burst.Bin
	now    *sums
}

func newDisk(ms int64) *disk {
	return &disk{finder: detect.NewBurstFinder(ms), next: ms, now: newSums()}
}

// add takes the next bin that is not empty.
func (d *disk) add(b *burst.Bin, f func(detect.Burst)) {
	d.feed(b.MS, f)
	d.recent = append(d.recent, *b)
	d.now.bin(b)
	d.finder.Add(detect.Load{Ops: b.Ops, Bytes: b.Bytes}, f)
	d.next = b.MS + 1
}

// feed gives the finder the empty bins before ms.
func (d *disk) feed(ms int64, f func(detect.Burst)) {
	for ; d.next < ms; d.next++ {
		d.finder.Add(detect.Load{}, f)
	}
}

// forget drops the bins that no burst will name any more.
func (d *disk) forget() {
	from := d.next - 2*detect.BurstBins
	if since, on := d.finder.Open(); on {
		from = min(from, since)
	}
	keep, _ := slices.BinarySearchFunc(d.recent, from, func(b burst.Bin, ms int64) int { return cmp.Compare(b.MS, ms) })
	if keep > detect.BurstBins {
		d.recent = slices.Delete(d.recent, 0, keep)
	}
}

// explain says whose a burst is, and what it cost.
func (d *disk) explain(b detect.Burst) Burst {
	e := Burst{Burst: b, owners: map[Owner]uint64{}}
	from, _ := slices.BinarySearchFunc(d.recent, b.From, func(x burst.Bin, ms int64) int { return cmp.Compare(x.MS, ms) })
	for _, x := range d.recent[from:] {
		if x.MS >= b.To {
			break
		}
		e.Done += x.Done
		e.Took += x.Took
		for _, o := range x.Owners {
			e.owners[Owner{o.PID, o.Comm, o.Cgroup}] += o.Ops
		}
	}
	return e
}

const (
	mostOwners = 1 << 14 // of a disk; the rest are summed up
	others     = "(others)"
)

// ownerSums are somebody's requests.
type ownerSums struct{ ops, bytes, inBursts uint64 }

// sums are the figures of a disk over an interval.
type sums struct {
	all, top1, top10 detect.Load
	in               detect.Load // bursts
	bursts           uint64
	longest          int64 // ms
	owners           map[Owner]*ownerSums

	ten   int64 // number of the 10 ms that so much is in
	inTen detect.Load
}

func newSums() *sums { return &sums{owners: map[Owner]*ownerSums{}} }

func larger(a, b detect.Load) detect.Load {
	return detect.Load{Ops: max(a.Ops, b.Ops), Bytes: max(a.Bytes, b.Bytes)}
}

func (s *sums) bin(b *burst.Bin) {
	l := detect.Load{Ops: b.Ops, Bytes: b.Bytes}
	s.all.Ops, s.all.Bytes = s.all.Ops+l.Ops, s.all.Bytes+l.Bytes
	if ten := b.MS / 10; ten != s.ten {
		s.ten, s.inTen = ten, detect.Load{}
	}
	s.inTen.Ops, s.inTen.Bytes = s.inTen.Ops+l.Ops, s.inTen.Bytes+l.Bytes
	s.top1, s.top10 = larger(s.top1, l), larger(s.top10, s.inTen)
	for _, o := range b.Owners {
		sum := s.owner(Owner{o.PID, o.Comm, o.Cgroup})
		sum.ops += o.Ops
		sum.bytes += o.Bytes
	}
}

func (s *sums) owner(o Owner) *ownerSums {
	sum := s.owners[o]
	if sum == nil {
		if len(s.owners) >= mostOwners {
			o = Owner{Comm: others}
			if sum = s.owners[o]; sum != nil {
				return sum
			}
		}
		sum = &ownerSums{}
		s.owners[o] = sum
	}
	return sum
}

func (s *sums) burst(e *Burst) {
	s.bursts++
	s.longest = max(s.longest, e.To-e.From)
	s.in.Ops, s.in.Bytes = s.in.Ops+e.Ops, s.in.Bytes+e.Bytes
	for o, n := range e.owners {
		s.owner(o).inBursts += n
	}
}

// join adds another interval's figures.
func (s *sums) join(o *sums) {
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
