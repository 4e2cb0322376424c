package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"iocause/internal/lab"
	"iocause/internal/present/text"
	"iocause/internal/table"
)

// soFar says how the last run ended, and how many were not right.
func soFar(runs []lab.Scored) string {
	if len(runs) == 0 {
		return ""
	}
	not := 0
	for i := range runs {
		if ended, _ := howEnded(&runs[i]); ended != "right" && ended != "skipped" {
			not++
		}
	}
	last := &runs[len(runs)-1]
	ended, why := howEnded(last)
	if len(why) > 0 {
		ended += ", " + why[0]
	}
	return fmt.Sprintf(" (%d of %d not right so far; %s: %s)", not, len(runs), last.Scenario, ended)
}

func writeScore(out io.Writer, x *lab.Score, format string) error {
	if format == "json" {
		e := json.NewEncoder(out)
		e.SetIndent("", " ")
		e.SetEscapeHTML(false)
		if err := e.Encode(x); err != nil {
			return fmt.Errorf("writing the score: %w", err)
		}
		return nil
	}
	style := styleOf(out, os.Getenv, widestTable)
	for i, t := range []*table.Table{runsTable(x.Runs), causesTable(x.Tally), confusionTable(x.Tally), sumTable(x.Tally)} {
		if len(t.Rows) == 0 {
			continue
		}
		if i > 0 {
			fmt.Fprintln(out)
		}
		if err := text.WriteTable(out, t, style); err != nil {
			return err
		}
	}
	return nil
}

// sumTable is the whole score in a few lines.
func sumTable(t *lab.Tally) *table.Table {
	out := &table.Table{Key: "score", Whole: true, Columns: []table.Column{
		{Key: "what", Head: "SCORE", Flex: true}, {Key: "part", Head: "RUNS", Unit: "count"}, {Key: "of", Head: "OF", Unit: "count"}, {Key: "ratio", Head: "RATIO", Unit: "ratio"},
	}}
	for _, l := range []struct {
		what string
		s    lab.Share
	}{{"primary cause right", t.Primary}, {"culprit right, where one is asked for", t.Culprits}, {"a cause named on a healthy machine", t.Alarms}} {
		out.Rows = append(out.Rows, []table.Cell{table.Str(l.what), table.Num(float64(l.s.Part)), table.Num(float64(l.s.Of)), table.Maybe(l.s.Ratio())})
	}
	if t.Primary.Of > 0 {
		out.Notes = append(out.Notes, "median time from the start of the diagnosis to its verdict: "+table.Duration(t.Seconds))
	}
	for _, l := range []struct {
		n    int
		what string
	}{{t.Unreal, "not counted, since the situation did not come about"}, {t.Failed, "not counted, since it could not be run to its end"}, {t.Skipped, "skipped, since this host lacks something for it"}} {
		if l.n > 0 {
			out.Notes = append(out.Notes, fmt.Sprintf("%s: %d", l.what, l.n))
		}
	}
	return out
}
