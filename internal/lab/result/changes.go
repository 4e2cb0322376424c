package result

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"iocause/internal/detect"
	"iocause/internal/lab"
	"iocause/internal/table"
)

// Change is a moment from which on a load was faster or slower, and what
// else changed about then.
type Change struct {
	Phase  string    `json:"phase"`
	Repeat int       `json:"repeat"`
	Load   string    `json:"load"`
	Figure string    `json:"figure"` // of the load: "calls" or "latency p99"
	Unit   string    `json:"unit"`
	At     time.Time `json:"at"`
	After  float64   `json:"seconds"` // from the phase's start
	From   float64   `json:"before"`  // medians, up to the change before and the next
	To     float64   `json:"after"`
	Also   []Also    `json:"also_changed"`             // the earliest first
	Before string    `json:"finding_before,omitempty"` // of the look that ended before it
	Later  string    `json:"finding_after,omitempty"`  // of the look that began after it
	Method string    `json:"method"`
}

// Also is a figure that went to another level at about that time.
type Also struct {
	Of     string  `json:"of"`
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Source string  `json:"source"`
	After  float64 `json:"seconds"` // from the load's change; below zero: before it
	From   float64 `json:"before"`
	To     float64 `json:"after"`
}

const (
	changeMethod = "PELT on ranks; levels differ by 10 % at least, and 92 % of pairs of their values lie the same way"
	// sameWindows is how many windows, of the longer of both, two changes may lie
	// apart that are said to come together, and sameTime how long in any case:
	// what one causes takes some time, and each is found to a window or two.
	sameWindows = 3
	sameTime    = time.Second
	// slowest is the figure of a load that shows what its rate does not: of a
	// load that is paced, the rate stays. It spreads more, so only a change by
	// slowestFactor counts.
	slowest       = "latency p99"
	slowestFactor = 2
)

// changesIn finds the changes of every measured load of a phase.
func changesIn(p *lab.PhaseResult) []Change {
	var out []Change
	type found struct {
		s  *lab.Series
		at time.Time
		c  detect.Change
	}
	var others []found
	for i := range p.Series {
		s := &p.Series[i]
		own := s.Source == loadSource
		if own && s.Name != "calls" && s.Name != slowest {
			continue // they say the same once more
		}
		for _, c := range detect.Changes(s.Values) {
			f := found{s, s.Start.Add(time.Duration(c.At) * s.Step), c}
			if !own {
				others = append(others, f)
				continue
			}
			if s.Name == slowest && (max(c.Before, c.After) < slowestFactor*min(c.Before, c.After) || rateChanged(out, s.Of, f.at)) {
				continue
			}
			out = append(out, Change{
				Phase: p.Phase, Repeat: p.Repeat, Load: strings.TrimPrefix(s.Of, "load "), Figure: s.Name, Unit: s.Unit, At: f.at, After: f.at.Sub(p.Started).Seconds(),
				From: c.Before, To: c.After, Also: []Also{}, Method: changeMethod,
			})
		}
	}
	for i := range out {
		x := &out[i]
		for _, f := range others {
			apart := f.at.Sub(x.At)
			if apart.Abs() > max(sameTime, sameWindows*max(f.s.Step, stepOf(p, x.Load))) {
				continue
			}
			x.Also = append(x.Also, Also{f.s.Of, f.s.Name, f.s.Unit, f.s.Source, apart.Seconds(), f.c.Before, f.c.After})
		}
		slices.SortStableFunc(x.Also, func(a, b Also) int { return cmp.Compare(a.After, b.After) })
		for k, w := range p.Watched {
			switch {
			case w.Primary == "":
			case k+1 < len(p.Watched) && !p.Watched[k+1].Started.After(x.At):
				x.Before = w.Primary
			case x.Later == "" && !w.Started.Before(x.At):
				x.Later = w.Primary
			}
		}
	}
	return out
}

// loadSource is where a load's own figures come from.
const loadSource = "iocause lab load"

// rateChanged tells whether a load's rate changed at about a time; its series
// comes before those of its latencies.
func rateChanged(changes []Change, of string, at time.Time) bool {
	return slices.ContainsFunc(changes, func(c Change) bool {
		return "load "+c.Load == of && c.Figure == "calls" && c.At.Sub(at).Abs() <= sameTime
	})
}

// stepOf is the window of a load's series.
func stepOf(p *lab.PhaseResult, load string) time.Duration {
	for i := range p.Series {
		if s := &p.Series[i]; s.Of == "load "+load && s.Source == loadSource {
			return s.Step
		}
	}
	return 0
}

// ChangesTable has a line for each change, and below it what changed with it.
func ChangesTable(changes []Change) *table.Table {
	t := &table.Table{Key: "changes", Title: "Changes that stayed, and what else changed then", Whole: true, Columns: []table.Column{
		{Key: "at", Head: "WHEN"}, {Key: "what", Head: "WHAT", Flex: true, Least: 30}, {Key: "before", Head: "FROM"}, {Key: "after", Head: "TO"},
	}}
	row := func(cells ...string) {
		var r []table.Cell
		for _, c := range cells {
			r = append(r, table.Str(c))
		}
		t.Rows = append(t.Rows, r)
	}
	for _, c := range changes {
		row(c.At.Format("2006-01-02 15:04:05.0"), c.Phase+", "+c.Load+": "+c.Figure,
			table.Value(c.From, c.Unit), table.Value(c.To, c.Unit))
		for _, a := range c.Also {
			row("  "+secondsApart(a.After), a.Of+": "+a.Name, table.Value(a.From, a.Unit), table.Value(a.To, a.Unit))
		}
		if c.Before != c.Later && c.Before != "" && c.Later != "" {
			row("", "finding of iocause diagnose", c.Before, c.Later)
		}
	}
	if len(t.Rows) > 0 {
		t.Notes = append(t.Notes, "medians of the levels, by "+changeMethod+"; correlation does not show which is the cause")
	}
	return t
}

// secondsApart is a time with its sign.
func secondsApart(s float64) string {
	if s < 0 {
		return "-" + table.Duration(-s)
	}
	return "+" + table.Duration(s)
}
