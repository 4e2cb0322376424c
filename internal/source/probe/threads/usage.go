package threads

import (
	"bytes"
	"time"
	"unsafe"
)

const (
	flagKernelThread = 0x00200000 // PF_KTHREAD
)

// Usage is what a thread did with its time.
type Usage struct {
	Serial   uint64 // no two threads have the same
	TID, PID int
	Comm     string // of the thread; any bytes
	Process  string // of the process; any bytes
	Cgroup   uint64 // id of its cgroup of the memory controller
	Kernel   bool
	Ended    bool
	Wall     time.Duration         // since it was last seen, or since it began
	In       [States]time.Duration // by state
	Present  State                 // what it is doing, and since when: Unseen when it ended
	Since    time.Duration
	// The timer's ticks, in user and in system mode: since it was last seen, and in its life.
	User, System         time.Duration
	LifeUser, LifeSystem time.Duration
	Exec, RunDelay       time.Duration // the scheduler's own account: the same as /proc/PID/schedstat
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
		Serial: b.Serial, TID: int(b.Tid), PID: int(b.Tgid), Comm: text(&b.Comm), Process: text(&b.Process),
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

// text is a name of the kernel: up to its first zero byte.
func text(b *[16]int8) string {
	raw := unsafe.Slice((*byte)(unsafe.Pointer(b)), len(b))
	if end := bytes.IndexByte(raw, 0); end >= 0 {
		raw = raw[:end]
	}
	return string(raw)
}
