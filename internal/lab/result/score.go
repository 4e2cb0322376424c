package result

import (
	"fmt"
	"strings"

	"iocause/internal/lab"
	"iocause/internal/table"
)

// ScoreTables are the runs, precision and recall of the causes, what was taken for
// what, and the sum; those with nothing to say are left out.
func ScoreTables(x *lab.Score) (tables []table.Table) {
	for _, t := range []*table.Table{runsTable(x.Runs), causesTable(x.Tally), confusionTable(x.Tally), sumTable(x.Tally)} {
		if len(t.Rows) > 0 {
			tables = append(tables, *t)
		}
	}
	return tables
}

// runsTable has a line for every run.
func runsTable(runs []lab.Scored) *table.Table {
	t := &table.Table{Key: "runs", Whole: true, Columns: []table.Column{
		{Key: "scenario", Head: "SCENARIO"}, {Key: "ended", Head: "ENDED"}, {Key: "primary", Head: "PRIMARY"},
		{Key: "verdict_seconds", Head: "TOOK", Unit: "seconds", Drop: 1}, {Key: "why", Head: "WHAT IS WRONG", Flex: true, Words: true},
	}}
	for i := range runs {
		r := &runs[i]
		ended, why := r.Ended()
		got := table.None()
		if r.Got != "" {
			got = table.Str(r.Got)
		}
		t.Rows = append(t.Rows, []table.Cell{table.Str(r.Scenario), table.Str(ended), got, table.Maybe(r.Seconds, r.Seconds > 0), table.Str(strings.Join(why, "; "))})
	}
	return t
}

// causesTable has precision and recall of every cause that occurred.
func causesTable(x *lab.Tally) *table.Table {
	t := &table.Table{Key: "causes", Whole: true, Columns: []table.Column{
		{Key: "cause", Head: "CAUSE", Flex: true}, {Key: "named", Head: "NAMED", Unit: "count"}, {Key: "precision", Head: "PRECISION", Unit: "ratio"},
		{Key: "true", Head: "TRUE", Unit: "count"}, {Key: "recall", Head: "RECALL", Unit: "ratio"},
	}}
	for _, c := range x.Causes {
		t.Rows = append(t.Rows, []table.Cell{
			table.Str(c.Cause), table.Num(float64(c.Precision.Of)), table.Maybe(c.Precision.Ratio()),
			table.Num(float64(c.Recall.Of)), table.Maybe(c.Recall.Ratio()),
		})
	}
	return t
}

// confusionTable is what was taken for what. A matrix of twenty causes does
// not fit a screen, and nearly all of it would be zeros.
func confusionTable(x *lab.Tally) *table.Table {
	t := &table.Table{Key: "confusion", Whole: true, Columns: []table.Column{
		{Key: "true", Head: "TRUE CAUSE", Flex: true}, {Key: "named", Head: "WAS TAKEN FOR", Flex: true}, {Key: "runs", Head: "RUNS", Unit: "count"},
	}}
	for _, c := range x.Confusion {
		if c.Want != c.Got {
			t.Rows = append(t.Rows, []table.Cell{table.Str(c.Want), table.Str(c.Got), table.Num(float64(c.Runs))})
		}
	}
	return t
}

// sumTable is the whole score in a few lines.
func sumTable(t *lab.Tally) *table.Table {
	out := &table.Table{Key: "score", Whole: true, Columns: []table.Column{
		{Key: "what", Head: "SCORE", Flex: true}, {Key: "part", Head: "RUNS", Unit: "count"}, {Key: "of", Head: "OF", Unit: "count"}, {Key: "ratio", Head: "RATIO", Unit: "ratio"},
	}}
	for _, l := range []struct {
		what string
		s    lab.Share
	}{{"primary cause right", t.Primary}, {"culprit right, where the scenario names one", t.Culprits}, {"a cause named on a healthy machine", t.Alarms}} {
		out.Rows = append(out.Rows, []table.Cell{table.Str(l.what), table.Num(float64(l.s.Part)), table.Num(float64(l.s.Of)), table.Maybe(l.s.Ratio())})
	}
	if t.Primary.Of > 0 {
		out.Notes = append(out.Notes, "median time from the start of the diagnosis to its verdict: "+table.Duration(t.Seconds))
	}
	for _, l := range []struct {
		n    int
		what string
	}{{t.Unreal, "not counted: the situation could not be set up"}, {t.Failed, "not counted: the run failed"}, {t.Skipped, "skipped: this host lacks something"}} {
		if l.n > 0 {
			out.Notes = append(out.Notes, fmt.Sprintf("%s: %d", l.what, l.n))
		}
	}
	return out
}
