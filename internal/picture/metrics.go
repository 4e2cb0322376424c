package picture

import "iocause/internal/sample"

// counters are the totals that are drawn, of the host and of devices.
func counters() []sample.Metric {
	return []sample.Metric{
		sample.PSISome, sample.PSIFull,
		sample.CPUUser, sample.CPUSystem, sample.CPUIdle, sample.CPUIOWait, sample.CPUSteal,
		sample.VMRefaultFile, sample.VMSwapIn, sample.VMSwapOut,
		sample.CacheAccesses, sample.CacheMisses, sample.CacheInserted, sample.CacheEvicted, sample.CacheReread,
		sample.DiskReads, sample.DiskWrites, sample.DiskReadBytes, sample.DiskWriteBytes, sample.DiskReadTime, sample.DiskWriteTime,
		sample.DiskBusy, sample.DiskWeighted,
	}
}

// gauges are the values at an instant that are drawn.
func gauges() []sample.Metric {
	return []sample.Metric{sample.MemCache, sample.MemAnon, sample.MemShmem, sample.MemSlab, sample.MemFree, sample.MemDirty, sample.MemWriteback}
}

// metrics are all whose source is shown.
func metrics() []sample.Metric {
	return append(append(counters(), gauges()...),
		sample.HistDevice, sample.HistQueue, sample.WaitFor, sample.WaitIO, sample.WaitDirtyPause, sample.LockWait, sample.ReclaimTime,
		sample.BlockOps, sample.BlockDeviceTime, sample.BlockFileBytes)
}

// Drawn are the metrics of the host and of devices that a Course draws over time.
func Drawn() []sample.Metric { return append(counters(), gauges()...) }
