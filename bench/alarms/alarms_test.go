package main

import (
	"maps"
	"testing"
	"time"

	"iocause/internal/detect"
	"iocause/internal/sample"
)

// The same simulation as the program's, small: its figures are exact, so that
// a change of the method shows, for the better or the worse.
func TestAlarmsOnSimulatedHosts(t *testing.T) {
	if testing.Short() {
		t.Skip("it compares figures only")
	}
	loc, begin, err := zone()
	if err != nil {
		t.Fatal(err)
	}
	o := simulate(2, 5, 2, begin, loc, detect.DefaultRule())
	got := [...]int{o.alarms, o.falseFirst, o.falseLater, sum(o.found), sum(o.all)}
	if want := [...]int{19, 3, 8, 8, 8}; got != want {
		t.Errorf("alarms, false ones in the first week, later, found, planted: %v, want %v", got, want)
	}
	if d := o.delay(0.5); d != 4*time.Minute+30*time.Second {
		t.Errorf("median delay %v, want 4m30s", d)
	}
	if want := map[string]int{"cache squeezed": 2, "device slow": 1, "memory leak, swapping": 3, "noisy neighbour": 2}; !maps.Equal(o.found, want) {
		t.Errorf("found %v, want %v", o.found, want)
	}
}

// Alarms that overlap nothing planted are false; what is told ten minutes
// after its end is not found.
func TestScore(t *testing.T) {
	at := time.Date(2026, 9, 14, 0, 0, 0, 0, time.UTC)
	m := &machine{loc: time.UTC, start: at, planted: []planted{{kind: "a", from: at.Add(200 * time.Hour), to: at.Add(201 * time.Hour)}, {kind: "b", from: at.Add(300 * time.Hour), to: at.Add(301 * time.Hour)}}}
	alarm := func(from, to time.Duration) sample.Incident {
		return sample.Incident{Start: at.Add(from - 4*time.Minute), Opened: at.Add(from), End: at.Add(to)}
	}
	o := score(m, 2, []sample.Incident{alarm(2*time.Hour, 3*time.Hour), alarm(199*time.Hour, 200*time.Hour),
		alarm(200*time.Hour+5*time.Minute, 202*time.Hour), alarm(301*time.Hour+11*time.Minute, 302*time.Hour)})
	if o.alarms != 4 || o.falseFirst != 1 || o.falseLater != 2 || sum(o.found) != 1 || o.found["a"] != 1 || o.delay(0.5) != 5*time.Minute || o.day != 1 || o.dayAll != 2 {
		t.Errorf("%+v", o)
	}
}
