package table

import (
	"strings"
	"testing"
)

func TestTableSortsAndCuts(t *testing.T) {
	table := &Table{
		Columns: []Column{{Key: "pid"}, {Key: "read_bytes", Unit: "bytes"}, {Key: "hit_ratio", Unit: "ratio"}},
		Rows:    [][]Cell{{Str("1"), Num(0), None()}, {Str("4711"), Num(3 << 20), Num(.5)}, {Str("9"), Unread(), Num(1)}},
		Left:    3,
	}
	if err := table.Sort("read_bytes"); err != nil {
		t.Fatal(err)
	}
	table.Top(1)
	if table.Rows[0][0].Text != "4711" || table.Left != 5 {
		t.Errorf("first %q and %d left, want 4711 and 5", table.Rows[0][0].Text, table.Left)
	}
	if err := table.Sort("nonsense"); err == nil || !strings.Contains(err.Error(), "hit_ratio") {
		t.Errorf("sorting by an unknown column: %v", err)
	}
}
