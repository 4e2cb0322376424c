package diagnose

import (
	"fmt"

	"iocause/internal/sample"
)

// Times of syncs that a program counted since it started, and gives to Prometheus.
// How long that is, is not in such a text, so the share of the time that is spent
// waiting is not either; but each commit waits for its sync. The limits are those of
// etcd's documentation (op-guide/hardware, faq): 99 of 100 syncs of the log within
// 10 ms, and none as long as the time between two heartbeats, 100 ms.
const (
	slowSyncs  = 0.010 // seconds that one sync in a hundred may take
	stallPower = 27    // a sync of 2^27 ns, 0.134 s, is a stall
	stallSyncs = 10    // so many stalls are no accident
	stallShare = 0.10  // of the time of all syncs that stalls take
)

// syncTimes is how long the syncs of a program took.
type syncTimes struct {
	name      string
	n, stalls uint64
	mean, p99 float64 // seconds
	stalled   float64 // share of the time of all that is in stalls
	slow      float64 // share of it that is in syncs of more than about slowSyncs
	source    string
}

// told tells whether somebody waits for these syncs long enough to matter.
func (s *syncTimes) told() bool {
	return s.p99 >= slowSyncs || s.stalls >= stallSyncs && s.stalled >= stallShare
}

// toldSyncTimes are the slowest syncs that a text tells of; ok is false where it
// tells of none, or of too few to speak of one in a hundred.
func (c *Case) toldSyncTimes() (worst syncTimes, ok bool) {
	c.w.EachHistogram(sample.HistSync, func(e sample.Entity, h *sample.Hist) {
		s := syncTimes{name: e.Class, n: h.N(), p99: h.Quantile(0.99) / 1e9, source: h.Source}
		if s.n < 100 {
			return
		}
		s.mean = h.Sum / float64(s.n) / 1e9
		var all, slow, stalled float64 // of middles of buckets, so that they fit each other
		for i, n := range h.Counts {
			t := 1.5 * float64(uint64(1)<<i) * float64(n)
			if all += t; i >= stallPower {
				stalled += t
				s.stalls += n
			}
			if float64(uint64(1)<<i) >= 0.8*slowSyncs*1e9 { // 8.4 ms
				slow += t
			}
		}
		s.stalled, s.slow = stalled/all, slow/all
		if !ok || s.p99 > worst.p99 || s.p99 == worst.p99 && s.name < worst.name {
			worst, ok = s, true
		}
	})
	return worst, ok
}

// judgeSyncTimes names what these syncs tell.
func (c *Case) judgeSyncTimes(s *syncTimes) Verdict {
	e := []Evidence{
		{Name: "mean time of one sync", Value: s.mean, Unit: "seconds", Source: s.source},
		{Name: "99 of 100 syncs take at most", Value: s.p99, Unit: "seconds", Source: s.source},
		{Name: "syncs since the program started", Value: float64(s.n), Unit: "count", Source: s.source},
	}
	if s.stalls > 0 {
		e = append(e, Evidence{Name: "of these, of 0.13 s and more", Value: float64(s.stalls), Unit: "count", Source: s.source},
			Evidence{Name: "their share of the time in syncs", Value: s.stalled, Unit: "ratio", Source: s.source})
	}
	return Verdict{
		Answer: Yes, Confidence: confidence(max(s.slow, s.stalled), false), Weight: clamp01(max(s.slow, s.stalled)), WeightOf: OfWaiting,
		Culprit: Culprit{Comm: c.w.Processes[0].Comm, Device: c.device}, Evidence: e,
		Disprove: "the slow syncs happened at another time: these figures cover the time since the program started, so read them twice; and a host short of processors or memory delays syncs as well",
		Advice:   syncAdvice("commits wait for fewer syncs; the pasted output does not show how many there are a second"),
	}
}

// fast says why these syncs hold nobody up.
func (s *syncTimes) fast() string {
	return fmt.Sprintf("99 of 100 syncs (%s) take at most %.2g ms", s.name, s.p99*1e3)
}
