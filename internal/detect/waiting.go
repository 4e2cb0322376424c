package detect

import (
	"maps"
	"slices"
	"time"
)

// Waits is a group whose threads wait far more than they did, and get less done.
type Waits struct {
	Group
	Since  time.Time     // end of the first window in which they did
	Before time.Duration // that it was known for, at work
	Was    Did           // medians of what it did, means of what waited
	Is     Did           // means of the last minute
	Locks  bool          // it is told for those that wait for something else than I/O
}

// sign is what stood out in one window.
type sign uint8

const (
	signFar   sign = 1 << iota // the minute waits far more than the hour, and does less
	signStuck                  // threads wait all the time and get next to nothing
	signLocks                  // several wait for something else than I/O
)

const (
	// farTimes the mean of the hour, and farHigh times the worst minute but for
	// one in twenty, is far more.
	farTimes, farHigh = 4, 2
	// farLeast threads wait on average, at the least.
	farLeast = 0.5
	// farKnown is how long a group must be known. A job that begins in the cache
	// and goes on from the disk waits as a server does whose cache was taken.
	farKnown = 30 * time.Minute
	// farHolds minutes, but for one window in six, it must: a service that is
	// started again reads its files for one or two, at less work.
	farHolds = 3
	// farLess is the part of its median that it still does at most: a group that
	// waits more because it has more to do is not held up.
	farLess = 0.75
	// stuckGets is what a waiting thread gets a second, at most, where it is stuck:
	// a page in 62 ms. A disk gives more to who reads cold files or directories.
	stuckGets = 64 << 10
	// stuckShare is the part of its time, on a processor or not, that it waits.
	stuckShare = 0.9
	// stuckLess is the part of its median that it still does at most.
	stuckLess = 0.5
	// stuckTimes as many threads wait as did.
	stuckTimes = 2
	// manyWait threads are stuck of a group that nothing is known of, if each gets
	// strangerGets a second at most: a page, where a database on a slow disk that
	// syncs each commit gets ten.
	manyWait     = 4
	strangerGets = 4 << 10
	// leastLocks threads wait at once for a lock that holds up a group.
	leastLocks = 3
	// locksMore is the part of its median that it does at most: with more to do
	// more of them meet.
	locksMore = 1.5
	// signsWithin is the time in which windows must stand out, five of six; of
	// longer windows signsFewest.
	signsWithin, signsFewest = time.Minute, 3
	// comesHours is how far apart the hours of two days may be for what comes every
	// day or week to be the same.
	comesHours = 1
)

// wait takes a window, and tells whether the group waits far more than it did.
func (x *work) wait(end time.Time, length time.Duration, d Did) (Waits, bool) {
	looks := max(signsFewest, int(signsWithin/max(length, time.Second)))
	x.latest, x.signs = append(x.latest, d), append(x.signs, 0)
	x.latest, x.signs = x.latest[max(0, len(x.latest)-looks):], x.signs[max(0, len(x.signs)-farHolds*looks):]
	x.usual = x.usual && d.Waits >= farLeast
	if d.Waits >= farLeast || !x.far.IsZero() {
		x.signs[len(x.signs)-1] = x.sign(length, d)
	}
	Since(&x.far, end, slices.ContainsFunc(x.signs[max(0, len(x.signs)-looks):], func(s sign) bool { return s != 0 }))
	if x.far.IsZero() {
		return Waits{}, false
	}
	if end.Sub(x.far) >= worksWithin {
		x.renew(end)
		return Waits{}, false
	}
	for _, s := range [...]sign{signStuck, signFar, signLocks} {
		within, n := looks, 0
		if s == signFar {
			within *= farHolds
		}
		for _, has := range x.signs[max(0, len(x.signs)-within):] {
			if has&s != 0 {
				n++
			}
		}
		if n >= within-within/6 {
			return Waits{Since: x.far, Before: x.span, Was: x.was(), Is: mean(x.latest), Locks: s == signLocks}, true
		}
	}
	return Waits{}, false
}

// sign is what stands out in the newest window.
func (x *work) sign(length time.Duration, d Did) (s sign) {
	minute := mean(x.latest)
	looks := x.past.len() - (len(x.latest) - 1) // before the last minute
	known := time.Duration(looks)*length >= worksLeast
	var was Did
	if known {
		was = x.was()
	}
	far := known && x.span >= farKnown
	if far && minute.Waits >= max(farLeast, farTimes*was.Waits, farHigh*x.past.waits.quantile(0.95)) && does(minute, was, farLess) {
		s |= signFar
	}
	if d.Locks >= leastLocks && known && d.Locks >= farTimes*was.Locks && (!far || d.Locks >= farHigh*x.past.locks.quantile(0.95)) &&
		does(d, was, locksMore) {
		s |= signLocks
	}
	hangs := d.Waits >= manyWait && d.Got <= strangerGets*d.Waits
	switch {
	case d.Waits < stuckShare*(d.Waits+d.CPU):
	case !known:
		if hangs && !x.usual {
			s |= signStuck
		}
	case hangs && x.usual && d.Waits >= stuckTimes*was.Waits:
		s |= signStuck
	// Who gets nothing at all syncs what was written, or hangs: of that the
	// standstill tells.
	case d.Waits >= max(stuckShare, stuckTimes*was.Waits) && d.Got > 0 && Starves(d.Got, d.Waits) && does(d, was, stuckLess):
		s |= signStuck
	}
	return s
}

// Starves tells whether so many threads that wait get next to nothing, in bytes a
// second.
func Starves(got, threads float64) bool { return got <= stuckGets*threads }

// was is what the group did before the last minute.
func (x *work) was() Did {
	was, _ := x.past.usual()
	was.Waits, was.Locks = x.past.waited(len(x.latest) - 1)
	return was
}

// does tells whether a group does at most a part of what it did: of bytes, or of
// what it computes where it moves none.
func does(is, was Did, part float64) bool {
	if was.Chars >= leastChars {
		return is.Chars <= part*was.Chars
	}
	return was.CPU >= leastCPU && is.CPU <= part*was.CPU
}

func mean(all []Did) (m Did) {
	for _, d := range all {
		m.Chars, m.CPU, m.Got, m.Waits, m.Locks = m.Chars+d.Chars, m.CPU+d.CPU, m.Got+d.Got, m.Waits+d.Waits, m.Locks+d.Locks
	}
	n := float64(max(len(all), 1))
	return Did{Chars: m.Chars / n, CPU: m.CPU / n, Got: m.Got / n, Waits: m.Waits / n, Locks: m.Locks / n}
}

// Since keeps since when something has held; zero: it does not.
func Since(t *time.Time, now time.Time, holds bool) {
	if !holds {
		*t = time.Time{}
	} else if t.IsZero() {
		*t = now
	}
}

// comes notes that a group waits far more, and tells whether it did at this time
// of the day a day or a week ago, too: it is then part of what comes every day,
// as a backup that runs beside it.
func (w *Works) comes(g Group, at time.Time) bool {
	const day, week = 24, 7 * 24
	hour := at.Unix() / int64(time.Hour/time.Second)
	all := slices.DeleteFunc(w.told[g], func(h int64) bool { return h < hour-week-comesHours || h > hour })
	if len(all) == 0 || all[len(all)-1] != hour {
		all = append(all, hour)
	}
	w.told[g] = all
	if len(w.told) > worksGroups {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(w.told)), func(a, b Group) int {
			return int(w.told[a][len(w.told[a])-1] - w.told[b][len(w.told[b])-1])
		})
		delete(w.told, oldest)
	}
	return slices.ContainsFunc(all, func(h int64) bool {
		ago := hour - h
		return ago >= day-comesHours && ago <= day+comesHours || ago >= week-comesHours && ago <= week+comesHours
	})
}
