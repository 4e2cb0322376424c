package result

import (
	"fmt"
	"strings"

	"iocause/internal/lab"
	"iocause/internal/table"
)

// ChecksTable has a line for each check of an experiment.
func ChecksTable(checks []lab.Checked) *table.Table {
	t := &table.Table{Key: "checks", Title: "What must hold on any machine", Whole: true, Columns: []table.Column{
		{Key: "what", Head: "TIMES AS FAST", Flex: true, Least: 12}, {Key: "of", Head: "BY"}, {Key: "ratio", Head: "IS"}, {Key: "condition", Head: "MUST BE"},
		{Key: "holds", Head: "HOLDS"}, {Key: "because", Head: "BECAUSE", Drop: 1},
	}}
	for _, c := range checks {
		value := table.None()
		if c.Measured {
			value = table.Str(fmt.Sprintf("%.4g", c.Value))
		}
		t.Rows = append(t.Rows, []table.Cell{table.Str(c.Phase + " as " + c.Against), table.Str(c.Of), value, table.Str(c.Condition), table.Str(checkWord(c)), table.Str(c.Because)})
	}
	return t
}

func checkWord(c lab.Checked) string {
	switch {
	case !c.Measured:
		return "not measured"
	case c.Holds:
		return "yes"
	}
	return "NO"
}

// Failed is the error of those that were measured and do not hold.
func Failed(checks []lab.Checked) error {
	var failed []string
	for _, c := range checks {
		if c.Measured && !c.Holds {
			failed = append(failed, fmt.Sprintf("%s is %.4g times as fast as %s by its %s, not %s", c.Phase, c.Value, c.Against, c.Of, c.Condition))
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("checks failed: %s", strings.Join(failed, "; "))
}
