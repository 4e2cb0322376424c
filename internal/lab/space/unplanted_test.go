package space

import (
	"strings"
	"testing"
)

// A cause that a remedy bears out is no false alarm, and neither is it a healthy run.
func TestUnplanted(t *testing.T) {
	got := Unplanted([]Record{
		{Seed: 1, Program: "fio", Untried: true, Healthy: true, Right: true, Calm: true, Looks: 4},
		{Seed: 3, Program: "fio", Untried: true, Healthy: true, Unsaid: true},
		{Seed: 5, Program: "fio", Healthy: true, Looks: 2},    // named, and nothing helps
		{Seed: 7, Program: "fio", Healthy: true, Right: true}, // named cpu-saturated, which no remedy can tell
		{Seed: 9, Program: "fio", Right: true},
		{Seed: 11, Program: "fio"},                            // another cause than the one named
		{Seed: 17, Program: "fio", Healthy: true, Open: true}, // up and down by itself
		{Seed: 13, Program: "fio", Failed: "killed"},
		{Seed: 15, Program: "fio", Lacks: "fio"},
	})
	for _, want := range []string{
		"a cause named | - | 4 of 6:", "that there is one | - | 3 of 4:", "nothing helps: diagnoses | - | 1 of 7:", "made | 0 | 3 |", "cannot tell: diagnoses | - | 1 of 10:", "not proved | 0 | 1 |", "failed | 0 | 1 |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

// The last column holds the newest odd seeds alone, whole situations, as many as make
// the diagnoses that a rate of one in 200 needs.
func TestNewestHealthy(t *testing.T) {
	var all []Record
	for seed := uint64(1); seed < 802; seed += 2 { // an early fault in each of the first twenty
		all = append(all, Record{Seed: seed, Program: "fio", Healthy: true, Untried: seed > 40, Right: seed > 40, Calm: seed > 40, Looks: 4})
	}
	got := Unplanted(all)
	for _, want := range []string{"the last 600 diagnoses", "nothing helps: diagnoses | - | 20 of 1604: 1.2 % (0.8 to 1.9) | 0 of 600: ", "made | 0 | 401 | 150 |"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

// What is drawn without a plant can still be slow by its own choice.
func TestUnplantedDraws(t *testing.T) {
	n := 0
	for seed := range uint64(2000) {
		s := Draw(seed)
		if !s.unplanted() {
			continue
		}
		n++
		if s.Plant != None || s.direct() || s.Work == Commit && s.Think < restful {
			t.Errorf("seed %d: %v", seed, s)
		}
	}
	if n < 300 {
		t.Errorf("%d of 2000 draws: too few to count false alarms", n)
	}
}
