package detect

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// course gives the work of one group, window by window of ten seconds, and
// tells in which of them it had fallen.
func fallen(did []Did) (out []int) {
	w, g, at := NewWorks(), Group{"db", "/db"}, time.Unix(1e9, 0)
	for i, d := range did {
		at = at.Add(10 * time.Second)
		if fell, _ := w.Add(at, 10*time.Second, map[Group]Did{g: d}); len(fell) > 0 {
			out = append(out, i)
		}
	}
	return out
}

func repeat(n int, d ...Did) (out []Did) {
	for i := range n {
		out = append(out, d[i%len(d)])
	}
	return out
}

func TestWorkThatStops(t *testing.T) {
	busy, nothing := Did{Chars: 1e6, CPU: 0.05}, Did{CPU: 0.0001}
	for _, c := range []struct {
		name  string
		did   []Did
		first int // window in which it has fallen first; -1: never
		last  int
	}{
		{"young", append(repeat(6, busy), repeat(10, nothing)...), 6, 15},
		{"too young", append(repeat(5, busy), repeat(10, nothing)...), -1, 0},
		{"to a twentieth", append(repeat(30, busy), repeat(10, Did{Chars: 5e4, CPU: 0.002})...), 30, 39},
		{"to half", append(repeat(30, busy), repeat(10, Did{Chars: 5e5, CPU: 0.02})...), -1, 0},
		{"works again", append(append(repeat(30, busy), repeat(5, nothing)...), repeat(5, busy)...), 30, 34},
		{"rests every minute", repeat(200, busy, busy, busy, busy, busy, nothing), -1, 0},
		{"hardly works", append(repeat(30, Did{Chars: 100, CPU: 0.0001}), repeat(10, nothing)...), -1, 0},
		{"computes where it read", append(repeat(30, busy), repeat(10, Did{CPU: 0.9})...), 30, 39}, // whoever looks finds nobody waiting
		{"computes alone, and stops", append(repeat(30, Did{CPU: 0.9}), repeat(10, nothing)...), 30, 39},
		{"never works again", append(repeat(30, busy), repeat(800, nothing)...), 30, 389},
	} {
		got := fallen(c.did)
		switch {
		case c.first < 0 && len(got) > 0, c.first >= 0 && len(got) == 0:
			t.Errorf("%s: fallen in %v", c.name, got)
		case c.first >= 0 && (got[0] != c.first || got[len(got)-1] != c.last || len(got) != c.last-c.first+1):
			t.Errorf("%s: fallen from %d to %d, %d windows; want %d to %d", c.name, got[0], got[len(got)-1], len(got), c.first, c.last)
		}
	}
}

// A hundred groups that have been known for an hour.
func BenchmarkWorks(b *testing.B) {
	w, at, random := NewWorks(), time.Unix(1e9, 0), rand.New(rand.NewPCG(1, 1))
	did := map[Group]Did{}
	step := func() {
		for g := range 100 {
			v := random.Float64()
			did[Group{fmt.Sprint(g), "/"}] = Did{Chars: 1e6 * v, Got: 1e6 * v, CPU: v, Waits: v}
		}
		at = at.Add(10 * time.Second)
		w.Add(at, 10*time.Second, did)
	}
	for range 400 {
		step()
	}
	for b.Loop() {
		step()
	}
}

// However many groups come and go, so many are known.
func TestWorksAreBounded(t *testing.T) {
	w, at, random := NewWorks(), time.Unix(1e9, 0), rand.New(rand.NewPCG(1, 1))
	stays := Group{"db", "/"}
	for i := range 2000 {
		at = at.Add(10 * time.Second)
		did := map[Group]Did{stays: {Chars: 1e6, CPU: 0.1}}
		for range 30 {
			did[Group{fmt.Sprintf("job%d", random.Int()), "/"}] = Did{Chars: 1e6, CPU: 0.1}
		}
		if i > 0 && i == 1999 {
			did[stays] = Did{}
		}
		fell, _ := w.Add(at, 10*time.Second, did)
		if len(w.groups) > worksGroups {
			t.Fatalf("%d groups are known", len(w.groups))
		}
		for _, f := range fell {
			if f.Group != stays {
				t.Fatalf("%+v lived for ten seconds", f)
			}
		}
		if i == 1999 && len(fell) != 1 {
			t.Errorf("%+v has fallen, want %v", fell, stays)
		}
	}
}
