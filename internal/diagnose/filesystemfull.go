package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"iocause/internal/sample"
)

// Thresholds of a file system whose free space, or whose files, are in small pieces.
const (
	nearlyFull  = 0.05     // of its size is left: from here on free space is seldom in one piece
	largeCall   = 64 << 10 // bytes of a call that a request may serve as a whole
	smallPiece  = 32 << 10 // bytes of a request up to which a large call is in pieces
	manyPieces  = 4        // requests that serve one call: read-ahead and the queue make two of some
	enoughOfOne = 100      // requests, for their mean size to be one
	forSpace    = 0.3      // of the waiting is for free space
)

// fileSystemFull: large reads or writes become many small requests, because the space
// that the file system could give to the file was in small pieces; or writers wait until
// what was written before has its place on the disk, because there is little left.
func fileSystemFull() Cause {
	return Cause{
		ID: FileSystemFull, Title: "the file system is fragmented or nearly full: large calls are in many small pieces, or writers wait for space",
		Needs: [][]sample.Metric{{sample.BlockOps}, {sample.ProcWriteCalls}},
		Over:  append(deviceCauses(), DirtyThrottling, SyncWrites, ColdCache),
		Judge: func(c *Case) Verdict {
			switch {
			case !c.w.Has(sample.BlockOps):
				return cannotTell(c.w.WhyAbsent(sample.BlockOps))
			case !c.w.Has(sample.ProcWriteCalls):
				return cannotTell(c.w.WhyAbsent(sample.ProcWriteCalls))
			case !c.suffers():
				return no("no program waits for I/O long enough to matter")
			case c.device == "":
				return no("no device did any I/O")
			}
			if t := c.victim.waits[sample.ClassSpace]; c.part(t) >= forSpace {
				return c.shortOfSpace(t)
			}
			p, left, full := c.pieces(), 1.0, ""
			point, free, size := c.fileSystemLeft()
			if point != "" {
				left = free / size
			}
			if left < nearlyFull {
				full = fmt.Sprintf("the file system at %s has %s left, but ", point, percent(left))
			}
			switch {
			case p.call == 0:
				return no(full + "the victim's calls are not what its device serves: they say nothing of pieces")
			case p.call < largeCall:
				return no(fmt.Sprintf("%sa call of the victim is of %s: that cannot be in many pieces", full, bytes(p.call)))
			case p.size > smallPiece || p.call < manyPieces*p.size:
				return no(fmt.Sprintf("%sa request is of %s, for calls of %s: it is in few pieces", full, bytes(p.size), bytes(p.call)))
			}
			s, weight := c.w.Seconds(), c.part(p.wait)*(1-p.size/min(p.call, 512<<10))
			k := c.culprit()
			e := []Evidence{
				c.figure("mean size of a "+p.op+" call", p.call, "bytes", sample.ProcWriteCalls).as("size-of-a-call"),
				c.figure("mean size of a request", p.size, "bytes", sample.BlockBytes).as("size-of-a-request"),
				c.figure("requests for one call", p.call/p.size, "count", sample.BlockOps),
				c.partOf("time blocked in "+p.op+"s", c.victim.shareOf(p.wait, s), sample.WaitIO).as("time-blocked-in-pieces"),
			}
			if point != "" {
				e = append(e, c.figure("free space of "+point, left, "ratio", sample.FSAvailable).as("free-space"))
			}
			return Verdict{
				Answer: Yes, Confidence: confidence((p.call/p.size/manyPieces-1)/4, true), Weight: weight, Culprit: k, Evidence: e,
				Disprove: "filefrag shows that its files are in few pieces, or a copy on an empty file system is as slow",
				Advice:   c.piecesAdvice(point, left, &k, c.promise(removal{maybe: p.wait, kernel: true})),
			}
		},
	}
}

// pieces is how the victim's calls compare with the requests that serve them.
type pieces struct {
	op   string
	call float64 // mean bytes of a call; 0: its calls are not what the device serves
	size float64 // mean bytes of a request
	wait float64 // seconds, summed over threads, that it waits in them
}

// pieces is that of its reads or its writes, whichever it waits longer in.
func (c *Case) pieces() pieces {
	v, r := &c.victim, c.reading()
	reads := pieces{op: sample.ClassRead, wait: r.cached + r.direct}
	writes := pieces{op: sample.ClassWrite, wait: max(c.syncWait(), v.wait[sample.ClassWrite]) + v.pause}
	chars, calls := c.of(sample.ProcReadChars), c.of(sample.ProcReadCalls)
	p := &reads
	if writes.wait > reads.wait {
		p, chars, calls = &writes, c.of(sample.ProcWriteChars), c.of(sample.ProcWriteCalls)
	}
	var ops, moved float64
	for pid, l := range c.loads() {
		of := c.w.Processes[pid]
		if pid == v.pid || p.op == sample.ClassWrite && of.Kernel && !isJournal(of.Comm) { // the flusher's
			ops, moved = ops+l[p.op].ops, moved+l[p.op].bytes
		}
	}
	if calls > 0 && ops >= enoughOfOne && moved >= chars/2 && chars >= moved/2 {
		p.call, p.size = chars/calls, moved/ops
	}
	return *p
}

// shortOfSpace is the finding about who waited some seconds, summed over threads, for
// free space. What is written gets its place on the disk only when it is written back.
// As long as less than twice of what is dirty is free, ext4 has each writer start that,
// and wait for it (fs/ext4/inode.c, ext4_nonda_switch).
func (c *Case) shortOfSpace(t float64) Verdict {
	e := []Evidence{
		c.partOf("time blocked for want of space", c.victim.shareOf(t, c.w.Seconds()), sample.WaitFor).as("time-blocked-for-space"),
	}
	do := "make room on the file system, until twice of what programs have written and the disk not yet has is free"
	point, free, size := c.fileSystemLeft()
	if point != "" {
		e = append(e,
			c.figure("free space of "+point, free/size, "ratio", sample.FSAvailable).as("free-space"),
			c.figure("free space of "+point, free, "bytes", sample.FSAvailable).as("free-bytes"))
		do = fmt.Sprintf("make room on %s, until twice of what programs have written and the disk not yet has is free: %s is now", point, bytes(free))
	}
	room := roomAdvice(c.promise(removal{maybe: t}), point, do, "writes end in memory, as long as the disk keeps up")
	less := Advice{
		Do:     "or let less be written and not yet on the disk: vm.dirty_bytes of half of what is free at most",
		Expect: "the file system no longer has each writer wait; who writes faster than the disk is paused at that limit in place of it",
	}
	return Verdict{
		Answer: Yes, Confidence: confidence(1, true), Weight: c.part(t), Culprit: c.culprit(), Evidence: e,
		Disprove: "the same writes on an empty file system of the same disk wait as long", Advice: []Advice{room, less},
	}
}

// fileSystemLeft is where the victim's file system is mounted, and how many bytes of how
// many are free, "" where that is not known; of several on its device, or on what lies on
// that, the innermost one that holds its busiest file. Of a file whose path is not known it
// is the only one there is.
func (c *Case) fileSystemLeft() (point string, free, size float64) {
	path, found := c.w.Files[c.topFile("", c.usual()...)].Path, 0
	c.w.Each(sample.FSSize, func(e sample.Entity, s *sample.Series) {
		left, known := c.w.Value(sample.FSAvailable, e)
		if !known || s.Last() == 0 || !slices.Contains(c.below(e.Device), c.device) {
			return
		}
		found++
		holds := path == e.Class || strings.HasPrefix(path, strings.TrimSuffix(e.Class, "/")+"/")
		if path == "" || holds && len(e.Class) > len(point) {
			point, free, size = e.Class, left, s.Last()
		}
	})
	if path == "" && found > 1 {
		return "", 0, 0
	}
	return point, free, size
}

// roomAdvice is to make room on a file system, "" where it is not known which.
func roomAdvice(gain promise, point, do, expect string) Advice {
	a := gain.advise(do, expect)
	if typeable(point) {
		a.Command = "df -h " + point
	}
	return a
}

// piecesAdvice is what to change: at the space, and at the files that are in pieces.
func (c *Case) piecesAdvice(point string, left float64, k *Culprit, gain promise) []Advice {
	join := gain.advise(
		"join the pieces of its files: e4defrag (ext4), xfs_fsr (XFS), btrfs filesystem defragment, or copy them and replace them by the copy",
		"one call is then served by one or two requests")
	if typeable(k.File) {
		join.Command = "filefrag " + k.File
	}
	keep := Advice{
		Do:     "and let large files be written in one go, or their space be reserved first (fallocate), so that they are not written in turns with others",
		Expect: "the file system gives them space in one piece",
	}
	if left >= nearlyFull {
		return []Advice{join, keep}
	}
	room := roomAdvice(gain, point,
		fmt.Sprintf("make room on %s: %s is free; 10 to 20 %% should be", cmp.Or(point, "the file system"), percent(left)),
		"free space is then in larger pieces; files that exist stay in theirs until they are written anew")
	return []Advice{room, join, keep}
}
