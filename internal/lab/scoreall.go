package lab

import (
	"context"
	"fmt"
)

// ScoreAll runs the scenarios, round by round, until it is interrupted. run also
// says what this host lacks for one, which then is not run again. show is told what
// is being done.
func ScoreAll(ctx context.Context, chosen []*Scenario, repeat int, show func(doing string), run func(*Scenario) (Scored, string)) []Scored {
	var runs []Scored
	lacking := map[string]bool{}
	for round := range repeat {
		for i, s := range chosen {
			if ctx.Err() != nil {
				return runs
			}
			if lacking[s.Name] {
				continue
			}
			show(fmt.Sprintf("round %d of %d, %d of %d: %s%s", round+1, repeat, i+1, len(chosen), s.Name, scoredSoFar(runs)))
			scored, lacks := run(s)
			if lacks != "" {
				lacking[s.Name] = true
				scored = Scored{Scenario: s.Name, Want: s.Expect.Primary, Skipped: lacks}
			}
			if ctx.Err() == nil {
				runs = append(runs, scored)
			}
		}
	}
	return runs
}

// scoredSoFar says how the last run ended, and how many were not right.
func scoredSoFar(runs []Scored) string {
	if len(runs) == 0 {
		return ""
	}
	not := 0
	for i := range runs {
		if ended, _ := runs[i].Ended(); ended != "right" && ended != "skipped" {
			not++
		}
	}
	last := &runs[len(runs)-1]
	ended, why := last.Ended()
	if len(why) > 0 {
		ended += ", " + why[0]
	}
	return fmt.Sprintf(" (%d of %d not right so far; %s: %s)", not, len(runs), last.Scenario, ended)
}
