package detect

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones, whatever this machine has

	"iocause/internal/sample"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// flat is an hour in which a signal was the same all the time.
func flat(signal string, start time.Time, v float64) sample.Hour {
	return sample.Hour{Signal: signal, Start: start, N: 360, Q: [5]float64{v, v, v, v, v}, Extreme: v}
}

// known is a history of the three deciding signals with levels at every hour
// before an instant.
func known(loc *time.Location, to time.Time, back time.Duration) *History {
	h := NewHistory(loc)
	for at := hourStart(to.Add(-back), loc); at.Before(to); at = at.Add(time.Hour) {
		h.Put(flat("cpu.user", at, 0.5))
		h.Put(flat("memory.pressure", at, 0))
		h.Put(flat("disk.pressure", at, 0.1))
	}
	return h
}

var (
	calm = map[string]float64{"cpu.user": 0.5, "memory.pressure": 0, "disk.pressure": 0.1}
	off  = map[string]float64{"cpu.user": 0.4, "memory.pressure": 0, "disk.pressure": 0.4}
	busy = map[string]float64{"cpu.user": 0.6, "memory.pressure": 0, "disk.pressure": 0.9}
)

// event is an action with the instant of the sample that it came with.
type event struct {
	action Action
	at     time.Duration // since the start
}

// feed gives a watch the same values for some time, a sample in ten seconds.
func feed(w *Watch, start time.Time, from, to time.Duration, values map[string]float64) (events []event, last sample.Incident, hours []sample.Hour) {
	for at := from; at < to; at += slotLength {
		d := w.Add(Sample{At: start.Add(at), Values: values})
		hours = append(hours, d.Hours...)
		if d.Action != Nothing {
			last = d.Incident
			if d.Action != Extend {
				events = append(events, event{d.Action, at})
			}
		}
	}
	return events, last, hours
}

var monday = time.Date(2026, 3, 2, 14, 0, 0, 0, time.UTC)

// One sample that is off: a minute later it is calm, though for five minutes that
// sample could be part of an incident.
func TestCalm(t *testing.T) {
	w := NewWatch(Signals(), DefaultRule(), time.UTC, known(time.UTC, monday, 5*week))
	feed(w, monday, 0, 10*time.Minute, calm)
	if w.Off() || !w.Calm() {
		t.Fatal("it is off before anything was")
	}
	feed(w, monday, 10*time.Minute, 10*time.Minute+slotLength, off)
	noise, quiet := -1, -1 // samples until it is neither
	for n := 1; n <= 60; n++ {
		at := 10*time.Minute + time.Duration(n)*slotLength
		feed(w, monday, at, at+slotLength, calm)
		if noise < 0 && w.Calm() {
			noise = n
		}
		if quiet < 0 && !w.Off() {
			quiet = n
		}
	}
	if noise < 6 || noise > 8 || quiet < 30 || quiet > 32 {
		t.Errorf("calm after %d samples, not off after %d; want 7 and 31 or so", noise, quiet)
	}
}

func TestIncidentOpensAndCloses(t *testing.T) {
	w := NewWatch(Signals(), DefaultRule(), time.UTC, known(time.UTC, monday, 5*week))
	const m = time.Minute
	if e, _, _ := feed(w, monday, 0, 10*m, calm); len(e) != 0 {
		t.Errorf("calm: %v", e)
	}
	// busy: more work and more waiting, which is no incident
	if e, _, _ := feed(w, monday, 10*m, 20*m, busy); len(e) != 0 {
		t.Errorf("busy: %v", e)
	}
	// 24 samples are judged when the 25th comes
	e, i, _ := feed(w, monday, 20*m, 30*m, off)
	if want := []event{{Open, 24 * m}}; !slices.Equal(e, want) {
		t.Fatalf("off: %v, want %v", e, want)
	}
	if !i.Start.Equal(monday.Add(20*m)) || !i.Opened.Equal(monday.Add(24*m)) || !i.End.Equal(monday.Add(30*m-slotLength)) || i.Samples != 59 {
		t.Errorf("%+v", i)
	}
	var names []string
	for _, r := range i.Reasons {
		names = append(names, r.Signal)
		if r.Basis != string(HourOfWeek) || r.Days != 5 {
			t.Errorf("%+v", r)
		}
	}
	if want := []string{"cpu.user", "disk.pressure"}; !slices.Equal(names, want) {
		t.Errorf("reasons %v", names)
	}
	if r := i.Reasons[0]; math.Abs(r.Z-0.1/0.02) > 1e-6 || r.Value != 0.4 || r.Normal != 0.5 {
		t.Errorf("%+v", r)
	}
	// quiet for ten minutes, then again: the same incident; then over
	if e, _, _ := feed(w, monday, 30*m, 40*m, calm); len(e) != 0 {
		t.Errorf("quiet: %v", e)
	}
	if e, i, _ = feed(w, monday, 40*m, 45*m, off); len(e) != 0 || !i.Start.Equal(monday.Add(20*m)) {
		t.Errorf("again: %v, %+v", e, i)
	}
	e, i, _ = feed(w, monday, 45*m, 80*m, calm)
	if want := []event{{Close, 60 * m}}; !slices.Equal(e, want) || !i.End.Equal(monday.Add(45*m)) {
		t.Errorf("%v, want %v; ended %v", e, want, i.End)
	}
}

// On a host that is busy with other work, waiting for disks is an incident when
// they get less done than else. A fall of requests only agrees.
func TestRequestsAgreeWithWaiting(t *testing.T) {
	for _, c := range []struct {
		name                   string
		memory, disk, requests float64
		reasons                []string // nil for no incident
	}{
		{"waiting far more, with fewer requests", 0, 0.6, 100, []string{"disk.pressure", "disk.requests"}},
		{"waiting far more, with more requests", 0, 0.6, 800, nil},
		{"waiting far more, with as many requests", 0, 0.6, 490, nil},
		{"fewer requests", 0, 0.1, 100, nil},
		{"waiting little more, with hardly a request", 0, 0.15, 1, nil},
		{"waiting for memory, with fewer requests", 0.4, 0.1, 100, nil},
		{"waiting for both, with fewer requests", 0.4, 0.6, 100, []string{"memory.pressure", "disk.pressure", "disk.requests"}},
	} {
		history := known(time.UTC, monday, 5*week)
		for at := monday.Add(-5 * week); at.Before(monday); at = at.Add(time.Hour) {
			history.Put(flat("disk.requests", at, 500))
		}
		w := NewWatch(Signals(), DefaultRule(), time.UTC, history)
		e, i, _ := feed(w, monday, 0, 10*time.Minute, map[string]float64{
			"cpu.user": 0.5, "memory.pressure": c.memory, "disk.pressure": c.disk, "disk.requests": c.requests,
		})
		var names []string
		for _, r := range i.Reasons {
			names = append(names, r.Signal)
		}
		if len(e) != min(len(c.reasons), 1) || !slices.Equal(names, c.reasons) {
			t.Errorf("%s: %v by %v, want one by %v", c.name, e, names, c.reasons)
		}
	}
}

// 23 of 30 are not enough; 24 are, wherever they are among the 30.
func TestPersistence(t *testing.T) {
	for _, c := range []struct {
		good int // at the beginning of each 30
		open bool
	}{{7, false}, {6, true}} {
		w := NewWatch(Signals(), DefaultRule(), time.UTC, known(time.UTC, monday, 5*week))
		opened := false
		for n := range 90 {
			values := off
			if n%30 < c.good {
				values = calm
			}
			opened = opened || w.Add(Sample{At: monday.Add(time.Duration(n) * slotLength), Values: values}).Action == Open
		}
		if opened != c.open {
			t.Errorf("%d of 30 are good: opened %v", c.good, opened)
		}
	}
}

func TestHardLimitsOpenAtOnce(t *testing.T) {
	w := NewWatch(Signals(), DefaultRule(), time.UTC, NewHistory(time.UTC))
	feed(w, monday, 0, time.Minute, calm)
	at := monday.Add(time.Minute + 3*time.Second)
	d := w.Add(Sample{At: at, Values: calm, Limits: []sample.Limit{{Kind: sample.LimitErrors, Of: "vda", What: "vda: 3"}}})
	if d.Action != Open || len(d.Incident.Limits) != 1 || len(d.Incident.Reasons) != 0 {
		t.Fatalf("%+v", d)
	}
	d = w.Add(Sample{At: at.Add(time.Second), Limits: []sample.Limit{{Kind: sample.LimitErrors, Of: "vda", What: "vda: 4"}, {Kind: sample.LimitOOM, What: "3 MiB left"}}})
	if want := []sample.Limit{{Kind: sample.LimitErrors, Of: "vda", What: "vda: 3"}, {Kind: sample.LimitOOM, What: "3 MiB left"}}; d.Action != Extend || !slices.Equal(d.Incident.Limits, want) {
		t.Errorf("%+v", d)
	}
	// of another device it is another
	d = w.Add(Sample{At: at.Add(2 * time.Second), Limits: []sample.Limit{{Kind: sample.LimitErrors, Of: "vdb", What: "vdb: 1"}}})
	if d.Action != Extend || len(d.Incident.Limits) != 3 || d.Incident.Limits[2].Of != "vdb" {
		t.Errorf("%+v", d)
	}
	// a limit with the very sample that closes the incident is the next one
	d = w.Add(Sample{At: at.Add(time.Hour), Limits: []sample.Limit{{Kind: sample.LimitCap, What: "vda"}}})
	if d.Action != Close || len(d.Incident.Limits) != 3 {
		t.Errorf("%+v", d)
	}
	d = w.Add(Sample{At: at.Add(time.Hour + time.Second)})
	if d.Action != Open || !slices.Equal(d.Incident.Limits, []sample.Limit{{Kind: sample.LimitCap, What: "vda"}}) {
		t.Errorf("%+v", d)
	}
}

// A limit that is reached every few minutes for six hours, as by a container that is
// ended for its memory and started again, is normal from then on: the incident
// closes, and none begins for it, until an hour has passed without. Another limit
// is told in between.
func TestLimitThatComesForEver(t *testing.T) {
	const h, m = time.Hour, time.Minute
	killed := sample.Limit{Kind: sample.LimitOOM, Of: "oom_kill", What: "the OOM killer ended 1 processes"}
	for _, every := range []time.Duration{5 * m, 20 * m} {
		w := NewWatch(Signals(), DefaultRule(), time.UTC, known(time.UTC, monday, 5*week))
		var opened, closed []time.Duration
		var last sample.Incident
		add := func(at time.Duration, limits ...sample.Limit) {
			d := w.Add(Sample{At: monday.Add(at), Values: calm, Limits: limits})
			switch d.Action {
			case Open:
				opened = append(opened, at)
			case Close:
				closed, last = append(closed, at), d.Incident
			}
		}
		for at := time.Duration(0); at < 24*h; at += slotLength {
			switch {
			case at%every == 0:
				add(at, killed)
			case at == 12*h+m:
				add(at, sample.Limit{Kind: sample.LimitErrors, Of: "vda", What: "vda: 3"})
			default:
				add(at)
			}
		}
		n := len(opened)
		if n < 2 || opened[n-1] != 12*h+m || opened[n-2] > 6*h || len(closed) != n || closed[n-2] > 7*h || closed[n-1] > 13*h || len(last.Limits) != 1 {
			t.Errorf("every %v: opened at %v, closed at %v, the last with %v; want none for the limit alone after six hours", every, opened, closed, last.Limits)
		}
		if every == 5*m && n != 2 {
			t.Errorf("every %v: %d incidents, want two", every, n)
		}
		add(25*h+m, killed)
		if len(opened) != n+1 {
			t.Errorf("every %v: none after an hour without", every)
		}
	}
}

// With nothing known only saturation counts, and says so.
func TestLearning(t *testing.T) {
	w := NewWatch(Signals(), DefaultRule(), time.UTC, NewHistory(time.UTC))
	if e, _, _ := feed(w, monday, 0, time.Hour, map[string]float64{"cpu.user": 0, "memory.pressure": 0.39, "disk.pressure": 1}); len(e) != 0 {
		t.Errorf("%v", e)
	}
	e, i, _ := feed(w, monday, time.Hour, 2*time.Hour, map[string]float64{"cpu.user": 0, "memory.pressure": 0.4, "disk.pressure": 0.8})
	if len(e) != 1 || e[0].action != Open || i.Reasons[0].Basis != string(Learning) {
		t.Errorf("%v %+v", e, i)
	}
}

// In the first hour what is blatant is told within a minute: threads wait for disks
// nearly all of the time, and less is done than in the minutes before. Who backs up
// waits as long, and more is done.
func TestBlatantInTheFirstHour(t *testing.T) {
	before := map[string]float64{"cpu.user": 0.5, "memory.pressure": 0, "disk.pressure": 0.1, "disk.requests": 400}
	for _, c := range []struct {
		name   string
		known  time.Duration // that it was as before
		values map[string]float64
		opened bool
	}{
		{"held up", 5 * time.Minute, map[string]float64{"cpu.user": 0.1, "disk.pressure": 0.97, "disk.requests": 900}, true},
		{"held up, after two minutes", 2 * time.Minute, map[string]float64{"cpu.user": 0.1, "disk.pressure": 0.97, "disk.requests": 900}, true},
		{"busy with other work, held up", 5 * time.Minute, map[string]float64{"cpu.user": 0.5, "disk.pressure": 0.97, "disk.requests": 40}, true},
		{"backup", 5 * time.Minute, map[string]float64{"cpu.user": 0.45, "disk.pressure": 0.98, "disk.requests": 900}, false},
		{"from the start", 0, map[string]float64{"cpu.user": 0.1, "disk.pressure": 0.98, "disk.requests": 900}, false},
		{"work that ended", 5 * time.Minute, map[string]float64{"cpu.user": 0, "disk.pressure": 0, "disk.requests": 0}, false},
	} {
		w := NewWatch(Signals(), DefaultRule(), time.UTC, NewHistory(time.UTC))
		if e, _, _ := feed(w, monday, 0, c.known, before); len(e) > 0 {
			t.Fatalf("%s: %v before", c.name, e)
		}
		e, i, _ := feed(w, monday, c.known, c.known+10*time.Minute, c.values)
		if opened := len(e) > 0; opened != c.opened || opened && (e[0].at > c.known+time.Minute || len(i.Reasons) < 2 || i.Reasons[0].Basis != string(HalfHour) && i.Reasons[1].Basis != string(HalfHour)) {
			t.Errorf("%s: %v %+v, want one within a minute: %v", c.name, e, i.Reasons, c.opened)
		}
	}
}

// Work that is little for this hour, but not less than in the half hour before, is
// not held up by a burst of I/O.
func TestLittleWorkIsNoFall(t *testing.T) {
	for _, c := range []struct {
		before float64
		want   int
	}{{0.4, 0}, {0.5, 1}} {
		w := NewWatch(Signals(), DefaultRule(), time.UTC, known(time.UTC, monday, 5*week))
		feed(w, monday, 0, 40*time.Minute, map[string]float64{"cpu.user": c.before, "memory.pressure": 0, "disk.pressure": 0.1})
		if e, _, _ := feed(w, monday, 40*time.Minute, 50*time.Minute, off); len(e) != c.want {
			t.Errorf("%g of the processors before, now 0.4: %v, want %d", c.before, e, c.want)
		}
	}
}

// A job that waits for memory and for disks holds nobody up where as much is done
// beside it, however long it takes; memory that is waited for half the time does.
func TestJobThatNeedsMemory(t *testing.T) {
	for _, c := range []struct {
		cpu, memory float64
		want        int
	}{{0.52, 0.1, 0}, {0.4, 0.1, 1}, {0.52, 0.5, 1}} {
		w := NewWatch(Signals(), DefaultRule(), time.UTC, known(time.UTC, monday, 5*week))
		feed(w, monday, 0, 20*time.Minute, calm)
		e, _, _ := feed(w, monday, 20*time.Minute, 100*time.Minute, map[string]float64{"cpu.user": c.cpu, "memory.pressure": c.memory, "disk.pressure": 0.5})
		if len(e) != c.want {
			t.Errorf("%+v: %v", c, e)
		}
	}
}

// The time of an incident, from its first bad sample to its last, is not
// learned; the quiet time after it is.
func TestIncidentsAreNotLearned(t *testing.T) {
	h := known(time.UTC, monday, 5*week)
	w := NewWatch(Signals(), DefaultRule(), time.UTC, h)
	const m = time.Minute
	feed(w, monday, 0, 10*m, calm)
	feed(w, monday, 10*m, 30*m, off)
	_, _, hours := feed(w, monday, 30*m, 2*time.Hour, calm)
	if len(hours) != 6 {
		t.Fatalf("%d hours: %+v", len(hours), hours)
	}
	for _, x := range hours {
		if strings.HasSuffix(x.Signal, ":off") { // what was off is kept apart
			if v := off[strings.TrimSuffix(x.Signal, ":off")]; !x.Start.Equal(monday) || x.N != 120 || x.Q[0] != v || x.Q[4] != v {
				t.Errorf("%+v", x)
			}
			continue
		}
		if !x.Start.Equal(monday) || x.N != 240 || x.Alarmed != 120 || x.Q[0] != x.Q[4] {
			t.Errorf("%+v", x)
		}
	}
	if got := h.Hours("disk.pressure", monday, monday.Add(time.Hour)); len(got) != 1 || got[0].N != 240 || got[0].Extreme != float64(float32(0.1)) {
		t.Errorf("%+v", got)
	}
}

// What goes on for six hours is normal from then on: the incident ends, and
// none begins, until it has been as before for an hour.
func TestLastingChangeIsLearned(t *testing.T) {
	w := NewWatch(Signals(), DefaultRule(), time.UTC, known(time.UTC, monday, 5*week))
	const h = time.Hour
	feed(w, monday, 0, h, calm)
	e, i, _ := feed(w, monday, h, 60*h, off)
	if len(e) != 2 || e[0].action != Open || e[1].action != Close || !i.Lasting || e[1].at < 7*h || e[1].at > 36*h {
		t.Fatalf("%v %+v", e, i)
	}
	if e, _, _ := feed(w, monday, 60*h, 63*h, calm); len(e) != 0 {
		t.Errorf("back: %v", e)
	}
	if e, _, _ := feed(w, monday, 63*h, 64*h, off); len(e) != 1 || e[0].action != Open {
		t.Errorf("again after it was as before: %v", e)
	}
}

// A change that became normal stays so over a restart, which has to be told: the
// hours of the week know nothing of it. What is over again is so after an hour.
func TestLastingChangeOverARestart(t *testing.T) {
	const h = time.Hour
	for _, c := range []struct {
		told   bool
		opened int
	}{{true, 0}, {false, 1}} {
		hist := known(time.UTC, monday, 5*week)
		w := NewWatch(Signals(), DefaultRule(), time.UTC, hist)
		if e, i, _ := feed(w, monday, 0, 36*h, off); len(e) != 2 || !i.Lasting {
			t.Fatalf("%v %+v", e, i)
		}
		for _, x := range w.Flush() {
			hist.Put(x)
		}
		w = NewWatch(Signals(), DefaultRule(), time.UTC, hist)
		if c.told {
			w.Changed()
		}
		if e, _, _ := feed(w, monday, 36*h, 40*h, off); len(e) != c.opened {
			t.Errorf("told %v: %v", c.told, e)
		}
		if !c.told {
			continue
		}
		feed(w, monday, 40*h, 42*h, calm)
		if e, _, _ := feed(w, monday, 42*h, 43*h, off); len(e) != 1 {
			t.Errorf("after it was as before: %v", e)
		}
	}
}

// A job that is new and comes every day is an incident once, though the hours
// of the week know nothing of it for weeks; so is one that comes every week.
// What is worse than the job is one all the same.
func TestWhatRecursIsLearned(t *testing.T) {
	for _, c := range []struct{ every, weeks int }{{1, 2}, {7, 5}} {
		w := NewWatch(Signals(), DefaultRule(), time.UTC, known(time.UTC, monday, 9*week))
		worse := map[string]float64{"cpu.user": 0.3, "memory.pressure": 0.5, "disk.pressure": 1}
		opened, last := 0, 7*c.weeks/c.every
		for n := range last + 1 {
			at := monday.AddDate(0, 0, n*c.every)
			job := off
			if n == last {
				job = worse
			}
			feed(w, at, -2*time.Hour, 0, calm)
			e, _, _ := feed(w, at, 0, 40*time.Minute, job)
			feed(w, at, 40*time.Minute, 2*time.Hour, calm)
			if len(e) > 0 {
				opened++
			}
			if n < last && opened != 1 {
				t.Errorf("every %d days: %d incidents after %d times, want 1", c.every, opened, n+1)
			}
		}
		if opened != 2 {
			t.Errorf("every %d days: %d incidents, though the last was worse", c.every, opened)
		}
	}
}

// An incident goes on over a restart.
func TestResume(t *testing.T) {
	hist := known(time.UTC, monday, 5*week)
	w := NewWatch(Signals(), DefaultRule(), time.UTC, hist)
	_, i, _ := feed(w, monday, 0, 10*time.Minute, off)
	for _, x := range w.Flush() {
		hist.Put(x)
	}
	w = NewWatch(Signals(), DefaultRule(), time.UTC, hist)
	w.Resume(i)
	e, j, _ := feed(w, monday, 11*time.Minute, 15*time.Minute, off)
	if len(e) != 0 || !j.Start.Equal(i.Start) || j.Samples != i.Samples+23 {
		t.Errorf("%v %+v", e, j)
	}
	if e, _, _ = feed(w, monday, 15*time.Minute, time.Hour, calm); len(e) != 1 || e[0].action != Close {
		t.Errorf("%v", e)
	}
}

// Over a long pause it does not: it ended then, however the next sample is.
func TestResumeAfterALongPause(t *testing.T) {
	hist := known(time.UTC, monday, 5*week)
	_, i, _ := feed(NewWatch(Signals(), DefaultRule(), time.UTC, hist), monday, 0, 10*time.Minute, off)
	w := NewWatch(Signals(), DefaultRule(), time.UTC, hist)
	w.Resume(i)
	limit := []sample.Limit{{Kind: sample.LimitErrors, Of: "vda", What: "vda: 3"}}
	d := w.Add(Sample{At: monday.Add(12 * time.Hour), Values: off, Limits: limit})
	if d.Action != Close || d.Incident.Lasting || !d.Incident.End.Equal(i.End) || len(d.Incident.Limits) != 0 {
		t.Errorf("%+v", d)
	}
	if d = w.Add(Sample{At: monday.Add(12*time.Hour + slotLength), Values: off}); d.Action != Open || len(d.Incident.Limits) != 1 {
		t.Errorf("%+v", d)
	}
}

// Samples once a minute stand for that minute: they open an incident as soon as
// more of them do, and one that is missing stands for nothing.
func TestRareSamples(t *testing.T) {
	for _, c := range []struct {
		every  time.Duration
		values map[string]float64
		want   bool
	}{{time.Minute, off, true}, {16 * time.Second, off, true}, {time.Minute, calm, false}, {5 * time.Minute, off, false}} {
		w := NewWatch(Signals(), DefaultRule(), time.UTC, known(time.UTC, monday, 5*week))
		opened := time.Duration(0)
		next := time.Duration(0)
		for at := time.Duration(0); at < 20*time.Minute; at += slotLength {
			s := Sample{At: monday.Add(at)}
			if at >= next {
				s.Values, next = c.values, next+c.every
			}
			if d := w.Add(s); d.Action == Open {
				if opened = at; len(d.Incident.Reasons) == 0 {
					t.Errorf("every %v: no reasons: %+v", c.every, d.Incident)
				}
			}
		}
		if (opened > 0) != c.want || opened > 6*time.Minute {
			t.Errorf("every %v %v: opened after %v", c.every, c.values, opened)
		}
	}
}

// What is missing or no number is neither zero nor bad, and the second signal
// of a family stands in for the first.
func TestMissingSignals(t *testing.T) {
	w := NewWatch(Signals(), DefaultRule(), time.UTC, known(time.UTC, monday, 5*week))
	for _, values := range []map[string]float64{nil, {"cpu.user": math.NaN(), "disk.pressure": math.Inf(1)}, {"disk.pressure": 0.9}} {
		if e, _, _ := feed(w, monday, 0, 10*time.Minute, values); len(e) != 0 {
			t.Errorf("%v: %v", values, e)
		}
	}
	h := known(time.UTC, monday, 5*week)
	for at := monday.Add(-5 * week); at.Before(monday); at = at.Add(time.Hour) {
		h.Put(flat("disk.latency", at, 0.001))
	}
	w = NewWatch(Signals(), DefaultRule(), time.UTC, h)
	if e, i, _ := feed(w, monday, 0, 10*time.Minute, map[string]float64{"cpu.user": 0.4, "disk.latency": 0.05}); len(e) != 1 || i.Reasons[1].Signal != "disk.latency" {
		t.Errorf("%v %+v", e, i)
	}
}

// A clock that is set back, and hours that are missing, open nothing and harm
// nothing.
func TestClockSteps(t *testing.T) {
	w := NewWatch(Signals(), DefaultRule(), time.UTC, known(time.UTC, monday, 5*week))
	feed(w, monday, 0, 230*time.Second, off) // 22 bad ones
	if e, _, _ := feed(w, monday, -time.Hour, -time.Hour+5*time.Minute, calm); len(e) != 0 {
		t.Errorf("set back: %v", e)
	}
	if e, _, _ := feed(w, monday, 10*time.Hour, 10*time.Hour+3*time.Minute, off); len(e) != 0 {
		t.Errorf("after a gap: %v", e)
	}
	_, i, _ := feed(w, monday, 10*time.Hour+3*time.Minute, 10*time.Hour+10*time.Minute, off)
	if i.Start.Before(monday.Add(10 * time.Hour)) {
		t.Errorf("the incident reaches over the gap: %+v", i)
	}
	if e, _, _ := feed(w, monday, 9*time.Hour, 10*time.Hour, calm); len(e) != 1 || e[0].action != Close {
		t.Errorf("an incident that is open when the clock is set back: %v", e)
	}
}
