package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// syncWrites: the program waits until its writes, or the journal, are on the
// device.
func syncWrites() Cause {
	return Cause{
		ID: SyncWrites, Title: "the program waits for its writes to reach the device (fsync)",
		Needs: [][]sample.Metric{{sample.WaitIO}},
		Over:  deviceCauses(),
		Judge: func(c *Case) Verdict {
			if c.w.Told && !c.w.Has(sample.WaitIO) {
				return c.toldSync()
			}
			if !c.w.Has(sample.WaitIO) {
				return cannotTell(c.w.WhyAbsent(sample.WaitIO))
			}
			wait, total := c.syncWait(), c.victim.waitTotal+c.victim.pause
			if !c.suffers() {
				return no("no program waits for I/O long enough to matter")
			}
			if !c.w.Told && !c.counted() && wait+c.victim.wait[sample.ClassWrite]+c.victim.wait[sample.ClassOther] >= 0.3*total && wait < 0.3*total {
				return cannotTell("its writes wait, but waits were not counted: whether they wait for the device (O_SYNC) is not known")
			}
			if wait < 0.3*total || total == 0 {
				return no(fmt.Sprintf("the victim waits in fsync and similar calls for %s of its waiting time", percent(wait/max(total, 1e-9))))
			}
			s := c.w.Seconds()
			e := []Evidence{
				c.partOf("time blocked in fsync, fdatasync, msync, O_SYNC", c.victim.shareOf(wait, s), sample.WaitIO),
			}
			for _, op := range []string{sample.ClassFlush, sample.ClassWrite} {
				key := sample.Entity{Device: c.device, Class: op}
				if n, ok := c.w.Sum(sample.BlockOps, key); ok && n > 0 {
					e = append(e, c.figure(op+" requests to "+c.device, n/s, "count/s", sample.BlockOps).as("sync-requests"))
					if t, ok := c.w.Sum(sample.BlockDeviceTime, key); ok {
						e = append(e, c.figure("time of one "+op, t/n, "seconds", sample.BlockDeviceTime).as("time-of-one-sync-request"))
					}
				}
			}
			k := c.culprit()
			if f := c.topFile("", sample.CacheDirtied); f != (sample.FileID{}) {
				c.at(&k, f)
			}
			return Verdict{
				Answer: Yes, Confidence: confidence(wait/total, true), Weight: c.part(wait), Culprit: k, Evidence: e,
				Disprove: "the program is as slow on a copy of the data without the syncs",
				Advice: []Advice{c.promise(removal{sure: wait, maybe: total - wait, kernel: true}).advise(
					"sync less often: commit in groups, or write several records before one fdatasync",
					"half the syncs, half this waiting; without any syncs only the device's bandwidth limits it"),
					{
						Do:     "or put the log on a device with a lower flush time (power-loss protected cache)",
						Expect: "waiting falls with the time of one flush",
					}},
			}
		},
	}
}

// ownWrites is the share of the pages it dirtied that a program sends to the
// device itself, from which on its files are open with O_SYNC or O_DSYNC: else
// the kernel's flushers, or its own fsync, send what it writes into the cache.
const ownWrites = 0.5

// ofFolios is the same where it sent half of all that was written to the device: what it
// dirtied counts whole folios, and of one of 64 KiB a database may write a page of 8.
const ofFolios = 0.1

// syncWait is the seconds that the victim waits until what it wrote is on the
// device: in fsync and similar, and in write(2) where that does the same. Others
// wait for a commit or a flush, too: a worker of io_uring that syncs for who
// asked it, and who finds no room in the journal.
func (c *Case) syncWait() float64 {
	v := &c.victim
	wait := v.wait[sample.ClassSync]
	sent, _ := c.w.Sum(sample.BlockBytes, sample.Entity{PID: v.pid, Device: c.device, Class: sample.ClassWrite})
	direct := c.of(sample.DirectWriteByte)
	past := direct > 0 && direct >= ownWrites*sent
	// What it writes past the cache it sends itself, too, and dirties the inode's page by it.
	writes, _ := c.w.Sum(sample.BlockOps, sample.Entity{PID: v.pid, Device: c.device, Class: sample.ClassWrite})
	dirtied := c.of(sample.CacheDirtied) * pageSize
	itself := sent >= ownWrites*dirtied || sent >= ofFolios*dirtied && sent >= ownWrites*c.requestsOf(c.device, sample.ClassWrite).bytes
	if dirtied > 0 && itself && !past && !c.unflushed(writes) {
		wait += v.wait[sample.ClassWrite]
	}
	// A database's log may be written past the cache: then the write waits for the
	// device, and the sync that belongs to it only for the device's own cache.
	flushes, _ := c.w.Sum(sample.BlockOps, sample.Entity{PID: v.pid, Device: c.device, Class: sample.ClassFlush})
	if past && writes > 0 && flushes >= flushedWrites*writes {
		wait = max(wait, v.wait[sample.ClassSync]+v.wait[sample.ClassWrite])
	}
	return max(wait, v.waits[sample.ClassCommit]+v.waits[sample.ClassFlush])
}

// unflushed tells whether hardly any of the writes that the victim sent was followed by
// what a sync does on a device with a cache of its own: a flush of that, or a commit of
// the journal. File systems that keep checksums (btrfs) take writes with O_DIRECT through
// the page cache and wait until they are written, as is done with O_SYNC, and leave it at
// that.
func (c *Case) unflushed(writes float64) bool {
	v := &c.victim
	back, known := c.w.Value(sample.DeviceWriteCache, sample.Entity{Device: c.device})
	flushes := c.requestsOf(c.device, sample.ClassFlush).ops
	return known && back == 1 && v.waits != nil && flushes < hardlyFlushed*writes &&
		v.waits[sample.ClassCommit]+v.waits[sample.ClassFlush] < hardlyFlushed*v.wait[sample.ClassWrite]
}

// hardlyFlushed is the share of its writes, and of its waiting in them, below which a
// program does not sync them: others of the file system have the device flush, too.
const hardlyFlushed = 0.05

// flushedWrites is the share of its writes past the cache that a program has the
// device flush, from which on each of them is a commit. A program that writes
// much and syncs now and then waits for the device's speed.
const flushedWrites = 0.5
