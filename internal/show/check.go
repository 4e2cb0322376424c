// Package show writes for people what takes more than a table: findings of texts,
// incidents, checks, comparisons, predictions.
package show

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"iocause/internal/diagnose"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/tool/check"
)

// Check writes the result of a check for people.
func Check(w io.Writer, c *check.Found, width int) error {
	var b strings.Builder
	nameWidth, indent := 8, 0
	for _, s := range c.Sources {
		nameWidth = max(nameWidth, text.Width(s.Name))
	}
	for _, v := range c.Verdicts {
		nameWidth = max(nameWidth, text.Width(string(v.Cause)))
	}
	const stateWidth = len("not supported")
	indent = nameWidth + 2
	fmt.Fprintf(&b, "%s%s\n", text.Pad("SOURCE", indent), "STATE")
	said := map[string]string{} // the source below which a way stands already, by its lines
	for _, s := range c.Sources {
		fmt.Fprintf(&b, "%s%s\n", text.Pad(text.Escape(s.Name), indent), s.State)
		for _, why := range s.Why {
			hang(&b, text.Escape(why), indent, width)
		}
		for i := range s.Ways {
			lines := wayLines(&s.Ways[i])
			all := strings.Join(lines, "\n")
			if at := said[all]; at != "" {
				lines = []string{s.Ways[i].What + ": as for " + at}
			} else {
				said[all] = s.Name
			}
			for _, line := range lines {
				hang(&b, text.Escape(line), indent, width)
			}
		}
		if s.Needs != "" {
			hang(&b, "needs "+text.Escape(s.Needs), indent, width)
		}
		if s.State != check.Works {
			hang(&b, costLine(&s), indent, width)
		}
	}
	impossible := c.Impossible()
	if len(impossible) == 0 {
		fmt.Fprintf(&b, "\nAll %d verdicts are possible.\n", len(c.Verdicts))
	} else {
		fmt.Fprintf(&b, "\n%s%s\n", text.Pad("IMPOSSIBLE", indent), "WHAT IS MISSING")
		for _, v := range impossible {
			lines := text.Wrap(text.Escape(strings.Join(v.Missing, "; ")), max(width-indent, stateWidth))
			for i, line := range lines {
				label := ""
				if i == 0 {
					label = text.Escape(string(v.Cause))
				}
				fmt.Fprintf(&b, "%s%s\n", text.Pad(label, indent), line)
			}
		}
		fmt.Fprintf(&b, "\nImpossible here: %d of %s.\n", len(impossible), sample.Counted(len(c.Verdicts), "verdict"))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("writing the check: %w", err)
	}
	return nil
}

// costLine says what the diagnosis loses by a source that does not work as a whole.
func costLine(s *check.Source) string {
	var parts []string
	if len(s.Costs) > 0 {
		parts = append(parts, "costs the verdict on "+names(s.Costs))
	}
	if len(s.Replaced) > 0 {
		parts = append(parts, names(s.Replaced)+" judged by other figures")
	}
	if len(parts) == 0 {
		return "costs no verdict"
	}
	return strings.Join(parts, "; ")
}

func names(ids []diagnose.ID) string {
	var all []string
	for _, id := range ids {
		all = append(all, string(id))
	}
	return strings.Join(all, ", ")
}

// wayLines says how something is counted: the way, how exact it is, and what was
// tried before.
func wayLines(w *sample.Way) []string {
	line := w.What + ": not counted"
	if w.By != "" {
		hooks := w.Hooks
		const few = 3
		if len(hooks) > few { // JSON has all
			hooks = append(slices.Clone(hooks[:few-1]), fmt.Sprintf("%d more", len(hooks)-few+1))
		}
		line = fmt.Sprintf("%s: %s, %s", w.What, strings.Join(hooks, " and "), w.Grade)
	}
	if w.Proof != "" {
		line += " (" + w.Proof + ")"
	}
	lines := []string{line}
	for _, r := range w.Rejected {
		lines = append(lines, "not by "+r)
	}
	return lines
}

// hang writes a text below the column of the states.
func hang(b *strings.Builder, s string, indent, width int) {
	for _, line := range text.Wrap(s, max(width-indent-2, 20)) {
		fmt.Fprintf(b, "%s  %s\n", strings.Repeat(" ", indent), line)
	}
}
