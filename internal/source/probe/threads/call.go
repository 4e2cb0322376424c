package threads

import (
	"cmp"
	"math"
	"slices"
	"time"

	"iocause/internal/sample"
)

// Part is a part of a system call's time.
type Part int

// The parts, in the order of enum part in latency.bpf.c. Together they are the
// call's wall time.
const (
	PartCPU       Part = iota // on a processor
	PartQueue                 // woken, waits for a processor
	PartPreempted             // lost the processor to another, waits for it
	PartDisk                  // block I/O, file system, page faults that read
	PartLock                  // locks of the kernel and of the program
	PartThrottle              // paused for dirty pages, asleep in direct reclaim
	PartOther                 // network, pipes, timers, page faults of other kinds, unknown
	Parts                     // how many
)

// Key names a part for programs.
func (p Part) Key() string {
	return [Parts]string{"cpu", "queue", "preempted", "disk", "lock", "throttle", "other"}[p]
}

// partOfState says which part of a call each state is.
func partOfState() [32]uint8 {
	var of [32]uint8
	for s := Unseen; s < States; s++ {
		part := PartOther
		switch s {
		case Run, ReclaimRun:
			part = PartCPU
		case Runnable:
			part = PartQueue
		case Preempted:
			part = PartPreempted
		case Disk, FileSystem, FaultDisk:
			part = PartDisk
		case MmapLock, KernelLock, Mutex, Futex:
			part = PartLock
		case DirtyPause, Reclaim:
			part = PartThrottle
		}
		of[s] = uint8(part)
	}
	return of
}

// Lengths counts times. Slot 0 is below 128 ns; then eight slots make a power of
// two, so that a slot is at most an eighth as wide as the times in it. nil has
// none.
type Lengths struct {
	Slots   [1 + 28*8]uint64
	Longest time.Duration // not longer than this, whatever the slots say
}

// firstPower is the power of two that slot 1 begins with.
const firstPower = 7

// bounds are the ends of a slot in nanoseconds: low is in it, high is not.
func bounds(slot int) (low, high float64) {
	if slot == 0 {
		return 0, 1 << firstPower
	}
	e := (slot-1)/8 + firstPower
	width := math.Ldexp(1, e-3)
	low = width * float64(8+(slot-1)%8)
	return low, low + width
}

// N is how many times were counted.
func (l *Lengths) N() uint64 {
	var n uint64
	if l != nil {
		for _, c := range l.Slots {
			n += c
		}
	}
	return n
}

// Quantile is the q-quantile (0 to 1) of n times, of which those that were not
// counted are 0. It is the middle of a slot: at most a sixteenth (6.25 %) off,
// or 64 ns for times below 128. What is longer than 34 s is as long as the longest.
func (l *Lengths) Quantile(q float64, n uint64) time.Duration {
	rank := uint64(math.Ceil(q * float64(n)))
	seen := n - min(l.N(), n)
	if l == nil || rank <= seen {
		return 0
	}
	for i, c := range l.Slots {
		if seen += c; seen >= rank {
			low, high := bounds(i)
			if i == len(l.Slots)-1 {
				return l.Longest
			}
			return min(time.Duration((low+high)/2), l.Longest)
		}
	}
	return l.Longest
}

// Most is the longest time: exact if it is the longest since the probe was
// opened, else the end of its slot.
func (l *Lengths) Most() time.Duration {
	if l == nil {
		return 0
	}
	for i := len(l.Slots) - 1; i >= 0; i-- {
		if l.Slots[i] > 0 {
			_, high := bounds(i)
			if i == len(l.Slots)-1 {
				return l.Longest
			}
			return min(time.Duration(high), l.Longest)
		}
	}
	return 0
}

// plus is the sum of both, which may be nil.
func (l *Lengths) plus(o *Lengths) *Lengths {
	if l == nil || o == nil {
		return cmp.Or(l, o)
	}
	sum := *l
	for i, c := range o.Slots {
		sum.Slots[i] += c
	}
	sum.Longest = max(l.Longest, o.Longest)
	return &sum
}

// minus is what came after o, which may be nil.
func (l *Lengths) minus(o *Lengths) *Lengths {
	if l == nil || o == nil {
		return l
	}
	rest := *l
	for i, c := range o.Slots {
		rest.Slots[i] -= min(c, rest.Slots[i])
	}
	return &rest
}

// Call is what a process waited in one system call, of the calls that returned.
type Call struct {
	PID     int            `json:"pid"`
	Process sample.RawName `json:"process"`
	Number  int            `json:"number"` // of the call, on the machine that was watched
	Name    string         `json:"name"`
	Count   uint64         `json:"count"`
	Failed  uint64         `json:"failed"` // returned an error
	Wall    time.Duration  `json:"wall_ns"`
	Walls   *Lengths       `json:"walls"`
	In      PartTimes      `json:"in_ns"`             // adds up to Wall
	Times   PartLengths    `json:"times"`             // of the calls in which the part is not 0; nil for none
	Slowest []SlowCall     `json:"slowest,omitempty"` // at most Kept, the very slowest first
}

// Add adds up.
func (c *Call) Add(o *Call) {
	c.Count += o.Count
	c.Failed += o.Failed
	c.Wall += o.Wall
	c.Walls = c.Walls.plus(o.Walls)
	c.Slowest = slowestOf(slices.Concat(c.Slowest, o.Slowest))
	for p := range c.In {
		c.In[p] += o.In[p]
		c.Times[p] = c.Times[p].plus(o.Times[p])
	}
}

// since is what came after before, which may be nil.
func (c *Call) since(before *Call) Call {
	d := *c
	if before == nil {
		return d
	}
	d.Count -= before.Count
	d.Failed -= before.Failed
	d.Wall -= before.Wall
	d.Walls = d.Walls.minus(before.Walls)
	for p := range d.In {
		d.In[p] -= before.In[p]
		d.Times[p] = d.Times[p].minus(before.Times[p])
	}
	return d
}
