package show

import (
	"fmt"
	"io"
	"strings"

	"iocause/internal/diagnose"
	"iocause/internal/present/text"
	"iocause/internal/table"
	"iocause/internal/tool/verify"
)

// Outcome writes what came of a fix.
func Outcome(out io.Writer, o *verify.Outcome, style text.Style) error {
	if err := say(out, []string{headline(o)}, style); err != nil {
		return err
	}
	const label, column = 12, 26
	row := func(name, before, now string) {
		fmt.Fprintln(out, strings.TrimRight(text.Pad(name, label)+text.Pad(text.End(before, column-2), column)+now, " "))
	}
	fmt.Fprintln(out)
	row("", "BEFORE", "NOW")
	row("watched", span(&o.Before), span(&o.After))
	row("verdict", string(o.Before.Primary), string(o.After.Primary))
	row("held up", waits(o.Before.Waits), waits(o.After.Waits))
	row(kindOfWork(o), rate(o.Before.Work), rate(o.After.Work)+times(o.Factor))
	fmt.Fprintln(out)
	lines := []string{}
	if o.Promised != nil {
		lines = append(lines, "advice then: "+o.Promised.Do, "promised: "+o.Promised.Expect+held(o))
	}
	for _, n := range o.Notes {
		lines = append(lines, "note: "+n)
	}
	return say(out, lines, style)
}

// headline is the answer in a sentence.
func headline(o *verify.Outcome) string {
	who, cause := o.Victim.Comm, string(o.Cause)
	factor := ""
	if o.Factor != nil {
		factor = fmt.Sprintf("%s %s %s times as much", who, kindOfWork(o), table.Digits(*o.Factor))
	}
	now := ""
	if p := o.After.Primary; p != diagnose.Healthy && p != diagnose.Unknown {
		now = "; now it is " + string(p)
	}
	switch o.Result {
	case verify.Helped:
		return fmt.Sprintf("HELPED: %s is gone, and %s%s", cause, factor, now)
	case verify.InPart:
		return fmt.Sprintf("HELPED IN PART: %s, and %s is still there", factor, cause)
	case verify.Gone:
		if factor == "" {
			return fmt.Sprintf("GONE: %s is gone; how much more %s does was not measured%s", cause, who, now)
		}
		return fmt.Sprintf("GONE: %s is gone; %s%s", cause, factor, now)
	case verify.Worse:
		return fmt.Sprintf("WORSE: %s, and it waits longer", factor)
	case verify.Unchanged:
		return fmt.Sprintf("NO CHANGE: %s is still there, and %s", cause, factor)
	}
	return fmt.Sprintf("CANNOT TELL whether anything has changed for %s", who)
}

func kindOfWork(o *verify.Outcome) string {
	for _, w := range []*verify.Work{o.Before.Work, o.After.Work} {
		if w != nil {
			return w.Name
		}
	}
	return "work"
}

func span(s *verify.Side) string {
	return s.Start.Local().Format("15:04:05") + ", " + table.Duration(s.Seconds)
}

func waits(share *float64) string {
	if share == nil {
		return "-"
	}
	return table.Value(*share, "ratio") + " of its time"
}

func rate(w *verify.Work) string {
	if w == nil {
		return "-"
	}
	if w.Unit == "ratio" {
		return table.Value(w.PerSecond, w.Unit) + " of a processor"
	}
	return table.Value(w.PerSecond, w.Unit)
}

func times(factor *float64) string {
	if factor == nil {
		return ""
	}
	return "  (" + table.Digits(*factor) + "x)"
}

// held says whether the promise was kept.
func held(o *verify.Outcome) string {
	switch {
	case o.Held == nil || o.Result == verify.Unknown || o.Result == verify.Unchanged:
		return ""
	case *o.Held:
		return " (kept)"
	case *o.Factor > o.Promised.Low:
		return " (it gave more)"
	}
	return " (it gave less)"
}
