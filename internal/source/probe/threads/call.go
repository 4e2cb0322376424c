package threads

import (
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

// Call is what a process waited in one system call, of the calls that returned.
type Call struct {
	PID     int            `json:"pid"`
	Process sample.RawName `json:"process"`
	Number  int            `json:"number"` // of the call, on the machine that was watched
	Name    string         `json:"name"`
	Count   uint64         `json:"count"`
	Failed  uint64         `json:"failed"` // returned an error
	Wall    time.Duration  `json:"wall_ns"`
	Walls   *sample.Times  `json:"walls"`
	In      PartTimes      `json:"in_ns"`             // adds up to Wall
	Times   PartLengths    `json:"times"`             // of the calls in which the part is not 0; nil for none
	Slowest []SlowCall     `json:"slowest,omitempty"` // at most Kept, the very slowest first

	named uint64 // by the kernel's clock, in ns: when the process was found to be called so
}

// Add adds up.
func (c *Call) Add(o *Call) {
	c.Count += o.Count
	c.Failed += o.Failed
	c.Wall += o.Wall
	c.Walls = c.Walls.Plus(o.Walls)
	c.Slowest = slowestOf(slices.Concat(c.Slowest, o.Slowest))
	for p := range c.In {
		c.In[p] += o.In[p]
		c.Times[p] = c.Times[p].Plus(o.Times[p])
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
	d.Walls = d.Walls.Minus(before.Walls)
	for p := range d.In {
		d.In[p] -= before.In[p]
		d.Times[p] = d.Times[p].Minus(before.Times[p])
	}
	return d
}
