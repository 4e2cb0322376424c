package diagnose

import (
	"slices"

	"iocause/internal/sample"
)

// The weight of a cause is the share of what holds the victim up that goes away
// with it. What holds it up is added up over its threads, from the accounts of
// what each waits for, which do not overlap: blocked on I/O (wait.io, by call),
// paused as a writer (wait.dirty_pause), freeing memory (reclaim), locks
// (lock.wait) and processors (proc.run_delay). So the causes of different waits
// do not weigh more than 1 together. Causes on the way of the same request (a
// cache that is too small, a device that is slow) explain the same waits, and
// each weighs as if it were the only one to go.

// What a weight is a share of.
const (
	OfWaiting = "waiting"   // of the victim's threads
	OfTime    = "time"      // of a victim that nothing holds up: on processors, and waiting
	InFlight  = "in flight" // of the window, with I/O of a victim that never blocks
	OfRequest = "requests"  // of the device's requests: nobody waits
	OfLog     = "log"       // of what a kernel's log tells: how many requests there were is not known
)

// waiting is the time, in seconds summed over threads, that the victim is held
// up by I/O, for want of memory, and by locks where these are not only what is
// behind the rest.
func (c *Case) waiting() float64 {
	t := c.victim.waitIO()
	if c.contended(&c.victim) > 0 {
		t += c.victim.lock
	}
	return t
}

// part is a stretch of that time as a share of it, 0 to 1.
func (c *Case) part(seconds float64) float64 {
	if t := c.waiting(); t > 0 {
		return clamp01(seconds / t)
	}
	return 0
}

// awake is the time, in seconds summed over threads, that the victim does not
// rest in.
func (v *victim) awake() float64 { return v.cpu + v.delay + v.waitIO() + v.lock }

// readWeight is the weight of cached reads, and of faults of mapped files.
func (c *Case) readWeight(v *cacheView) float64 {
	if c.neverBlocks() {
		return c.inFlightShare(&c.victim)
	}
	return c.part(v.readWait)
}

// neverBlocks tells of a victim whose I/O is done while it goes on.
func (c *Case) neverBlocks() bool { return c.inFlightOnly(&c.victim) }

// swapShare is the part of the victim's reads, faults included, that comes from
// swap, 0 to 1.
func (c *Case) swapShare() float64 {
	own := c.of(sample.BlockSwapIn)
	if own == 0 {
		return 0
	}
	return own / (own + (c.of(sample.CacheMisses)+c.of(sample.CacheMappedMisses))*pageSize)
}

// directWeight is the weight of reads past the cache: of what the victim waits
// for neither in syncs and writes nor for cached reads nor for swap.
func (c *Case) directWeight() float64 {
	if c.neverBlocks() {
		return c.inFlightShare(&c.victim)
	}
	return c.part(c.reading().direct)
}

// deviceWeight is the weight of the time that the victim's requests spend in
// the queue and on the device. Where others do its I/O for it (in fsync, which
// also waits for what writeback and the journal have in flight), it is at most
// for as long as the device has something to do.
func (c *Case) deviceWeight() float64 {
	if c.neverBlocks() {
		return c.inFlightShare(&c.victim)
	}
	blocked, busy := max(0, c.victim.waitTotal+c.victim.pause-c.offDisk()), c.busy()*c.w.Seconds()*c.victim.waiters()
	if c.victim.outstanding == 0 {
		return c.part(min(blocked, busy))
	}
	// Its own requests are told apart from others' only where they are reads: what it
	// writes, the kernel may send.
	in := c.victim.outstanding * c.w.Seconds()
	shared := func(t float64) float64 { return min(t, busy) + min(max(0, blocked-t), in) }
	return c.part(max(shared(c.syncWait()), shared(c.victim.wait[sample.ClassSync]+c.victim.wait[sample.ClassWrite])))
}

// blockedWeight is the weight of all that the victim waits for I/O, writers'
// pauses included.
func (c *Case) blockedWeight() float64 {
	if c.neverBlocks() {
		return c.inFlightShare(&c.victim)
	}
	return c.part(c.victim.waitTotal + c.victim.pause)
}

// busy is the share of the window in which the device had I/O in flight, 0 to
// 1; without the kernel's account of that the requests' own time bounds it.
func (c *Case) busy() float64 {
	s := c.w.Seconds()
	if t, ok := c.w.Sum(sample.DiskBusy, sample.Entity{Device: c.device}); ok {
		return min(1, t/s)
	}
	return min(1, c.blockTime(func(e sample.Entity) bool { return e.Device == c.device && e.PID == 0 && e.Cgroup == "" })/s)
}

// basis is what a weight is a share of, where the cause does not say.
func (c *Case) basis() string {
	if c.neverBlocks() {
		return InFlight
	}
	return OfWaiting
}

// besideQueue sets the weights beside a queue for processors right: who waits
// longer for a processor than for all else is slowed down by both. The queue comes
// first where it takes more of the time of a thread: with a faster disk that would
// only queue sooner. Else the order is left alone, since the question is about I/O.
func (c *Case) besideQueue(found []Finding) {
	queue := slices.IndexFunc(found, func(f Finding) bool { return f.Cause == CPUSaturated })
	if queue < 0 || c.waiting() == 0 {
		return
	}
	v := &c.victim
	for i := range found {
		if f := &found[i]; f.Cause != CPUSaturated && f.WeightOf == OfWaiting {
			f.Weight *= c.waiting() / (v.delay + v.waitIO() + v.lock)
		}
	}
	if !c.queuesMore() {
		return
	}
	for ; queue > 0 && found[queue-1].WeightOf == OfWaiting && found[queue-1].Weight < found[queue].Weight; queue-- {
		found[queue-1], found[queue] = found[queue], found[queue-1]
	}
}
