package space

import (
	"slices"
	"testing"
)

// A seed is one situation for good, and what is drawn can be.
func TestDraw(t *testing.T) {
	programsSeen, plantsSeen, fileSystems := map[string]int{}, map[Plant]int{}, map[string]int{}
	for seed := range uint64(2000) {
		s := Draw(seed)
		if *s2(Draw(seed)) != *s2(s) {
			t.Fatalf("seed %d is not one situation: %v", seed, s)
		}
		p := lookup(s.Program)
		switch {
		case p == nil || !slices.Contains(p.works, s.Work):
			t.Errorf("seed %d: %s does not do %s", seed, s.Program, s.Work)
		case s.Threads < 1 || s.Threads > p.threads && s.Threads > 1 || s.Processes < 1 || s.Threads*s.Processes > 600:
			t.Errorf("seed %d: %d threads in each of %d processes", seed, s.Threads, s.Processes)
		case s.Size < 32<<20 || s.Size > 1<<30 || s.Block <= 0 || s.Latency <= 0 || s.Heads < 1:
			t.Errorf("seed %d: %v", seed, s)
		case s.FS == "tmpfs" && (s.direct() || s.Plant != None):
			t.Errorf("seed %d: %v: there is no disk for it", seed, s)
		}
		programsSeen[s.Program]++
		plantsSeen[s.Plant]++
		fileSystems[s.FS]++
	}
	if len(programsSeen) != len(programs()) || len(plantsSeen) != 8 || len(fileSystems) != 5 {
		t.Errorf("2000 seeds have %v, %v, %v", programsSeen, plantsSeen, fileSystems)
	}
}

// s2 is a situation without what cannot be compared.
func s2(s *Situation) *struct {
	program, plant string
	size           int64
	text           string
} {
	return &struct {
		program, plant string
		size           int64
		text           string
	}{s.Program, string(s.Plant), s.Size, s.String()}
}
