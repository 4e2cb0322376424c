package space

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// calls is the account of runs in which nothing was planted.
type calls struct {
	named   Share // a cause was named, of all
	truly   Share // of these, a remedy helps or the named cause is right
	wrongly Share // a cause was named and nothing helps, of the diagnoses of the healthy
	healthy int   // situations
	unsaid  Share // cannot tell, of all diagnoses
	failed  int
	open    int             // of which a cause was named, and whether there is one is not proved
	kinds   map[string]bool // programs and what they do, among the healthy
}

// newestHealthy is how many diagnoses of the healthy the newest of the odd seeds hold
// that are shown by themselves: as many as tell one false alarm in 200.
const newestHealthy = 600

// Unplanted is the table of runs of --unplanted: how often a cause is named where
// there is none. What no cause was named for was not tried, and counts as healthy.
// Seeds are scored in rising order.
func Unplanted(all []Record) string {
	even, odd, late := count(), count(), count()
	scored := slices.Clone(all)
	slices.SortFunc(scored, func(a, b Record) int { return cmp.Compare(b.Seed, a.Seed) })
	for i := range scored { // the newest first
		r := &scored[i]
		if r.Even() {
			even.take(r)
			continue
		}
		odd.take(r)
		if late.wrongly.Of < newestHealthy {
			late.take(r)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| what | even seeds (worked on) | odd seeds (scored only) | odd seeds, the last %d diagnoses of the healthy |\n|---|---:|---:|---:|\n", late.wrongly.Of)
	row := func(what string, value func(*calls) string) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", what, value(even), value(odd), value(late))
	}
	row("a cause named", func(c *calls) string { return cell(c.named) })
	row("of these, a remedy proves that there is one", func(c *calls) string { return cell(c.truly) })
	row("a cause named, where nothing helps: diagnoses", func(c *calls) string { return cell(c.wrongly) })
	row("situations in which these were made", func(c *calls) string { return fmt.Sprint(c.healthy) })
	row("cannot tell: diagnoses", func(c *calls) string { return cell(c.unsaid) })
	row("kinds of programs and work among the healthy", func(c *calls) string { return fmt.Sprint(len(c.kinds)) })
	row("a cause named, and whether anything helps is not proved", func(c *calls) string { return fmt.Sprint(c.open) })
	row("failed", func(c *calls) string { return fmt.Sprint(c.failed) })
	return b.String()
}

func count() *calls { return &calls{kinds: map[string]bool{}} }

func (c *calls) take(r *Record) {
	switch {
	case r.Lacks != "":
	case r.Failed != "":
		c.failed++
	case r.Open:
		c.open++
	default:
		c.add(r)
	}
}

func (c *calls) add(r *Record) {
	named, n := !r.Calm && !r.Unsaid, max(1, r.Looks)
	c.named.add(named)
	c.unsaid.addOf(r.Unsaid, n)
	healthy := r.Untried || r.Healthy && !r.Right
	if named {
		c.truly.add(!healthy)
	}
	if healthy {
		c.wrongly.addOf(named, n)
		c.healthy++
		c.kinds[r.Program+" "+string(Draw(r.Seed).Work)] = true
	}
}
