package diagnose

import "iocause/internal/sample"

// Threads, and processes, that commit to the same log do it by turns: one writes
// it and waits for the device, and whoever has to commit meanwhile sleeps until
// that is done, which no account of I/O shows. So they are held up for as long as
// any of them waits in a sync, and not only for what each of them waits itself. Of
// four clients of PostgreSQL each waited 7 % of the window (13 % of its time awake),
// and without syncs they did 1.6 times as much; of sixteen, which also waited for a
// processor, 8 % of their time awake, and 1.4 times.

// turnsLimit is the part of their time awake that those who take turns must wait in
// all: below, the syncs are some work beside, as of a log that is flushed in the
// background.
const turnsLimit = 0.05

// syncs is the seconds, summed over threads, that a process waits in syncs.
func (v *victim) syncs() float64 {
	return max(v.wait[sample.ClassSync], v.waits[sample.ClassCommit]+v.waits[sample.ClassFlush])
}

// oneCommits is the part of the waiting from which on one thread does it all: it
// takes no turns with others.
const oneCommits = 0.75

// commitsByTurns is the part of the window in which any of a process's threads
// waits in a sync, 0 where one thread does them all, or several wait at once.
func (v *victim) commitsByTurns(seconds float64) float64 {
	t := v.syncs()
	if t > seconds || v.spans.worst > oneCommits*t || v.spans.weighted < turnsLimit*v.blocked() {
		return 0
	}
	return t / seconds
}

// shareLog tells whether the processes among these that wait in syncs write to
// the same file, for at least half of that waiting.
func (c *Case) shareLog(members []int) bool {
	seconds, waits := 0.0, map[int]float64{}
	for _, i := range members {
		t := c.asked[i].syncs()
		seconds += t
		waits[c.asked[i].pid] = t
	}
	by, users := map[sample.FileID]float64{}, map[sample.FileID]int{}
	c.w.Each(sample.CacheDirtied, func(e sample.Entity, s *sample.Series) {
		if t := waits[e.PID]; t > 0 && e.File.Ino != 0 && s.Sum() > 0 {
			by[e.File] += t
			users[e.File]++
		}
	})
	for f, t := range by {
		if users[f] >= 2 && t >= seconds/2 {
			return true
		}
	}
	return false
}
