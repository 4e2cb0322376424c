package diagnose

// List is every cause that is judged, in the order in which ties are broken.
func List() []Cause {
	return []Cause{
		deviceErrors(),
		swapThrash(),
		cgroupIOThrottle(),
		dirtyThrottling(),
		syncWrites(),
		readaheadWaste(),
		cacheSqueezed(),
		cachePollution(),
		cgroupCacheLimit(),
		cacheBusting(),
		directIO(),
		coldCache(),
		reclaimStall(),
		writebackInterference(),
		noisyNeighbour(),
		microbursts(),
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

// Healthy and Unknown are the two answers that name no cause.
const (
	Healthy ID = "healthy"
	Unknown ID = "cannot-tell"
)

// deviceCauses are what a device can be slow for; whatever sends it needless
// I/O explains them.
func deviceCauses() []ID {
	return []ID{"device-iops-limit", "device-bandwidth-limit", "device-queueing", "device-latency-bound", "microbursts"}
}
