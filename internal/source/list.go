// Package source lists every source there is and runs them together over one
// window of time. Nothing else knows all of them.
package source

import (
	"slices"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source/health"
	"iocause/internal/source/probe/blockio"
	"iocause/internal/source/probe/fuse"
	"iocause/internal/source/probe/locks"
	"iocause/internal/source/probe/pagecache"
	"iocause/internal/source/probe/reclaim"
	"iocause/internal/source/probe/writeback"
	"iocause/internal/source/proc/cgroup"
	"iocause/internal/source/proc/diskstats"
	"iocause/internal/source/proc/filesystem"
	"iocause/internal/source/proc/meminfo"
	"iocause/internal/source/proc/mounts"
	"iocause/internal/source/proc/netdev"
	"iocause/internal/source/proc/pid"
	"iocause/internal/source/proc/pressure"
	"iocause/internal/source/proc/queue"
	"iocause/internal/source/proc/raid"
	"iocause/internal/source/proc/schedstat"
	"iocause/internal/source/proc/stat"
	"iocause/internal/source/proc/sysctl"
	"iocause/internal/source/proc/vmstat"
)

// Entry is one source of the list.
type Entry struct {
	Name    string
	Open    func(*host.Host) (sample.Source, error)
	Metrics []sample.Metric  // everything it can emit, but what it costs
	Needs   string           // what it needs to work, for people
	Plan    func() *bpf.Plan // what a probe loads; nil of a reader of files
}

// List is every source, the cheap ones first: what is collected last would
// otherwise wait for the tables of the probes.
func List() []Entry {
	const needsBPF = "root, or CAP_BPF and CAP_PERFMON, and "
	return []Entry{
		{Name: "stat", Open: stat.Open, Needs: "/proc/stat", Metrics: []sample.Metric{
			sample.CPUUser, sample.CPUNice, sample.CPUSystem, sample.CPUIdle, sample.CPUIOWait, sample.CPUSteal,
			sample.CPUCount, sample.ProcsRunning, sample.ProcsBlocked,
		}},
		{Name: "schedstat", Open: schedstat.Open, Needs: "a kernel with CONFIG_SCHEDSTATS", Metrics: []sample.Metric{
			sample.CPURunDelay,
		}},
		{Name: "meminfo", Open: meminfo.Open, Needs: "/proc/meminfo", Metrics: []sample.Metric{
			sample.MemTotal, sample.MemFree, sample.MemAvailable, sample.MemCache, sample.MemAnon,
			sample.MemShmem, sample.MemSlab, sample.MemHuge, sample.MemHugeFree, sample.MemDirty, sample.MemWriteback,
			sample.SwapTotal, sample.SwapFree,
		}},
		{Name: "vmstat", Open: vmstat.Open, Needs: "/proc/vmstat", Metrics: []sample.Metric{
			sample.VMPageIn, sample.VMPageOut, sample.VMSwapIn, sample.VMSwapOut, sample.VMMajorFault,
			sample.VMRefaultFile, sample.VMRefaultAnon, sample.VMHugeMapped, sample.VMScanDirect, sample.VMStealDirect,
			sample.VMScanKswapd, sample.VMStealKswapd, sample.VMAllocStall, sample.VMCompact,
			sample.VMKilled, sample.VMDirtied, sample.VMWritten, sample.VMDirtyLimit, sample.VMDirtyBg,
		}},
		{Name: "sysctl", Open: sysctl.Open, Needs: "/proc/sys/vm", Metrics: []sample.Metric{sample.Sysctl}},
		{Name: "diskstats", Open: diskstats.Open, Needs: "/proc/diskstats", Metrics: []sample.Metric{
			sample.DiskReads, sample.DiskWrites, sample.DiskReadBytes, sample.DiskWriteBytes,
			sample.DiskReadTime, sample.DiskWriteTime, sample.DiskBusy, sample.DiskWeighted,
			sample.DiskFlushes, sample.DiskInFlight,
		}},
		{Name: "queue", Open: queue.Open, Needs: "/sys/class/block", Metrics: []sample.Metric{
			sample.DeviceReadAhead, sample.DeviceRotate, sample.DeviceRequests,
			sample.DeviceKind, sample.DeviceLabel, sample.DeviceOn, sample.DeviceMount,
			sample.DeviceScheduler, sample.DeviceWriteCache, sample.DeviceFUA, sample.DeviceDiscardMax, sample.DeviceWBT,
			sample.DeviceZoned, sample.DevicePhysical, sample.DeviceMisaligned,
		}},
		{Name: "raid", Open: raid.Open, Needs: "/sys/block", Metrics: raid.Metrics()},
		{Name: "pressure", Open: pressure.Open, Needs: "a kernel with CONFIG_PSI, started with psi=1", Metrics: []sample.Metric{
			sample.PSISome, sample.PSIFull,
		}},
		{Name: "cgroup", Open: cgroup.Open, Needs: "a mounted cgroup file system", Metrics: []sample.Metric{
			sample.CgroupMemUsage, sample.CgroupMemLimit, sample.CgroupMemFile, sample.CgroupMemAnon, sample.CgroupMemShmem,
			sample.CgroupRefault, sample.CgroupRefaultAn, sample.CgroupLimitHits, sample.CgroupReadBytes,
			sample.CgroupWriteBytes, sample.CgroupReads, sample.CgroupWrites, sample.CgroupIOLimit,
			sample.CgroupIOCost, sample.CgroupIOCostWait, sample.CgroupIOTarget,
			sample.CgroupCPUQuota, sample.CgroupPeriods, sample.CgroupThrottled, sample.CgroupCPUHeld,
			sample.CgroupPSISome, sample.CgroupPSIFull, sample.CgroupDeviceOn,
		}},
		{Name: "pid", Open: openProcesses, Needs: "root to see other users' processes", Metrics: []sample.Metric{
			sample.ProcUser, sample.ProcSystem, sample.ProcChildren, sample.ProcMajorFault, sample.ProcReadChars,
			sample.ProcWriteChars, sample.ProcReadCalls, sample.ProcWriteCalls, sample.ProcReadBytes,
			sample.ProcWriteBytes, sample.ProcBlkioDelay, sample.ProcRunDelay,
			sample.ProcRSS, sample.ProcSwap, sample.ProcThreads, sample.ProcProcessors, sample.ProcNice,
			sample.ProcLooks, sample.ProcTurns, sample.ProcTurnThreads, sample.ProcFeeds,
		}},
		{Name: "netdev", Open: netdev.Open, Needs: "/proc/net/dev", Metrics: netdev.Metrics()},
		{Name: "mounts", Open: mounts.Open, Needs: "/proc/self/mountinfo", Metrics: mounts.Metrics()},
		{Name: "filesystem", Open: filesystem.Opener(), Needs: "/proc/self/mountinfo", Metrics: filesystem.Metrics()},
		{Name: "health", Open: health.Open, Needs: "root, and the files of disks in /dev", Metrics: health.Metrics()},
		{Name: "reclaim", Open: reclaim.Open, Needs: needsBPF + "/sys/kernel/btf/vmlinux", Metrics: reclaim.Metrics(), Plan: reclaim.Plan},
		{Name: "writeback", Open: writeback.Open, Needs: needsBPF + "/sys/kernel/btf/vmlinux", Metrics: writeback.Metrics(), Plan: writeback.Plan},
		{Name: "locks", Open: locks.Open, Needs: needsBPF + "Linux 5.19, or an older one whose functions programs can be attached to", Metrics: locks.Metrics(), Plan: locks.Plan},
		{Name: "blockio", Open: blockio.Open, Needs: needsBPF + "/sys/kernel/btf/vmlinux", Metrics: blockio.Metrics(), Plan: blockio.Plan},
		{Name: "fuse", Open: fuse.Open, Needs: needsBPF + "Linux 6.11 with FUSE built in", Metrics: fuse.Metrics(), Plan: fuse.Plan},
		{Name: "pagecache", Open: pagecache.Open, Needs: needsBPF + "Linux 6.12, or an older one whose functions programs or kprobes can be attached to", Metrics: pagecache.Metrics(), Plan: pagecache.Plan},
	}
}

// StandIns are sources that are opened only where no other one offers what they
// measure, for they measure it less well.
func StandIns() []Entry {
	return []Entry{
		{Name: "waits", Open: pid.OpenWaits, Needs: "/proc/PID/stat of all processes", Metrics: pid.WaitMetrics()},
	}
}

// Named are the sources of these names, in the order of the list.
func Named(all []Entry, names []string) []Entry {
	var some []Entry
	for _, e := range all {
		if slices.Contains(names, e.Name) {
			some = append(some, e)
		}
	}
	return some
}

// NoneOf is why none of the sources of these names could be opened, nil when one
// could, or none was asked for: empty tables would say that nothing happened.
func NoneOf(all []Status, names []string) error {
	var first error
	for _, s := range all {
		if !slices.Contains(names, s.Name) {
			continue
		}
		if s.OpenErr == nil {
			return nil
		}
		if first == nil {
			first = s.OpenErr
		}
	}
	return first
}
