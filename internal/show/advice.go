package show

import (
	"fmt"
	"math"
	"path"
	"strings"
	"time"

	"iocause/internal/store/advice"
	"iocause/internal/table"
)

// Advised is what is told of one advice.
type Advised struct {
	advice.Entry
	// Off is how far the outcome is outside of what was predicted, 0 within; null where
	// nothing was predicted or measured.
	Off *float64 `json:"error"`
}

// AdviceSince is what of a ledger was given from a time on, newest first.
func AdviceSince(l *advice.Ledger, since time.Time) []Advised {
	out := []Advised{}
	for i := len(l.Entries) - 1; i >= 0; i-- {
		e := l.Entries[i]
		if e.Given.Before(since) {
			continue
		}
		e.Settings = nil // what is watched is the agent's own affair
		a := Advised{Entry: e}
		if off, ok := e.Error(); ok {
			a.Off = &off
		}
		out = append(out, a)
	}
	return out
}

// AdviceTable is the same for people.
func AdviceTable(all []Advised, zone *time.Location) *table.Table {
	t := &table.Table{Key: "advice", Title: "Advice, and what came of it", Whole: true, Columns: []table.Column{
		{Key: "number", Head: "#"}, {Key: "given", Head: "GIVEN"}, {Key: "predicted", Head: "PREDICTED"}, {Key: "happened", Head: "HAPPENED"},
		{Key: "error", Head: "ERROR"}, {Key: "program", Head: "PROGRAM"}, {Key: "cause", Head: "CAUSE"},
		{Key: "changed", Head: "CHANGED"}, {Key: "do", Head: "ADVICE"},
	}}
	for i := range all {
		a := &all[i]
		t.Rows = append(t.Rows, []table.Cell{table.Str(fmt.Sprint(a.Number)), table.Str(a.Given.In(zone).Format("01-02 15:04")), table.Str(predicted(a)), table.Str(happened(a)), table.Str(off(a)),
			table.Str(a.Program), table.Str(a.Cause), table.Str(changed(a.Changes)), table.Str(a.Do)})
	}
	return t
}

func changed(all []advice.Change) string {
	if len(all) == 0 {
		return "nothing seen"
	}
	var parts []string
	for _, c := range all {
		if c.From == "" && c.To == "" { // a remedy of the lab
			parts = append(parts, c.What)
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %s > %s", path.Base(c.What), size(c.From), size(c.To)))
	}
	return strings.Join(parts, "; ")
}

// size writes a number of bytes as people do, and anything else as it is.
func size(text string) string {
	var n float64
	if _, err := fmt.Sscanf(text, "%g", &n); err != nil || n < 1<<20 || fmt.Sprintf("%.0f", n) != text {
		return text
	}
	if n >= math.MaxInt64/2 { // what version 1 says for none
		return "none"
	}
	return table.Value(n, "bytes")
}

func predicted(a *Advised) string {
	switch least := a.Least(); {
	case least > 0 && a.High > 0:
		return fmt.Sprintf("%.1fx to %.1fx", least, a.High)
	case least > 0:
		return fmt.Sprintf("at least %.1fx", least)
	case a.High > 0:
		return fmt.Sprintf("at most %.1fx", a.High)
	case a.Saves != nil:
		return fmt.Sprintf("saves %.0f to %.0f %% of %s", 100*a.Saves.Low, 100*a.Saves.High, a.Saves.Of)
	}
	return "cannot tell"
}

func happened(a *Advised) string {
	switch o := a.Outcome; {
	case o == nil && len(a.Changes) > 0:
		return "not measured yet"
	case o == nil:
		return "-"
	case o.Factor == nil:
		return o.Result
	case o.Saved != nil && a.Low+a.High == 0:
		return fmt.Sprintf("saved %.0f %%; %sx, %s", 100**o.Saved, table.Digits(*o.Factor), o.Result)
	default:
		return fmt.Sprintf("%sx, %s", table.Digits(*o.Factor), o.Result)
	}
}

func off(a *Advised) string {
	switch {
	case a.Off == nil:
		return "-"
	case *a.Off == 0:
		return "within"
	}
	return fmt.Sprintf("%+.0f %%", 100**a.Off)
}
