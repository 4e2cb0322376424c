package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// metadataBound: the program waits for blocks of the file system's own, which say
// where files are and what they are: inodes, directories, maps of blocks. Told from
// cold-cache by what its threads sleep for, not by the sizes of files.
func metadataBound() Cause {
	return Cause{
		ID: MetadataBound, Title: "the program waits for inodes and directories to be read from disk",
		Needs: [][]sample.Metric{{sample.WaitFor}},
		Over:  deviceCauses(),
		Judge: func(c *Case) Verdict {
			if !c.w.Has(sample.WaitFor) {
				return cannotTell(c.w.WhyAbsent(sample.WaitFor))
			}
			if !c.suffers() {
				return no("no program waits for I/O long enough to matter")
			}
			r, s := c.reading(), c.w.Seconds()
			if !r.byMetadata() {
				return no(fmt.Sprintf("the victim waits for inodes and directories for %s of its waiting", percent(c.part(r.metadata))))
			}
			if c.part(r.metadata) < 0.3 {
				return no("the victim waits mostly in something else than reads of inodes and directories")
			}
			v := c.cache()
			e := []Evidence{
				c.partOf("time blocked on inodes, directories and maps of blocks", c.victim.shareOf(r.metadata, s), sample.WaitFor),
				c.partOf("time blocked on data of files", c.victim.shareOf(r.cached, s), sample.WaitFor),
			}
			own := sample.Entity{PID: c.victim.pid, Device: c.device, Class: sample.ClassRead}
			if n, ok := c.w.Sum(sample.BlockOps, own); ok && n > 0 {
				b, _ := c.w.Sum(sample.BlockBytes, own)
				t := c.blockTime(func(e sample.Entity) bool { return e == own })
				e = append(e, c.figure("its reads from "+c.device, n/s, "count/s", sample.BlockOps).as("reads-of-the-victim"),
					c.figure("mean size of one", b/n, "bytes", sample.BlockBytes),
					c.figure("time of one", t/n, "seconds", sample.BlockDeviceTime).as("time-of-one-read"))
			}
			if v.known && v.inserted > 0 {
				e = append(e, c.figure("re-read after eviction", v.refault, "ratio", v.from))
			}
			return Verdict{
				Answer: Yes, Confidence: confidence(2*(r.metadata/max(r.metadata+r.cached, 1e-9)-0.5), true),
				Weight: c.part(r.metadata), Culprit: c.victimCulprit(), Evidence: e,
				Disprove: "the same walk over the same files takes as long when it is repeated at once",
				Advice:   c.metadataAdvice(&v, c.promise(removal{sure: r.metadata, maybe: c.victim.waitIO() - r.metadata, kernel: true})),
			}
		},
	}
}

// byMetadata tells of reads that wait for what the file system keeps of files more
// than for what is in them.
func (r *reading) byMetadata() bool { return r.metadata > r.cached+r.direct }

// metadataAdvice is what to change, by whether the blocks had been in memory before.
func (c *Case) metadataAdvice(v *cacheView, gain promise) []Advice {
	fewer := Advice{
		Do:     "or keep fewer, larger files (an archive, a database, packed objects), in more directories of fewer entries each",
		Expect: "each block that is read then serves more of what is asked for",
	}
	side := Advice{
		Do:     "or walk the tree with several threads or processes at a time, each a part of it (git: core.preloadIndex, and core.fsmonitor so that it need not look at every file)",
		Expect: "the reads of several wait at the same time; each of them takes as long as now",
	}
	if v.known && v.refault >= refaultLimit {
		keep := gain.advise(
			"let the kernel keep inodes and directories in memory: lower vm.vfs_cache_pressure (100 is usual), and give the cache more memory",
			"what was read once is then found in memory")
		keep.Command = "sysctl vm.vfs_cache_pressure=50"
		return []Advice{keep, fewer, side}
	}
	warm := gain.advise(
		"read inodes and directories ahead of use, after a start or reboot: find DIR -printf '' (or du, ls -lR) on the tree",
		"from the second walk on they are found in memory, as long as there is room (lower vm.vfs_cache_pressure keeps them longer)")
	return []Advice{warm, side, fewer}
}
