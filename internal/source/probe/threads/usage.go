package threads

import (
	"bytes"
	"time"
	"unsafe"

	"iocause/internal/sample"
)

const (
	flagKernelThread = 0x00200000 // PF_KTHREAD
)

// Usage is what a thread did with its time.
type Usage struct {
	Serial  uint64         `json:"serial"` // no two threads have the same
	TID     int            `json:"tid"`
	PID     int            `json:"pid"`
	Comm    sample.RawName `json:"comm"`      // of the thread
	Process sample.RawName `json:"process"`   // of the process
	Cgroup  uint64         `json:"cgroup_id"` // of its cgroup of the memory controller
	Kernel  bool           `json:"kernel,omitempty"`
	Ended   bool           `json:"ended,omitempty"`
	Wall    time.Duration  `json:"wall_ns"` // since it was last seen, or since it began
	In      StateTimes     `json:"in_ns"`
	Present State          `json:"present"` // what it is doing, and since when: Unseen when it ended
	Since   time.Duration  `json:"since_ns"`
	// The timer's ticks, in user and in system mode: since it was last seen, and in its life.
	User       time.Duration `json:"user_ns"`
	System     time.Duration `json:"system_ns"`
	LifeUser   time.Duration `json:"life_user_ns"`
	LifeSystem time.Duration `json:"life_system_ns"`
	// The scheduler's own account: the same as /proc/PID/schedstat.
	Exec     time.Duration `json:"exec_ns"`
	RunDelay time.Duration `json:"run_delay_ns"`
}

// Unaccounted is the time that no state accounts for.
func (u *Usage) Unaccounted() time.Duration {
	rest := u.Wall
	for _, d := range u.In {
		rest -= d
	}
	return rest
}

// Busy is the time in states that IsBusy.
func (u *Usage) Busy() time.Duration {
	var busy time.Duration
	for s, d := range u.In {
		if State(s).IsBusy() {
			busy += d
		}
	}
	return busy
}

// Add adds up what two threads did, or one at two times.
func (u *Usage) Add(o *Usage) {
	u.Wall += o.Wall
	for s := range u.In {
		u.In[s] += o.In[s]
	}
	u.User += o.User
	u.System += o.System
	u.LifeUser += o.LifeUser
	u.LifeSystem += o.LifeSystem
	u.Exec += o.Exec
	u.RunDelay += o.RunDelay
}

// Split parts the time on a processor, direct reclaim left out, into user and
// system mode. The kernel only knows what its timer's ticks hit, so it is the
// exact time parted as the ticks are: those of this time, or where none hit
// those of the thread's life. ok is false where none ever did.
func (u *Usage) Split() (user, system time.Duration, ok bool) {
	ran := u.In[Run]
	inUser, inSystem := u.User, max(u.System-u.In[ReclaimRun], 0)
	if inUser+inSystem == 0 {
		inUser, inSystem = u.LifeUser, u.LifeSystem
	}
	switch {
	case u.Kernel:
		return 0, ran, true
	case inUser+inSystem == 0:
		return 0, 0, ran == 0
	}
	user = time.Duration(float64(ran) * float64(inUser) / float64(inUser+inSystem))
	return user, ran - user, true
}

// difference is what happened between two records of a thread. Where a counter
// went back, which none of ours does, it is 0.
func difference(a, b *threadsRecord) Usage {
	since := func(a, b uint64) time.Duration { return time.Duration(max(int64(b-a), 0)) }
	u := Usage{
		Serial: b.Serial, TID: int(b.Tid), PID: int(b.Tgid), Comm: name(&b.Comm), Process: name(&b.Process),
		Cgroup: b.Cgroup, Kernel: b.Flags&flagKernelThread != 0,
		Wall: since(a.Now, b.Now), User: since(a.Utime, b.Utime), System: since(a.Stime, b.Stime),
		LifeUser: time.Duration(b.Utime), LifeSystem: time.Duration(b.Stime),
		Present: State(b.State), Since: since(b.Since, b.Now),
		Exec: since(a.Exec, b.Exec), RunDelay: since(a.RunDelay, b.RunDelay),
	}
	for s := range u.In {
		u.In[s] = since(a.Ns[s], b.Ns[s])
	}
	return u
}

// name is a name of the kernel: up to its first zero byte.
func name(b *[16]int8) sample.RawName {
	raw := unsafe.Slice((*byte)(unsafe.Pointer(b)), len(b))
	if end := bytes.IndexByte(raw, 0); end >= 0 {
		raw = raw[:end]
	}
	return sample.RawName(raw)
}
