package text

import (
	"strings"
	"testing"

	"iocause/internal/require"
	"iocause/internal/table"
)

func processes() *table.Table {
	return &table.Table{
		Key: "processes", Title: "By process",
		Columns: []table.Column{
			{Key: "pid", Head: "PID"}, {Key: "comm", Head: "COMM", Flex: true},
			{Key: "read_bytes", Head: "READ", Unit: "bytes"}, {Key: "hit_ratio", Head: "HIT", Unit: "ratio"},
			{Key: "file", Head: "FILE", Flex: true}, {Key: "extra", Head: "EXTRA", Unit: "count", Drop: 1},
		},
		Rows: [][]table.Cell{
			{table.Str("1"), table.Str("init"), table.Num(0), table.None(), table.Str("/sbin/init"), table.Num(7)},
			{table.Str("4711"), table.Str("evil\x1b[2Jname\nnext"), table.Num(3 << 20), table.Num(.5), table.Str("/var/lib/" + strings.Repeat("long/", 30) + "name"), table.Num(123456)},
			{table.Str("9"), table.Str("名前"), table.Unread(), table.Num(1), table.Str("b"), table.None()},
		},
		Left: 3, Notes: []string{"3 events lost"},
	}
}

// A sentence at the end of a row goes on in the next line, below itself.
func TestSentencesAreWrapped(t *testing.T) {
	tab := &table.Table{Columns: []table.Column{{Key: "name", Head: "NAME"}, {Key: "title", Head: "TITLE", Flex: true, Words: true}},
		Rows: [][]table.Cell{{table.Str("one"), table.Str("a scan that pushes the data of another program out of the cache")}, {table.Str("two"), table.Str("short")}}}
	var b strings.Builder
	if err := WriteTable(&b, tab, Style{Width: 40}); err != nil {
		t.Fatal(err)
	}
	const want = "NAME TITLE\none  a scan that pushes the data of\n     another program out of the cache\ntwo  short\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestTableFits(t *testing.T) {
	for _, width := range []int{40, 60, 80, 160} {
		var b strings.Builder
		require.NoError(t, WriteTable(&b, processes(), Style{Width: width}))
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if len(lines) != 7 {
			t.Errorf("%d lines at width %d, want 7:\n%s", len(lines), width, b.String())
		}
		for _, line := range lines {
			if Width(line) > width {
				t.Errorf("%d columns at width %d: %q", Width(line), width, line)
			}
		}
		if strings.ContainsAny(b.String(), "\x1b") {
			t.Errorf("an escape sequence got through:\n%q", b.String())
		}
	}
}

func TestTableColumnsAlign(t *testing.T) {
	var b strings.Builder
	require.NoError(t, WriteTable(&b, processes(), Style{Width: 80}))
	lines := strings.Split(b.String(), "\n")
	end := Width(lines[1][:strings.Index(lines[1], "READ")]) + len("READ")
	for i, want := range []string{"0 B", "3 MiB", "?"} {
		if got := head(lines[i+2], end); !strings.HasSuffix(got, want) {
			t.Errorf("column READ of row %d ends %q, want %q:\n%s", i, got, want, b.String())
		}
	}
}

func TestTableTellsAbsentZeroAndFailedApart(t *testing.T) {
	one := processes()
	rows := one.Object()["rows"].([]map[string]any)
	if rows[0]["read_bytes"] != 0.0 || rows[0]["hit_ratio"] != nil || rows[2]["read_bytes"] != "?" {
		t.Errorf("zero %v, absent %v, failed %v", rows[0]["read_bytes"], rows[0]["hit_ratio"], rows[2]["read_bytes"])
	}
	if zero, failed := Record(one, 0), Record(one, 2); zero[2] != "0" || zero[3] != "" || failed[2] != "?" {
		t.Errorf("zero %q, absent %q, failed %q", zero[2], zero[3], failed[2])
	}
}

// Columns that say nothing give their room to names, and stay for programs.
func TestRareColumns(t *testing.T) {
	made := func(v ...table.Cell) *table.Table {
		t := &table.Table{Columns: []table.Column{{Key: "name", Head: "NAME", Flex: true}, {Key: "rare", Head: "RARE", Unit: "count", Rare: true}}}
		for _, c := range v {
			t.Rows = append(t.Rows, []table.Cell{table.Str(strings.Repeat("x", 50)), c})
		}
		return t
	}
	for _, c := range []struct {
		cells []table.Cell
		shown bool
	}{{nil, false}, {[]table.Cell{table.Num(0), table.None()}, false}, {[]table.Cell{table.Num(0), table.Num(1)}, true}, {[]table.Cell{table.Num(0), table.Unread()}, true}} {
		var b strings.Builder
		require.NoError(t, WriteTable(&b, made(c.cells...), Style{Width: 50}))
		if got := strings.Contains(b.String(), "RARE"); got != c.shown {
			t.Errorf("%+v: shown %v, want %v:\n%s", c.cells, got, c.shown, b.String())
		}
		if len(c.cells) > 0 && strings.Contains(b.String(), "…") == !c.shown {
			t.Errorf("%+v: the name has not the room that is there:\n%s", c.cells, b.String())
		}
		if _, ok := made(table.Num(0)).Object()["rows"].([]map[string]any)[0]["rare"]; !ok {
			t.Error("the column is missing in JSON")
		}
	}
}

// Interval after interval, columns stay where they are: no narrower than they were,
// and what was shown once although it is rare goes on being shown.
func TestColumnsStayWhereTheyAre(t *testing.T) {
	s := Style{Width: 80, Kept: &Kept{}}
	at := func(name string, errors, rate float64) (head, last string) {
		var b strings.Builder
		x := &table.Table{Key: "disks", Columns: []table.Column{{Key: "name", Head: "DISK"}, {Key: "errors", Head: "ERRORS", Unit: "count", Rare: true}, {Key: "rate", Head: "READ", Unit: "bytes/s"}},
			Rows: [][]table.Cell{{table.Str(name), table.Num(errors), table.Num(rate)}}}
		require.NoError(t, WriteTable(&b, x, s))
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		return lines[0], lines[len(lines)-1]
	}
	first, _ := at("vda", 0, 1<<20)
	if strings.Contains(first, "ERRORS") {
		t.Errorf("what is rare is shown: %q", first)
	}
	wide, _ := at("nvme0n1", 3, 1023*1024)
	after, last := at("vda", 0, 1)
	if after != wide || !strings.Contains(last, " 0 ") || len(last) != len(strings.TrimRight(after, " ")) {
		t.Errorf("columns moved:\n%q\n%q\n%q", wide, after, last)
	}
}
