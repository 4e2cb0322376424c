package sample

// Metric names one measured quantity; Catalog says what it means.
type Metric string

// Host: processors, memory, pressure.
const (
	CPUUser       Metric = "cpu.user"
	CPUSystem     Metric = "cpu.system"
	CPUIdle       Metric = "cpu.idle"
	CPUIOWait     Metric = "cpu.iowait"
	CPUSteal      Metric = "cpu.steal"
	CPUCount      Metric = "cpu.count"
	CPURunDelay   Metric = "cpu.run_delay"
	ProcsRunning  Metric = "procs.running"
	ProcsBlocked  Metric = "procs.blocked"
	MemTotal      Metric = "mem.total"
	MemFree       Metric = "mem.free"
	MemAvailable  Metric = "mem.available"
	MemCache      Metric = "mem.cache"
	MemAnon       Metric = "mem.anon"
	MemShmem      Metric = "mem.shmem"
	MemSlab       Metric = "mem.slab"
	MemDirty      Metric = "mem.dirty"
	MemWriteback  Metric = "mem.writeback"
	SwapTotal     Metric = "swap.total"
	SwapFree      Metric = "swap.free"
	PSISome       Metric = "psi.some"
	PSIFull       Metric = "psi.full"
	VMPageIn      Metric = "vm.page_in"
	VMPageOut     Metric = "vm.page_out"
	VMSwapIn      Metric = "vm.swap_in"
	VMSwapOut     Metric = "vm.swap_out"
	VMMajorFault  Metric = "vm.major_faults"
	VMRefaultFile Metric = "vm.refault_file"
	VMRefaultAnon Metric = "vm.refault_anon"
	VMHugeMapped  Metric = "vm.huge_mapped"
	VMScanDirect  Metric = "vm.scan_direct"
	VMStealDirect Metric = "vm.steal_direct"
	VMScanKswapd  Metric = "vm.scan_kswapd"
	VMStealKswapd Metric = "vm.steal_kswapd"
	VMAllocStall  Metric = "vm.alloc_stall"
	VMCompact     Metric = "vm.compact_stall"
	VMKilled      Metric = "vm.oom_kills"
	VMDirtied     Metric = "vm.dirtied"
	VMWritten     Metric = "vm.written"
	VMDirtyLimit  Metric = "vm.dirty_threshold"
	VMDirtyBg     Metric = "vm.dirty_background_threshold"
	Sysctl        Metric = "sysctl.vm"
)

// How full file systems are, from statfs(2).
const (
	FSSize       Metric = "fs.size"
	FSAvailable  Metric = "fs.available"
	FSInodes     Metric = "fs.inodes"
	FSInodesFree Metric = "fs.inodes_free"
)

// Network interfaces, as the kernel counts them.
const (
	NetReceived Metric = "net.received_bytes"
	NetSent     Metric = "net.sent_bytes"
	NetErrors   Metric = "net.errors"
	NetDrops    Metric = "net.drops"
	NetSpeed    Metric = "net.speed"
	TCPSegments Metric = "net.tcp_segments"
	TCPAgain    Metric = "net.tcp_retransmitted"
)

// Block devices, as the kernel counts them.
const (
	DiskReads       Metric = "disk.reads"
	DiskWrites      Metric = "disk.writes"
	DiskReadBytes   Metric = "disk.read_bytes"
	DiskWriteBytes  Metric = "disk.write_bytes"
	DiskReadTime    Metric = "disk.read_time"
	DiskWriteTime   Metric = "disk.write_time"
	DiskBusy        Metric = "disk.busy"
	DiskWeighted    Metric = "disk.weighted_time"
	DiskFlushes     Metric = "disk.flushes"
	DiskFlushTime   Metric = "disk.flush_time"
	DiskInFlight    Metric = "disk.in_flight"
	DeviceReadAhead Metric = "device.read_ahead"
	DeviceRotate    Metric = "device.rotational"
	DeviceRequests  Metric = "device.nr_requests"
)

// Processes and cgroups, as the kernel counts them.
const (
	ProcUser       Metric = "proc.cpu_user"
	ProcSystem     Metric = "proc.cpu_system"
	ProcMajorFault Metric = "proc.major_faults"
	ProcReadChars  Metric = "proc.read_chars"
	ProcWriteChars Metric = "proc.write_chars"
	ProcReadCalls  Metric = "proc.read_calls"
	ProcWriteCalls Metric = "proc.write_calls"
	ProcSyncCalls  Metric = "proc.sync_calls"
	ProcReadBytes  Metric = "proc.read_bytes"
	ProcWriteBytes Metric = "proc.write_bytes"
	ProcBlkioDelay Metric = "proc.blkio_delay"
	ProcRunDelay   Metric = "proc.run_delay"
	ProcBlocked    Metric = "proc.seen_blocked"
	ProcRSS        Metric = "proc.rss"
	ProcSwap       Metric = "proc.swap"
	ProcThreads    Metric = "proc.threads"
	CallTime       Metric = "proc.call_time"
	ThreadsInState Metric = "threads.in_state"
	TasksHung      Metric = "tasks.hung"

	CgroupMemUsage   Metric = "cgroup.memory_usage"
	CgroupMemLimit   Metric = "cgroup.memory_limit"
	CgroupMemFile    Metric = "cgroup.memory_file"
	CgroupMemAnon    Metric = "cgroup.memory_anon"
	CgroupMemShmem   Metric = "cgroup.memory_shmem"
	CgroupRefault    Metric = "cgroup.refault_file"
	CgroupRefaultAn  Metric = "cgroup.refault_anon"
	CgroupLimitHits  Metric = "cgroup.limit_hits"
	CgroupReadBytes  Metric = "cgroup.read_bytes"
	CgroupWriteBytes Metric = "cgroup.write_bytes"
	CgroupReads      Metric = "cgroup.reads"
	CgroupWrites     Metric = "cgroup.writes"
	CgroupIOLimit    Metric = "cgroup.io_limit"
	CgroupCPUQuota   Metric = "cgroup.cpu_quota"
	CgroupPeriods    Metric = "cgroup.cpu_periods"
	CgroupThrottled  Metric = "cgroup.cpu_throttled_periods"
	CgroupCPUHeld    Metric = "cgroup.cpu_throttled_time"
)

// Page cache and waits, from the pagecache probe.
const (
	CacheVisits     Metric = "cache.visits"
	CacheCalls      Metric = "cache.calls"
	CacheCold       Metric = "cache.cold"
	CacheWayVisits  Metric = "cache.visits_by_way"
	CacheWayCold    Metric = "cache.cold_by_way"
	CacheColdMapped Metric = "cache.cold_mapped"
	CacheDemand     Metric = "cache.demand_missed"
	CacheInserted   Metric = "cache.inserted"
	CacheWriteAlloc Metric = "cache.write_allocated"
	CacheWasted     Metric = "cache.wasted"
	CacheUnread     Metric = "cache.unread"
	CacheEvicted    Metric = "cache.evicted"
	CacheReread     Metric = "cache.reread"
	CacheFaults     Metric = "cache.faults"
	CacheMajor      Metric = "cache.major_faults"
	CacheDirtied    Metric = "cache.dirtied"
	CacheWait       Metric = "cache.wait"
	CacheSlow       Metric = "cache.slow_waits"
	CacheLongest    Metric = "cache.longest_wait"
	CacheResident   Metric = "cache.resident"

	CacheSampledCalls  Metric = "cache.sampled_calls"
	CacheSampledVisits Metric = "cache.sampled_visits"
	CacheSampledHits   Metric = "cache.sampled_hits"
	CacheSampledMisses Metric = "cache.sampled_misses"
	CacheSampledMapped Metric = "cache.sampled_cold_mapped"
	CacheSampledBytes  Metric = "cache.sampled_visited"
	CacheSampledIn     Metric = "cache.sampled_inserted"
	CacheSampledOut    Metric = "cache.sampled_evicted"
	CacheSampledTime   Metric = "cache.sampled_time"

	DirectReads     Metric = "direct.reads"
	DirectReadBytes Metric = "direct.read_bytes"
	DirectWrites    Metric = "direct.writes"
	DirectWriteByte Metric = "direct.write_bytes"
	WaitIO          Metric = "wait.io"
	WaitThreads     Metric = "wait.threads"
	WaitDirtyPause  Metric = "wait.dirty_pause"
	DirtyPauses     Metric = "wait.dirty_pauses"
)

// Block layer, from the blockio probe.
const (
	BlockOps        Metric = "block.ops"
	BlockBytes      Metric = "block.bytes"
	BlockQueueTime  Metric = "block.queue_time"
	BlockDeviceTime Metric = "block.device_time"
	BlockSequential Metric = "block.sequential"
	BlockErrors     Metric = "block.errors"
	BlockFileBytes  Metric = "block.file_bytes"
	BlockDirect     Metric = "block.direct_read_bytes"
	BlockDirectAgn  Metric = "block.direct_reread_bytes"
	BlockSwapIn     Metric = "block.swap_in_bytes"
	BlockSwapOut    Metric = "block.swap_out_bytes"
	BlockThrottled  Metric = "block.throttled_bios"
	BlockThrottledB Metric = "block.throttled_bytes"
	BlockMaxFlight  Metric = "block.max_in_flight"
	BlockBinOps     Metric = "block.bin_ops"
	BlockBinBytes   Metric = "block.bin_bytes"
	BlockBinTime    Metric = "block.bin_time"
	BlockFineOps    Metric = "block.fine_ops"
	BlockFineBytes  Metric = "block.fine_bytes"
	BlockFineTime   Metric = "block.fine_time"
	BlockFailures   Metric = "block.failures"
	BlockFailTime   Metric = "block.failure_time"
	BlockRequeues   Metric = "block.requeues"
	BlockDepthOps   Metric = "block.depth_ops"
	BlockDepthTime  Metric = "block.depth_time"
	BlockAloneOps   Metric = "block.alone_ops"
	BlockAloneTime  Metric = "block.alone_time"
	HistQueue       Metric = "block.queue_latency"
	HistDevice      Metric = "block.device_latency"
	HistSize        Metric = "block.size"
)

// Writeback and reclaim, from the probes of these names.
const (
	WritebackRate  Metric = "writeback.task_rate"
	WritebackBytes Metric = "writeback.bytes"
	ReclaimTime    Metric = "reclaim.direct_time"
	ReclaimStalls  Metric = "reclaim.direct_stalls"
	ReclaimThreads Metric = "reclaim.threads"
	CompactTime    Metric = "reclaim.compact_time"
	CompactStalls  Metric = "reclaim.compact_stalls"
)

// Locks, from the probe of that name.
const (
	LockWait    Metric = "lock.wait"
	LockWaits   Metric = "lock.waits"
	LockWaitIn  Metric = "lock.wait_in_call"
	LockOwn     Metric = "lock.wait_for_own"
	LockHeld    Metric = "lock.held_from_others"
	LockThreads Metric = "lock.threads"
	LockFutexes Metric = "lock.futexes_followed"
)

// What observing costs.
const (
	CostCollect Metric = "cost.collect_time"
	CostBPFTime Metric = "cost.bpf_time"
	CostBPFRuns Metric = "cost.bpf_runs"
	CostLost    Metric = "cost.lost"
)
