package diff

import (
	"fmt"
	"strings"

	"iocause/internal/diagnose"
	"iocause/internal/replay"
	"iocause/internal/table"
)

// Tables show a comparison to people: every figure, or those alone whose change
// stands out. narrow leaves out what a narrow screen has no room for.
func (d *Difference) Tables(all, narrow bool) []table.Table {
	return []table.Table{d.sidesTable(), d.findingsTable(), d.evidenceTable(), d.figuresTable(all, narrow), d.settingsTable()}
}

func (d *Difference) sidesTable() table.Table {
	t := table.Table{Key: "sides", Whole: true, Columns: []table.Column{{Key: "side", Head: ""}, {Key: "file", Head: "RECORDING", Flex: true, Least: 16},
		{Key: "start", Head: "BEGAN"}, {Key: "seconds", Head: "LENGTH", Unit: "seconds"}, {Key: "command", Head: "COMMAND", Drop: 2}, {Key: "exit", Head: "EXIT", Drop: 3},
		{Key: "ran", Head: "RAN", Unit: "seconds", Drop: 1}}, Notes: d.Notes}
	for i, s := range d.Sides {
		command, exit, ran := table.None(), table.None(), table.None()
		if s.Command != "" {
			command = table.Str(s.Command)
		}
		if s.Run != nil && s.Run.Ended {
			exit, ran = table.Str(fmt.Sprint(s.Run.Exit)), table.Num(s.Run.Seconds)
		}
		t.Rows = append(t.Rows, []table.Cell{table.Str(string("AB"[i])), table.Str(s.File), table.Str(replay.Stamp(s.Start)), table.Num(s.Seconds), command, exit, ran})
	}
	return t
}

// say is how a cause stands on a side, in words.
func (s State) say() string {
	switch {
	case s.Answer == diagnose.Yes && s.Primary:
		return "the cause, " + table.Value(s.Weight, "ratio")
	case s.Answer == diagnose.Yes:
		return "contributes, " + table.Value(s.Weight, "ratio")
	case s.Answer == diagnose.CannotTell:
		return "cannot tell"
	}
	return "no"
}

func (d *Difference) findingsTable() table.Table {
	t := table.Table{Key: "findings", Title: "Findings, and the share of the waiting that they explain", Whole: true,
		Columns: []table.Column{{Key: "cause", Head: "FINDING"}, {Key: "a", Head: "A"}, {Key: "b", Head: "B"}, {Key: "title", Head: "TITLE", Flex: true, Words: true, Least: 44, Drop: 1}}}
	for _, f := range d.Findings {
		cells := []table.Cell{table.Str(string(f.Cause))}
		for i, s := range f.Sides {
			said := s.say()
			if f.Cause == diagnose.Healthy && s.Answer == diagnose.Yes {
				said = "yes"
			}
			cells = append(cells, table.Str(said))
			if s.Answer != diagnose.Yes && s.Why != "" {
				t.Notes = append(t.Notes, fmt.Sprintf("%s in %c: %s", f.Cause, "AB"[i], s.Why))
			}
		}
		t.Rows = append(t.Rows, append(cells, table.Str(f.Title)))
	}
	return t
}

// figureCell is a figure of a side.
func figureCell(v *float64, unit string) table.Cell {
	if v == nil {
		return table.None()
	}
	return table.Str(table.Value(*v, unit))
}

func (d *Difference) evidenceTable() table.Table {
	t := table.Table{Key: "evidence", Title: "What proves them", Whole: true, Columns: []table.Column{
		{Key: "name", Head: "FIGURE", Flex: true, Least: 36}, {Key: "a", Head: "A"}, {Key: "b", Head: "B"}, {Key: "source", Head: "SOURCE", Drop: 1, Flex: true, Least: 12}}}
	for _, e := range d.Evidence {
		t.Rows = append(t.Rows, []table.Cell{table.Str(e.Name), figureCell(e.A, e.Unit), figureCell(e.B, e.Unit), table.Str(e.Source)})
	}
	return t
}

// change is how a figure changed, in words.
func (f *Figure) change() string {
	switch {
	case f.A == nil || f.B == nil:
		return "not in both"
	case *f.A == *f.B:
		return "the same"
	case f.Unit == "ratio":
		return fmt.Sprintf("%+.3g points", (*f.B-*f.A)*100)
	case *f.A <= 0:
		return "from none"
	case *f.B <= 0:
		return "to none"
	case *f.B >= 2*(*f.A):
		return table.Value(*f.B / *f.A, "count") + " times"
	case *f.A >= 2*(*f.B):
		return "1/" + strings.ReplaceAll(table.Value(*f.A / *f.B, "count"), " ", "")
	}
	return fmt.Sprintf("%+.3g %%", (*f.B / *f.A - 1)*100)
}

func (d *Difference) figuresTable(all, narrow bool) table.Table {
	t := table.Table{Key: "figures", Title: "Figures whose change stands out", Whole: true, Columns: []table.Column{
		{Key: "name", Head: "FIGURE", Flex: true, Least: 36}, {Key: "a", Head: "A"}, {Key: "b", Head: "B"}, {Key: "change", Head: "CHANGE"},
		{Key: "source", Head: "SOURCE", Drop: 1, Flex: true, Least: 12}}}
	if all {
		t.Title = "All figures"
	}
	figures, left := d.shown(all)
	for i := range figures {
		f := &figures[i]
		t.Rows = append(t.Rows, []table.Cell{table.Str(f.Name), figureCell(f.A, f.Unit), figureCell(f.B, f.Unit), table.Str(f.change()), table.Str(f.Source)})
	}
	if narrow { // names say more than sources cut short
		t.Without("source")
		t.Notes = append(t.Notes, "sources of the figures: in a wider terminal, or with --format json")
	}
	if left > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d more that changed less: --all", left))
	}
	return t
}

func (d *Difference) settingsTable() table.Table {
	t := table.Table{Key: "settings", Title: "Settings of the machines that differ", Whole: true, Columns: []table.Column{
		{Key: "setting", Head: "SETTING", Flex: true, Least: 30}, {Key: "a", Head: "A", Flex: true, Least: 10}, {Key: "b", Head: "B", Flex: true, Least: 10}}}
	for _, s := range d.Settings {
		a, b := s.Words()
		t.Rows = append(t.Rows, []table.Cell{table.Str(s.Setting), table.Str(a), table.Str(b)})
	}
	return t
}
