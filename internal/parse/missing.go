package parse

import "iocause/internal/sample"

// next says what to run, or to paste as well, for figures that a text lacks.
// The order is that in which it is said.
func next() []sample.Gap {
	return []sample.Gap{
		{Why: "whether pages are read again after an eviction is not in the text: paste /proc/vmstat twice, some seconds apart (workingset_refault_file, pgpgin)",
			Metrics: []sample.Metric{sample.CacheReread, sample.VMRefaultFile}},
		{Why: "hits and misses of the page cache are not in the text: paste cachestat",
			Metrics: []sample.Metric{sample.CacheAccesses, sample.CacheMisses}},
		{Why: "who waits in which system call is not in the text: run iocause diagnose while it happens",
			Metrics: []sample.Metric{sample.WaitIO, sample.WaitDirtyPause}},
		{Why: "what threads sleep for in the kernel is not in the text: run iocause diagnose while it happens",
			Metrics: []sample.Metric{sample.WaitFor}},
		{Why: "what the devices do is not in the text: paste iostat -xz 1 5",
			Metrics: []sample.Metric{sample.BlockOps, sample.DiskReads}},
		{Why: "swapping is not in the text: paste vmstat 1 5",
			Metrics: []sample.Metric{sample.VMSwapIn, sample.VMSwapOut}},
		{Why: "whether requests fail is not in the text: paste dmesg -T, the lines with errors",
			Metrics: []sample.Metric{sample.BlockFailures}},
		{Why: "the dirty limit is not in the text: paste /proc/meminfo and the output of sysctl -a (vm.dirty_...)",
			Metrics: []sample.Metric{sample.VMDirtyLimit}},
		{Why: "memory limits of cgroups are not in the text: run iocause diagnose while it happens",
			Metrics: []sample.Metric{sample.CgroupMemLimit, sample.CgroupMemUsage}},
		{Why: "I/O limits of cgroups are not in the text: run iocause diagnose while it happens",
			Metrics: []sample.Metric{sample.CgroupIOLimit, sample.BlockThrottled}},
		{Why: "the processor time of processes is not in the text: paste pidstat -u 1 5",
			Metrics: []sample.Metric{sample.ProcUser}},
		{Why: "direct reads are not in the text: run iocause diagnose while it happens",
			Metrics: []sample.Metric{sample.DirectReads, sample.BlockDirect}},
		{Why: "read-ahead that nobody uses is not in the text: run iocause diagnose while it happens",
			Metrics: []sample.Metric{sample.CacheInserted, sample.CacheWasted}},
	}
}

// explain puts a gap into the window for each group of figures of which the
// text has none.
func (c *Case) explain(into *sample.Recorder) {
	for _, g := range next() {
		have := false
		for _, m := range g.Metrics {
			have = have || c.Window.Has(m)
		}
		if !have {
			into.PutGap(g)
		}
	}
}
