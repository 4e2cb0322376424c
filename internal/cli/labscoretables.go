package cli

import (
	"strings"

	"iocause/internal/lab"
	"iocause/internal/table"
)

// runsTable has a line for every run.
func runsTable(runs []lab.Scored) *table.Table {
	t := &table.Table{Key: "runs", Whole: true, Columns: []table.Column{
		{Key: "scenario", Head: "SCENARIO"}, {Key: "ended", Head: "ENDED"}, {Key: "primary", Head: "PRIMARY"},
		{Key: "verdict_seconds", Head: "TOOK", Unit: "seconds", Drop: 1}, {Key: "why", Head: "WHAT IS WRONG", Flex: true},
	}}
	for i := range runs {
		r := &runs[i]
		ended, why := howEnded(r)
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

// howEnded is how a run ended in one word, and what is to be said of that.
func howEnded(r *lab.Scored) (ended string, why []string) {
	why = append(append([]string{}, r.Wrong...), r.Culprit...)
	switch {
	case r.Skipped != "":
		return "skipped", []string{r.Skipped}
	case r.Failed != "":
		return "failed", []string{r.Failed}
	case len(r.Unreal) > 0:
		return "unreal", r.Unreal
	case !r.Right():
		return "WRONG", why
	case len(why) > 0:
		return "partly", why
	}
	return "right", nil
}
