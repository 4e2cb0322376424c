package diagnose

import (
	"fmt"
	"maps"
	"slices"

	"iocause/internal/sample"
)

// Read-ahead counts as waste when it brings in this many times what is used,
// and more than what a few open streams may rightly have ahead of them.
const (
	amplificationLimit = 3.0
	streamsAhead       = 4.0
)

// readaheadWaste: random reads drag in pages that nobody uses.
func readaheadWaste() Cause {
	return Cause{
		ID: ReadaheadWaste, Title: "read-ahead brings in data that is never used",
		Needs: [][]sample.Metric{{sample.CacheInserted}, {sample.DeviceReadAhead}},
		Over:  append(append(deviceCauses(), servedCauses()...), CacheBusting, CgroupCacheLimit, ColdCache),
		Judge: func(c *Case) Verdict {
			if !c.exact() {
				return cannotTell(c.w.WhyAbsent(sample.CacheInserted))
			}
			v := c.cache()
			if !c.suffers() {
				return no("no program waits for I/O long enough to matter")
			}
			if v.inserted < fewMisses {
				return no("the victim reads nothing into the cache")
			}
			used := v.fromDisk()
			wasted := max(0, v.inserted-used) * pageSize
			amplification := v.inserted / max(1, used)
			ahead, ok := c.w.Value(sample.DeviceReadAhead, sample.Entity{Device: c.device})
			if !ok {
				ahead = 128 << 10 // the kernel's default
			}
			if amplification < amplificationLimit {
				return no(fmt.Sprintf("%.1f pages are read for each page used: read-ahead fits the pattern", amplification))
			}
			// A huge page is mapped whole by one fault that no event tells of.
			if huge, ok := c.w.Sum(sample.VMHugeMapped, sample.Entity{}); ok && v.mapped > 0 && v.inserted/(used+huge) < amplificationLimit {
				return no(fmt.Sprintf("%s of files were mapped in huge pages, whose use cannot be seen: apart from them read-ahead fits the pattern", bytes(huge*pageSize)))
			}
			if wasted < streamsAhead*ahead {
				return no(fmt.Sprintf("only %s were read and not used yet, which is normal for sequential reads", bytes(wasted)))
			}
			s := c.w.Seconds()
			return Verdict{
				Answer: Yes, Confidence: confidence((amplification-amplificationLimit)/10+0.3, true),
				Weight: c.readWeight(&v) * c.wastedTime(amplification), Culprit: c.culprit(),
				Evidence: []Evidence{
					c.figure("read amplification", amplification, "ratio", sample.CacheInserted),
					c.figure("read into the cache", v.inserted*pageSize/s, "bytes/s", sample.CacheInserted),
					c.figure("of that used", used*pageSize/s, "bytes/s", sample.CacheMisses),
					c.figureOf("read-ahead of "+c.device, ahead, "bytes", sample.DeviceReadAhead, sample.Entity{Device: c.device}).as("read-ahead"),
					c.partOf("time blocked on reads", c.victim.shareOf(v.readWait, s), sample.WaitIO),
				},
				Disprove: "the pages that were read ahead are used soon after, and the amplification falls to 1",
				Advice: []Advice{
					c.promise(c.fasterDevice()).advise(
						"tell the kernel that the access is random: posix_fadvise(POSIX_FADV_RANDOM) for read(2), madvise(MADV_RANDOM) for mappings",
						fmt.Sprintf("the device reads %s instead of %s a second", bytes(used*pageSize/s), bytes(v.inserted*pageSize/s))).saving(c.unread(&v, 1), ""),
					Advice{
						Do:      fmt.Sprintf("or lower the read-ahead of the device from %.0f to 16 KiB", ahead/1024),
						Expect:  "for every program, but sequential readers become slower",
						Command: c.readAheadCommand(16),
					}.saving(c.unread(&v, 16<<10/pageSize), ""),
				},
			}
		},
	}
}

// wastedTime is the part of a read's time that what nobody uses takes: what a read of
// the used part alone would save, as the device takes longer for larger requests, or
// for more of them. Where every request is of one size that is not known, and all that
// is not used is taken to cost as much as what is.
func (c *Case) wastedTime(amplification float64) float64 {
	unused := 1 - 1/amplification
	o := c.ownLatency()
	e := sample.Entity{PID: c.victim.pid, Device: c.device, Class: sample.ClassRead}
	ops, _ := c.w.Sum(sample.BlockOps, e)
	read, _ := c.w.Sum(sample.BlockBytes, e)
	if ops < baseOps || o.latency == 0 {
		return unused
	}
	alone, ok := c.timeOf(sample.ClassRead, max(pageSize, read/ops/amplification))
	if !ok {
		return unused
	}
	return min(unused, clamp01(1-alone/o.latency))
}

// timeOf is how long the victim's device takes for a request of a size that comes
// while it is idle, from the smallest and the largest of those that were seen often
// enough; ok is false where there are not two sizes.
func (c *Case) timeOf(op string, size float64) (seconds float64, ok bool) {
	times := map[uint64]float64{}
	c.w.Each(sample.BlockDepthOps, func(e sample.Entity, s *sample.Series) {
		of, parsed := sample.ParseIOClass(e.Class)
		t, timed := c.w.Sum(sample.BlockDepthTime, e)
		if n := s.Sum(); parsed && timed && e.Device == c.device && of.Op == op && of.Depth == 1 && n >= baseOps {
			times[of.Size] = t / n
			if alone := c.alone(op, of.Size); alone > 0 {
				times[of.Size] = min(t/n, alone)
			}
		}
	})
	if len(times) < 2 {
		return 0, false
	}
	sizes := slices.Sorted(maps.Keys(times))
	small, large := sizes[0], sizes[len(sizes)-1]
	slope := max(0, times[large]-times[small]) / float64(large-small)
	return max(0, times[small]+slope*(size-float64(small))), true
}

// unread is what the disk no longer reads once no more than so many pages come with
// each that is used. What was pushed out by what nobody uses then stays, too.
func (c *Case) unread(v *cacheView, pages float64) *Saves {
	used := v.fromDisk()
	low := 1 - min(1, pages*used/v.inserted)
	high := 1 - max(0, used-v.reread)/v.inserted
	if pages > 1 {
		return saves(bytesRead, low, low, high, c.w.Source(sample.CacheInserted))
	}
	return saves(bytesRead, low, low-0.03, max(high, low+0.03), c.w.Source(sample.CacheInserted))
}
