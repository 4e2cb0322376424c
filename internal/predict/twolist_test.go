package predict

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// onList is what is on a list, oldest first.
func (c *twoList) onList(list int) (pages []uint32) {
	for i := c.lists[list].first; i < len(c.lists[list].pages); i++ {
		if p := c.lists[list].pages[i]; c.on(list, p, i) {
			pages = append(pages, p)
		}
	}
	return pages
}

// Lists hold what plain ones would, in their order, whatever leaves them from between.
func TestLists(t *testing.T) {
	const pages, room = 60, 20
	r := rand.New(rand.NewPCG(1, 2))
	c := newTwoList(pages, room, 1, false)
	var want [2][]uint32
	moved := 0
	for i := range 100_000 {
		p := uint32(r.IntN(pages))
		l, has := c.listOf(p), c.has(p)
		out := func(list int) {
			if at := slices.Index(want[list], p); at >= 0 {
				want[list] = slices.Delete(want[list], at, at+1)
			}
		}
		switch before := c.lengths; {
		case has && r.IntN(10) == 0:
			c.drop(p)
			out(l)
		case has:
			c.mark(p)
			if now := c.listOf(p); now != l {
				out(l)
				want[now] = append(want[now], p)
			}
		default: // the oldest active pages go to the other list, and its oldest out
			c.insert(p, false)
			now := c.lengths
			now[c.listOf(p)]--
			from := before[activeList] - now[activeList]
			want[inactiveList] = append(want[inactiveList], want[activeList][:from]...)
			want[activeList] = slices.Delete(want[activeList], 0, from)
			want[inactiveList] = slices.Delete(want[inactiveList], 0, len(want[inactiveList])-now[inactiveList])
			want[c.listOf(p)] = append(want[c.listOf(p)], p)
			moved += from
		}
		for list := range want {
			if got := c.onList(list); !slices.Equal(got, want[list]) || len(got) != c.lengths[list] {
				t.Fatalf("step %d: list %d holds %v, counted %d, want %v", i, list, got, c.lengths[list], want[list])
			}
		}
	}
	if moved < 1000 {
		t.Errorf("%d pages left the active list", moved)
	}
}
