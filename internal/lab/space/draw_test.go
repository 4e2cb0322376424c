package space

import (
	"fmt"
	"hash/fnv"
	"slices"
	"testing"
)

// A seed is one situation for good, and what is drawn can be.
func TestDraw(t *testing.T) {
	drawn(t, 0, 8, false)
	drawn(t, second, 10, true)
}

// drawn looks at 2000 seeds, which have so many plants, and works that came later or not.
func drawn(t *testing.T, from uint64, plants int, later bool) {
	t.Helper()
	laterSeen := false
	programsSeen, plantsSeen, fileSystems := map[string]int{}, map[Plant]int{}, map[string]int{}
	for i := range uint64(2000) {
		seed := from + i
		s := Draw(seed)
		if *s2(Draw(seed)) != *s2(s) {
			t.Fatalf("seed %d is not one situation: %v", seed, s)
		}
		p := lookup(s.Program)
		switch {
		case p == nil || !slices.Contains(p.works, s.Work) && !slices.Contains(p.later, s.Work):
			t.Errorf("seed %d: %s does not do %s", seed, s.Program, s.Work)
		case s.Threads < 1 || s.Threads > p.threads && s.Threads > 1 || s.Processes < 1 || s.Threads*s.Processes > 600:
			t.Errorf("seed %d: %d threads in each of %d processes", seed, s.Threads, s.Processes)
		case s.Size < 32<<20 || s.Size > 1<<30 || s.Block <= 0 || s.Latency <= 0 || s.Heads < 1:
			t.Errorf("seed %d: %v", seed, s)
		case s.FS == "tmpfs" && (s.direct() || s.Plant != None):
			t.Errorf("seed %d: %v: there is no disk for it", seed, s)
		}
		laterSeen = laterSeen || slices.Contains(p.later, s.Work)
		programsSeen[s.Program]++
		plantsSeen[s.Plant]++
		fileSystems[s.FS]++
	}
	if len(programsSeen) != len(programs()) || len(plantsSeen) != plants || len(fileSystems) != 5 || laterSeen != later {
		t.Errorf("2000 seeds from %d have %v, %v, %v, later works %t", from, programsSeen, plantsSeen, fileSystems, laterSeen)
	}
}

// What was scored stays what it was: seeds below the second space draw the same for
// good, whatever is added to it.
func TestDrawnBefore(t *testing.T) {
	const want = 0xdf1db8c96ea6df2b
	h := fnv.New64a()
	for seed := range uint64(second) {
		s := Draw(seed)
		fmt.Fprintf(h, "%v; %d bytes a call, %t\n", s, s.Block, s.Targeted)
	}
	if got := h.Sum64(); got != want {
		t.Errorf("seeds below %d draw other situations than they did: %#x, want %#x", second, got, uint64(want))
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
