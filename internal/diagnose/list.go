package diagnose

import "slices"

// List is every cause that is judged, in the order in which ties are broken.
func List() []Cause {
	return []Cause{
		deviceErrors(),
		swapThrash(),
		cgroupIOThrottle(),
		hostDifference(),
		fileSystemFull(),
		dirtyThrottling(),
		syncWrites(),
		journalCommit(),
		readaheadWaste(),
		cacheSqueezed(),
		cachePollution(),
		cgroupCacheLimit(),
		cacheBusting(),
		directIO(),
		accessScannerSlow(),
		fuseDaemonSlow(),
		remoteServerSlow(),
		networkLimitsIO(),
		coldCache(),
		metadataBound(),
		reclaimStall(),
		compactionStall(),
		discardStorm(),
		writebackInterference(),
		noisyNeighbour(),
		microbursts(),
		deviceUnhealthy(),
		raidSync(),
		writeCacheOff(),
		encryptionCPU(),
		deviceDegraded(),
		cloudVolumeLimit(),
		cloudInstanceLimit(),
		deviceIOPSLimit(),
		deviceBandwidthLimit(),
		deviceQueueing(),
		deviceLatencyBound(),
		lockContention(),
		cpuSaturated(),
		tinyCalls(),
		cpuBound(),
	}
}

// AnyProblem stands for every cause but healthy where answers are named.
const AnyProblem = "problem"

// Answers are what can be asked of a report: that it names a cause, any, or none that
// can be told.
func Answers() []string {
	all := []string{AnyProblem, string(Unknown)}
	for _, c := range List() {
		all = append(all, string(c.ID))
	}
	return all
}

// Is tells whether the report has one of these answers.
func (r *Report) Is(answers []string) bool {
	problem := r.Primary != Healthy && r.Primary != Unknown
	return slices.Contains(answers, string(r.Primary)) || problem && slices.Contains(answers, AnyProblem)
}

// The causes, by the names that reports have.
const (
	DeviceErrors          ID = "device-errors"
	DeviceUnhealthy       ID = "device-unhealthy"
	RaidSync              ID = "raid-degraded-or-resync"
	WriteCacheOff         ID = "write-cache-off"
	EncryptionCPU         ID = "encryption-cpu"
	SwapThrash            ID = "swap-thrash"
	CgroupIOThrottle      ID = "cgroup-io-throttle"
	HostDifference        ID = "host-difference"
	FileSystemFull        ID = "file-system-full-or-fragmented"
	DirtyThrottling       ID = "dirty-throttling"
	SyncWrites            ID = "sync-writes"
	JournalCommit         ID = "journal-commit"
	ReadaheadWaste        ID = "readahead-waste"
	CacheSqueezed         ID = "cache-squeezed"
	CachePollution        ID = "cache-pollution"
	CgroupCacheLimit      ID = "cgroup-cache-limit"
	CacheBusting          ID = "cache-busting"
	DirectIO              ID = "direct-io"
	AccessScannerSlow     ID = "access-scanner-slow"
	FuseDaemonSlow        ID = "fuse-daemon-slow"
	RemoteServerSlow      ID = "remote-server-slow"
	NetworkLimitsIO       ID = "network-limits-io"
	ColdCache             ID = "cold-cache"
	MetadataBound         ID = "metadata-bound"
	ReclaimStall          ID = "reclaim-stall"
	CompactionStall       ID = "compaction-stall"
	DiscardStorm          ID = "discard-storm"
	WritebackInterference ID = "writeback-interference"
	NoisyNeighbour        ID = "noisy-neighbour"
	Microbursts           ID = "microbursts"
	DeviceDegraded        ID = "device-degraded"
	CloudVolumeLimit      ID = "cloud-volume-limit"
	CloudInstanceLimit    ID = "cloud-instance-limit"
	DeviceIOPSLimit       ID = "device-iops-limit"
	DeviceBandwidthLimit  ID = "device-bandwidth-limit"
	DeviceQueueing        ID = "device-queueing"
	DeviceLatencyBound    ID = "device-latency-bound"
	LockContention        ID = "lock-contention"
	CPUSaturated          ID = "cpu-saturated"
	SmallIO               ID = "small-io"
	CPUBound              ID = "cpu-bound"
)

// Healthy and Unknown are the two answers that name no cause.
const (
	Healthy ID = "healthy"
	Unknown ID = "cannot-tell"
)

// deviceCauses are what a device can be slow for; whatever sends it needless
// I/O explains them.
func deviceCauses() []ID {
	return []ID{CloudVolumeLimit, CloudInstanceLimit, DeviceIOPSLimit, DeviceBandwidthLimit, DeviceQueueing, DeviceLatencyBound, Microbursts}
}

// isRoot tells whether a cause is behind another one however little it weighs
// by itself. Requests that fail are not to be made faster; and who re-reads what
// a memory limit pushed out must find room below that limit for every page,
// which is why it stalls.
func isRoot(cause, of ID) bool {
	return cause == DeviceErrors || cause == CgroupCacheLimit && of == ReclaimStall
}
