package sample

// The classes: labels that an Entity's Class is taken from, by the names that
// recordings have. The catalogue says which of them a metric has. Where a class
// is open (a mount point, a source, a kernel program), it is data and not here;
// for operation, size and depth together there is IOClass.
const (
	// Operations, of requests and of calls; a page fault and what was submitted
	// before are waits like them.
	ClassRead    = "read"
	ClassWrite   = "write"
	ClassFlush   = "flush"
	ClassSync    = "sync"
	ClassFault   = "fault"
	ClassAsync   = "async"
	ClassNames   = "names"
	ClassLock    = "lock"
	ClassFlight  = "flight"
	ClassOther   = "other"
	ClassResting = "resting" // of looks: no thread ran

	ClassDiscard = "discard" // what is freed is told to the device (TRIM)

	// Ways that data take which is no read(2).
	ClassSplice  = "splice"
	ClassCopy    = "copy"
	ClassAIO     = "aio"
	ClassIOUring = "io_uring"
	ClassKernel  = "kernel"

	// What is waited for.
	ClassPage      = "page"
	ClassMetadata  = "metadata"
	ClassWriteback = "writeback"
	ClassCommit    = "commit"
	ClassJournal   = "journal"
	ClassQueue     = "queue"
	ClassDirect    = "direct"
	ClassNetwork   = "network"
	ClassFUSE      = "fuse"
	ClassSwap      = "swap"
	ClassLimit     = "limit"
	ClassSpace     = "space"
	ClassPermit    = "permit"
	ClassUnknown   = "unknown"

	// Kinds of locks.
	ClassMmapLock = "mmap_lock"
	ClassRWSem    = "rwsem"
	ClassMutex    = "mutex"
	ClassFutex    = "futex"
	ClassFreeze   = "freeze"
	ClassFile     = "file"

	// Resources, of pressure.
	ClassCPU    = "cpu"
	ClassIO     = "io"
	ClassMemory = "memory"

	// Limits: of memory, and of I/O in a second.
	ClassMax        = "max"
	ClassHigh       = "high"
	ClassReadBytes  = "read_bytes"
	ClassWriteBytes = "write_bytes"
	ClassReads      = "reads"
	ClassWrites     = "writes"

	// Whose memory was short.
	ClassHost   = "host"
	ClassCgroup = "cgroup"

	// States of a thread as ps prints them.
	ClassRunning  = "R"
	ClassSleeping = "S"
	ClassBlocked  = "D"
)
