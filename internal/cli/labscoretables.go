package cli

import (
	"strings"

	"iocause/internal/lab"
	"iocause/internal/present/text"
)

// runsTable has a line for every run.
func runsTable(runs []lab.Scored) *text.Table {
	t := &text.Table{Key: "runs", Whole: true, Columns: []text.Column{
		{Key: "scenario", Head: "SCENARIO"}, {Key: "ended", Head: "ENDED"}, {Key: "primary", Head: "PRIMARY"},
		{Key: "verdict_seconds", Head: "TOOK", Unit: "seconds", Drop: 1}, {Key: "why", Head: "WHAT IS WRONG", Flex: true},
	}}
	for i := range runs {
		r := &runs[i]
		ended, why := howEnded(r)
		got := text.None()
		if r.Got != "" {
			got = text.Str(r.Got)
		}
		t.Rows = append(t.Rows, []text.Cell{text.Str(r.Scenario), text.Str(ended), got, text.Maybe(r.Seconds, r.Seconds > 0), text.Str(strings.Join(why, "; "))})
	}
	return t
}

// causesTable has precision and recall of every cause that occurred.
func causesTable(x *lab.Tally) *text.Table {
	t := &text.Table{Key: "causes", Whole: true, Columns: []text.Column{
		{Key: "cause", Head: "CAUSE", Flex: true}, {Key: "named", Head: "NAMED", Unit: "count"}, {Key: "precision", Head: "PRECISION", Unit: "ratio"},
		{Key: "true", Head: "TRUE", Unit: "count"}, {Key: "recall", Head: "RECALL", Unit: "ratio"},
	}}
	for _, c := range x.Causes {
		t.Rows = append(t.Rows, []text.Cell{
			text.Str(c.Cause), text.Num(float64(c.Precision.Of)), text.Maybe(c.Precision.Ratio()),
			text.Num(float64(c.Recall.Of)), text.Maybe(c.Recall.Ratio()),
		})
	}
	return t
}

// confusionTable is what was taken for what. A matrix of twenty causes does
// not fit a screen, and nearly all of it would be zeros.
func confusionTable(x *lab.Tally) *text.Table {
	t := &text.Table{Key: "confusion", Whole: true, Columns: []text.Column{
		{Key: "true", Head: "TRUE CAUSE", Flex: true}, {Key: "named", Head: "WAS TAKEN FOR", Flex: true}, {Key: "runs", Head: "RUNS", Unit: "count"},
	}}
	for _, c := range x.Confusion {
		if c.Want != c.Got {
			t.Rows = append(t.Rows, []text.Cell{text.Str(c.Want), text.Str(c.Got), text.Num(float64(c.Runs))})
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
