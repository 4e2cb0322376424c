package detect

import (
	"maps"
	"slices"
	"time"
)

// Did is what a group of processes got done in a window, per second.
type Did struct {
	Chars float64 // bytes that its calls read and wrote, from the cache or not
	CPU   float64 // seconds on a processor

	Got   float64 // bytes that it got from disks, or that its calls read and wrote if that is more
	Waits float64 // threads of it that waited in the kernel, for I/O or for anything else
	Locks float64 // of these, for anything else: a lock of the kernel, a commit
}

// Group names processes that do the same work: those of one name in one cgroup.
// What one of them leaves to another is then no standstill.
type Group struct{ Comm, Cgroup string }

// Fell is a group that gets a small part done of what it did.
type Fell struct {
	Group
	Since  time.Time     // end of the first window in which it had fallen
	Before time.Duration // that it was known for, at work
	Was    Did           // medians
	Is     Did           // of the newest window
}

// Works knows how much groups of processes get done and how long they wait, and
// tells whose work has fallen to a fraction of what it was in their own last hour,
// and who waits far more than in that hour. The first alone is no fault: a load
// ends, a job is over. It is where to look for threads that wait. It is used by
// one goroutine.
type Works struct {
	groups map[Group]*work
	told   map[Group][]int64 // hours, since 1970, in which one waited far more
}

// work is what is known of a group.
type work struct {
	past past          // windows in which it was at work
	span time.Duration // of these
	seen time.Time     // when it was at work, or down, last
	down time.Time     // since when it has fallen; zero: it has not

	latest []Did     // windows of the last minute, the newest last
	signs  []sign    // of these: what stood out in each
	far    time.Time // since when it waits far more than it did; zero: it does not
	usual  bool      // it waits since then, and that is its new normal
}

const (
	// worksWithin is how far back a group is compared with itself.
	worksWithin = time.Hour
	// worksLeast is how long a group is known before it can fall: a recording
	// that is a few minutes old tells already what is blatant.
	worksLeast = time.Minute
	// worksGroups are known at most; those that did something longest ago go.
	worksGroups = 500
	// worksGone is after how long without work a group that has not fallen is
	// forgotten, as those of jobs that were over.
	worksGone = 10 * time.Minute
	// fellTo is the part of its median below which work has fallen: what slows
	// down tenfold within seconds stands still for whoever waits for it.
	fellTo = 0.1
	// fellBelow is the part of its 5 % quantile that it must be below, too: a
	// group that rests now and then has rested before.
	fellBelow = 0.5
	// recovered is the part of its median from which on it works again.
	recovered = 0.3
	// leastChars and leastCPU a second are work that is worth watching: some
	// transactions of a few kilobytes, half a percent of a processor.
	leastChars = 8 << 10
	leastCPU   = 0.005
)

// NewWorks knows nobody yet.
func NewWorks() *Works { return &Works{groups: map[Group]*work{}, told: map[Group][]int64{}} }

// Add takes what all groups did in a window that ended then, and tells which
// have fallen, and which wait far more than they did.
func (w *Works) Add(end time.Time, length time.Duration, did map[Group]Did) (out []Fell, waits []Waits) {
	for g, d := range did {
		if w.groups[g] == nil && (d.Chars >= leastChars || d.CPU >= leastCPU || d.Waits >= manyWait) {
			w.groups[g] = &work{}
		}
	}
	for g, x := range w.groups {
		d, there := did[g]
		if !there { // it has ended, or did nothing at all
			d = Did{}
		}
		far, much := x.wait(end, length, d)
		if much && !w.comes(g, end) {
			far.Group = g
			waits = append(waits, far)
		}
		if f, ok := x.add(end, length, d); ok {
			f.Group = g
			out = append(out, f)
		}
		if end.Sub(x.seen).Abs() > worksGone {
			delete(w.groups, g)
		}
	}
	w.makeRoom()
	slices.SortFunc(out, func(a, b Fell) int { return a.Since.Compare(b.Since) })
	slices.SortFunc(waits, func(a, b Waits) int { return a.Since.Compare(b.Since) })
	return out, waits
}

func (x *work) add(end time.Time, length time.Duration, d Did) (f Fell, fell bool) {
	works := d.Chars >= leastChars || d.CPU >= leastCPU || d.Waits >= manyWait || !x.far.IsZero() && d.Waits > 0
	if x.span >= worksLeast {
		was, low := x.past.usual()
		switch {
		case hasFallen(d.Chars, was.Chars, low.Chars, leastChars), hasFallen(d.CPU, was.CPU, low.CPU, leastCPU) && was.Chars < leastChars:
			if x.down.IsZero() {
				x.down = end
			}
		case !x.down.IsZero() && (d.Chars >= recovered*was.Chars || was.Chars < leastChars) && d.CPU >= recovered*min(was.CPU, 1):
			x.down = time.Time{}
		}
		if !x.down.IsZero() {
			if end.Sub(x.down) < worksWithin { // what lasts for longer is its new normal
				x.seen = end
				return Fell{Since: x.down, Before: x.span, Was: was, Is: d}, true
			}
			x.renew(end)
			return f, false
		}
	}
	if works {
		x.seen = end
	}
	if !x.far.IsZero() { // nothing is learned from it
		return f, false
	}
	x.past.add(d, mean(x.latest))
	for x.span += length; x.span > worksWithin && x.past.len() > 1; x.span -= length {
		x.past.drop()
	}
	return f, false
}

// renew forgets what a group did: what has lasted for so long is its new normal.
// Threads that hang since then hang no stranger.
func (x *work) renew(now time.Time) { *x = work{seen: now, usual: true} }

// hasFallen tells whether a figure is far below what it was.
func hasFallen(is, was, low, least float64) bool {
	return was >= least && is <= fellTo*was && is < fellBelow*low
}

// makeRoom forgets those that did something longest ago.
func (w *Works) makeRoom() {
	if len(w.groups) <= worksGroups {
		return
	}
	all := slices.SortedFunc(maps.Keys(w.groups), func(a, b Group) int { return w.groups[a].seen.Compare(w.groups[b].seen) })
	for _, g := range all[:len(all)-worksGroups] {
		delete(w.groups, g)
	}
}
