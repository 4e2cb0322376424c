package detect

import (
	"math"
	"testing"
	"time"
)

// What the hours of other weeks hide, as they differ, stands out beside the
// time before: fewer requests where threads wait for disks.
func TestFallsAreComparedWithTheTimeBefore(t *testing.T) {
	wide := func() *History {
		history := known(time.UTC, monday, 5*week)
		for at := monday.Add(-5 * week); at.Before(monday); at = at.Add(time.Hour) {
			h := flat("disk.requests", at, 500)
			h.Q = [5]float64{100, 300, 500, 3000, 9000}
			history.Put(h)
		}
		return history
	}
	calm := map[string]float64{"cpu.user": 0.5, "memory.pressure": 0, "disk.pressure": 0.1, "disk.requests": 500}
	for _, c := range []struct {
		name     string
		before   time.Duration // that the watch ran
		requests float64
		lastHour bool
		opens    bool
	}{
		{"a fall", 20 * time.Minute, 100, true, true},
		{"no fall", 20 * time.Minute, 500, true, false},
		{"a rise", 20 * time.Minute, 2000, true, false},
		{"a fall, shortly after the start", 4 * time.Minute, 100, true, false},
		{"a fall that is compared with other weeks only", 20 * time.Minute, 100, false, false},
	} {
		rule := DefaultRule()
		rule.HalfHour = c.lastHour
		w := NewWatch(Signals(), rule, time.UTC, wide())
		feed(w, monday, 0, c.before, calm)
		e, i, _ := feed(w, monday, c.before, c.before+10*time.Minute,
			map[string]float64{"cpu.user": 0.5, "memory.pressure": 0, "disk.pressure": 0.6, "disk.requests": c.requests})
		if len(e) > 0 != c.opens {
			t.Errorf("%s: %v", c.name, e)
			continue
		}
		if n := len(i.Reasons); c.opens && (n != 2 || i.Reasons[1].Signal != "disk.requests" || i.Reasons[1].Basis != string(HalfHour) || i.Reasons[1].Normal != 500) {
			t.Errorf("%s: %+v", c.name, i.Reasons)
		}
	}
}

// Where backups run at this hour, threads that wait for disks are nothing unusual;
// that they wait for longer than in the half hour before is, if much less is done.
func TestWaitingIsComparedWithTheTimeBeforeWhereLessIsDone(t *testing.T) {
	for _, c := range []struct {
		name     string
		requests float64
		fall     float64
		opens    bool
	}{
		{"far less", 440, 2.5, true},
		{"a little less", 460, 2.5, false},
		{"far less, and waiting is not compared", 440, math.Inf(1), false},
	} {
		history := known(time.UTC, monday, 5*week)
		for at := monday.Add(-5 * week); at.Before(monday); at = at.Add(time.Hour) {
			history.Put(flat("disk.requests", at, 500))
			h := flat("disk.pressure", at, 0.1)
			h.Q = [5]float64{0.05, 0.08, 0.1, 0.4, 0.6}
			history.Put(h)
		}
		rule := DefaultRule()
		rule.Fall = c.fall
		w := NewWatch(Signals(), rule, time.UTC, history)
		feed(w, monday, 0, 20*time.Minute, map[string]float64{"cpu.user": 0.5, "memory.pressure": 0, "disk.pressure": 0.1, "disk.requests": 500})
		e, i, _ := feed(w, monday, 20*time.Minute, 30*time.Minute,
			map[string]float64{"cpu.user": 0.5, "memory.pressure": 0, "disk.pressure": 0.6, "disk.requests": c.requests})
		if len(e) > 0 != c.opens {
			t.Errorf("%s: %v", c.name, e)
			continue
		}
		if n := len(i.Reasons); c.opens && (n != 2 || i.Reasons[0].Signal != "disk.pressure" || i.Reasons[0].Basis != string(HalfHour)) {
			t.Errorf("%s: %+v", c.name, i.Reasons)
		}
	}
}

// Half an hour is remembered; what is older says nothing.
func TestRecentForgets(t *testing.T) {
	s := &Signals()[0]
	var r recent
	for slot := int64(1000); slot < 1000+2*recentSlots; slot++ {
		r.add(slot, float64(slot))
	}
	if n := len(r.slots); n != recentSlots || r.slots[0] != 1000+recentSlots {
		t.Fatalf("%d are remembered, from %d on", n, r.slots[0])
	}
	last := int64(1000 + 2*recentSlots - 1)
	if ref := r.reference(s, last, recentOldest); ref.Basis != HalfHour || ref.Q[2] != float64(last)-float64(recentSlots-1)/2 {
		t.Errorf("%+v", ref)
	}
	for _, c := range []struct {
		slot int64
		want Basis
	}{{last + recentOldest - recentLeast + 1, HalfHour}, {last + recentOldest - recentLeast + 2, Learning}} {
		if got := r.reference(s, c.slot, recentOldest).Basis; got != c.want {
			t.Errorf("%d slots later: %q, want %q", c.slot-last, got, c.want)
		}
	}
}
