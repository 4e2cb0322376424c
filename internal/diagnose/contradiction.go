package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"iocause/internal/sample"
)

// A finding stands or falls with its evidence. A cause is judged by some figures
// and shows these and others; where one of those that it shows says the opposite of
// what it claims, either is wrong, and which of them is not known: so the answer is
// "cannot tell", whatever the cause's own rules made of it.

// limit is what a figure of a finding's evidence may be at most without
// contradicting the cause that it stands for.
type limit struct {
	figure string  // how its name begins
	least  float64 // in its own unit, or where than is set, of that figure
	most   float64 // likewise; infinite for no bound
	than   string  // how the name of the figure begins that it is compared with, "" for none
}

// above is a limit from below, not reached itself.
func above(figure string, least float64) limit {
	return limit{figure: figure, least: math.Nextafter(least, math.Inf(1)), most: math.Inf(1)}
}

// atLeast is a limit from below.
func atLeast(figure string, least float64) limit {
	return limit{figure: figure, least: least, most: math.Inf(1)}
}

// atMost is a limit from above.
func atMost(figure string, most float64) limit {
	return limit{figure: figure, least: math.Inf(-1), most: most}
}

// atLeastOf is a limit from below by another figure.
func atLeastOf(figure string, times float64, than string) limit {
	return limit{figure: figure, least: times, most: math.Inf(1), than: than}
}

// allHits is a hit ratio at which no page came from disk.
const allHits = 0.99999

// limits are, for each cause, those of its figures that would contradict it.
// What has no row here shows no figure that could.
func limits() map[ID][]limit {
	const (
		hits, again  = "page cache hit ratio", "re-read after eviction"
		used, capped = "memory used by the cgroup", "memory limit of the cgroup"
	)
	reread := []limit{atMost(hits, allHits), atLeast(again, refaultLimit), above("read from disk", 0)}
	// what was used was read at another instant than the limit: a tenth apart
	full := atLeastOf(used, 0.8, capped)
	return map[ID][]limit{
		ColdCache:             {atMost(hits, allHits), atMost(again, 1-refaultLimit), above("read from disk", 0)},
		MetadataBound:         {above("time blocked on inodes", 0)},
		CacheBusting:          reread,
		CgroupCacheLimit:      append(slices.Clone(reread), full),
		CachePollution:        append(slices.Clone(reread), above("put into the cache by the culprit", 0)),
		CacheSqueezed:         append(slices.Clone(reread), atLeastOf("cache at the start", 1, "cache at the end"), atLeastOf("re-reads after it grew", 1, "re-reads before it grew"), above("growth of other memory", 0)),
		ReadaheadWaste:        {above("read amplification", 1), atLeastOf("read into the cache", 1, "of that used")},
		DirectIO:              {above("read with O_DIRECT", 0)},
		SwapThrash:            {above("swapped in", 0), above("swapped out", 0)},
		FileSystemFull:        {above("requests for one call", 1)},
		DirtyThrottling:       {above("time paused", 0)},
		SyncWrites:            {above("time blocked in fsync", 0)},
		JournalCommit:         {above("time blocked on the journal", 0)},
		RaidSync:              {above("disks of the array", 0)},
		WriteCacheOff:         {atMost("write cache on", 0), above("time of one write", 0)},
		EncryptionCPU:         {atLeast("of the time of an I/O, in dm-crypt", encrypts)},
		CloudVolumeLimit:      {above("time over the cap", 0)},
		CloudInstanceLimit:    {above("time over the cap", 0)},
		AccessScannerSlow:     {above("time blocked until it may open a file", 0)},
		FuseDaemonSlow:        {above("time blocked on FUSE", 0)},
		RemoteServerSlow:      {above("time blocked on a server", 0)},
		NetworkLimitsIO:       {above("time blocked on a server", 0)},
		CompactionStall:       {above("time stalled in compaction", 0)},
		ReclaimStall:          {above("time stalled", 0), full},
		DiscardStorm:          {above("discards on ", 0), above("others' requests in flight", 0)},
		WritebackInterference: {above("written back to ", 0), above("others' requests in flight", 0)},
		NoisyNeighbour:        {above("others' requests in flight", 0)},
		Microbursts:           {atLeastOf("in a burst", 1, "operations on ")},
		DeviceQueueing:        {above("mean in flight", 1)},
		DeviceDegraded:        {atLeastOf("latency, now", 1, "the same requests before")},
		DeviceErrors:          {above("failed requests of ", 0)},
		HostDifference:        {atLeastOf("wait for each MiB, now", 1, "wait for each MiB, before")},
		LockContention:        {above("time waiting for locks", 0)},
		CPUSaturated:          {above("of its time that it could run", 0)},
		CPUBound:              {atMost("time blocked on I/O", waitShareLimit)},
		Healthy:               {atMost("longest blocked process", waitShareLimit)},
	}
}

// contradicted says which figure of a finding says the opposite of its cause, ""
// when none does.
func (c *Case) contradicted(f *Finding) string {
	for _, e := range f.Evidence {
		// counters, sizes and times have no sign; less than nothing was not measured
		if e.Value < 0 || math.IsNaN(e.Value) || math.IsInf(e.Value, 0) {
			return fmt.Sprintf("its figure %q is %g, which cannot be: something was counted wrongly", e.Name, e.Value)
		}
	}
	for _, l := range limits()[f.Cause] {
		e := figureOf(f.Evidence, l.figure)
		if e == nil {
			continue
		}
		times, of := 1.0, ""
		if l.than != "" {
			other := figureOf(f.Evidence, l.than)
			if other == nil {
				continue
			}
			times, of = other.Value, fmt.Sprintf(" while %q is %.3g %s", other.Name, other.Value, other.Unit)
		}
		if e.Value < l.least*times || e.Value > l.most*times {
			return fmt.Sprintf("its own figures contradict it: %q is %.3g %s%s", e.Name, e.Value, e.Unit, of)
		}
	}
	if f.Cause == CacheBusting {
		return c.roomLeft()
	}
	return ""
}

// figureOf is the first figure whose name begins so, nil for none.
func figureOf(all []Evidence, name string) *Evidence {
	for i := range all {
		if strings.HasPrefix(all[i].Name, name) {
			return &all[i]
		}
	}
	return nil
}

// freeLimit is the share of the memory that a host keeps free only while nobody
// wants it: the kernel's watermarks are a few percent at most.
const freeLimit = 0.25

// roomLeft says that the host had memory that nobody used, all the time: then
// nothing had to leave the cache for want of it. "" where it had not.
func (c *Case) roomLeft() string {
	free := c.w.Get(sample.MemFree, sample.Entity{})
	total, ok := c.gauge(sample.MemTotal)
	if free == nil || !ok || c.w.Told || free.Min() < freeLimit*total || c.evictsFor() == byHost {
		return ""
	}
	return fmt.Sprintf("%s of the host's %s of memory stayed free, so the host did not evict the data: a memory limit that is not visible here did, or something dropped the pages on purpose", bytes(free.Min()), bytes(total))
}
