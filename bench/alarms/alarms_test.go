package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	o := simulate(chosenOn, 2, 5, 2, begin, loc, variants()[0])
	got := [...]int{o.alarms, o.falseFirst, o.falseLater, sum(o.found), sum(o.all)}
	if want := [...]int{25, 0, 2, 16, 16}; got != want {
		t.Errorf("alarms, false ones in the first week, later, found, planted: %v, want %v", got, want)
	}
	if want := [...]int{0, 7, 8}; [...]int{o.byGroups, sum(o.inGroups), sum(o.allInGroups)} != want {
		t.Errorf("false alarms of groups, their incidents found, planted: %v, want %v", [...]int{o.byGroups, sum(o.inGroups), sum(o.allInGroups)}, want)
	}
	if d := o.delay(0.5); d != 4*time.Minute {
		t.Errorf("median delay %v, want 4m0s", d)
	}
	if want := map[string]int{busyLimit: 8, "cache squeezed": 2, "device slow": 1, "memory leak, swapping": 3, "noisy neighbour": 2}; !maps.Equal(o.found, want) {
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
		alarm(200*time.Hour+5*time.Minute, 202*time.Hour), alarm(301*time.Hour+11*time.Minute, 302*time.Hour)}, nil)
	if o.alarms != 4 || o.falseFirst != 1 || o.falseLater != 2 || sum(o.found) != 1 || o.found["a"] != 1 || o.delay(0.5) != 5*time.Minute || o.day != 1 || o.dayAll != 2 {
		t.Errorf("%+v", o)
	}
}

// A folder as NAB's: two weeks with a day in them, and one step that lasts.
// Its first value stands out, within a window that is labelled; the rest of it
// is a repeat.
func TestRatesNAB(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"labels/combined_windows.json": `{"a/x.csv": [["2026-01-12 11:00:00.000000", "2026-01-12 13:00:00.000000"]]}`, "data/a/x.csv": series()} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := rate(dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "results/iocause/a/iocause_x.csv"))
	if err != nil {
		t.Fatal(err)
	}
	var high []string
	labelled := 0
	for _, line := range strings.Split(string(got), "\n")[1:] {
		f := strings.Split(line, ",")
		if len(f) == 4 && f[2] > "0.2" {
			high = append(high, line)
		}
		if strings.HasSuffix(line, ",1") {
			labelled++
		}
	}
	if len(high) != 1 || !strings.HasPrefix(high[0], "2026-01-12 12:00:00,900,0.") || !strings.HasSuffix(high[0], ",1") || labelled != 25 {
		t.Errorf("%d labelled; high are %q", labelled, high)
	}
}

// series is 100 by day and 50 by night, and 900 in an hour of the eighth day.
func series() string {
	b := "timestamp,value\n"
	for at := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC); at.Day() < 19; at = at.Add(5 * time.Minute) {
		v := "50"
		switch {
		case at.Day() == 12 && at.Hour() == 12:
			v = "900"
		case at.Hour() >= 8 && at.Hour() < 20:
			v = "100"
		}
		b += at.Format(time.DateTime) + "," + v + "\n"
	}
	return b
}
