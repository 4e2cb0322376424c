package live

import (
	"slices"
	"strings"

	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/table"
	"iocause/internal/view"
)

// pane is one of the tables that the number keys choose.
type pane struct {
	name    string
	short   string   // on a narrow terminal; "" for the same
	sources []string // that it needs; what others tell it shows where they are there
	by      string   // of the view's query
	table   string   // key of the table that the cursor is in; the others stand below it
	view    func(*sample.Window, *view.Query) []table.Table
	aside   string // what is watched for it, where no window has it; else ""
}

// panes are all of them, by the keys 1 to 8.
func panes() []pane {
	return []pane{
		{"processes", "procs", view.ProcessesSources(), "", "processes", view.Processes, ""},
		{"files", "", view.FilesSources(), "file", "files", view.Files, ""},
		{"devices", "disks", view.DiskSources(), "process", "devices", view.Disk, ""},
		{"cgroups", "", view.CgroupsSources(), "", "cgroups", view.Cgroups, ""},
		{"cache", "", view.CacheSources(), "process", "by_process", view.Cache, ""},
		{"evicted", "", view.EvictionsSources(), "", "evictions", view.Evictions, ""},
		{"dirty", "", view.WritebackSources(), "", "writers", view.Writeback, ""},
		{"threads", "", nil, "", "threads", nil, Threads},
	}
}

// page is what the lower part of the screen shows: a pane, or what a row of
// one was opened to.
type page struct {
	pane  int    // that it is, or that it was opened from
	title string // of an opened row, escaped; "" of a pane itself
	query view.Query
	pid   int // of a process that was opened, else 0

	sources []string
	upper   func(*sample.Window, *view.Query) []table.Table // what stands above the rows; nil for none
	view    func(*sample.Window, *view.Query) []table.Table
	table   string // key of the table that the cursor is in

	aside   *Aside        // what it shows of what no window has; nil for a page of windows
	seen    []table.Table // the last of it
	rounds  int           // how often it was seen
	refused error         // why it cannot be seen

	sort    string // key of the column; "" as the view has it
	reverse bool
	filter  string
	chosen  string // identity of the row under the cursor; "" for the first
	cursor  int
	top     int // the first row that is seen

	ready  *ready
	wanted readyOf
}

// readyOf is what a ready was made from.
type readyOf struct {
	window        *sample.Window
	sort, filter  string
	reverse, made bool
	rounds        int
}

// ready is a page's tables of one window, sorted and filtered: they are made
// once for a window, not for every key.
type ready struct {
	upper []table.Table // above the rows
	rows  table.Table
	lower []table.Table // below them
	all   int           // rows before the filter
	notes []string
}

// paneAt is the page of a pane.
func (m *Model) paneAt(i int) *page {
	p := panes()[i]
	q := m.o.Query
	q.By = p.by
	if p.aside != "" {
		return asidePage(i, p.aside, p.table, q)
	}
	return &page{pane: i, query: q, sources: p.sources, view: p.view, table: p.table}
}

// refresh makes the tables of the window that is shown, where that is not done.
func (p *page) refresh(w *sample.Window) *ready {
	want := readyOf{w, p.sort, p.filter, p.reverse, true, p.rounds}
	if p.ready != nil && p.wanted == want {
		return p.ready
	}
	r := &ready{}
	tables := p.view(w, &p.query)
	at := max(0, slices.IndexFunc(tables, func(t table.Table) bool { return t.Key == p.table }))
	for i := range tables {
		if i == at {
			r.rows = tables[i]
		} else if p.upper == nil {
			r.lower = append(r.lower, tables[i])
		}
		for _, n := range tables[i].Notes {
			if !slices.Contains(r.notes, n) {
				r.notes = append(r.notes, n)
			}
		}
	}
	if p.upper != nil {
		r.upper = p.upper(w, &p.query)
	}
	r.all = len(r.rows.Rows)
	if p.sort != "" && r.rows.Sort(p.sort) != nil {
		p.sort = ""
	}
	if p.reverse {
		reverse(&r.rows, p.sort)
	}
	r.rows.Rows = filtered(&r.rows, p.filter)
	p.ready, p.wanted = r, want
	p.find()
	return r
}

// reverse turns the rows round; those whose figure is not known stay last.
func reverse(t *table.Table, sort string) {
	at := 0
	for i, c := range t.Columns {
		if c.Key == sort {
			at = i
		}
	}
	known := len(t.Rows)
	for known > 0 && t.Rows[known-1][at].State != table.Known {
		known--
	}
	for i, j := 0, known-1; i < j; i, j = i+1, j-1 {
		t.Rows[i], t.Rows[j] = t.Rows[j], t.Rows[i]
	}
}

// filtered are the rows that have a text in one of their names.
func filtered(t *table.Table, filter string) [][]table.Cell {
	if filter == "" {
		return t.Rows
	}
	filter = strings.ToLower(filter)
	var rows [][]table.Cell
	for _, r := range t.Rows {
		for i, c := range r {
			if t.Columns[i].Unit == "" && c.State == table.Known &&
				(strings.Contains(strings.ToLower(c.Text), filter) || strings.Contains(strings.ToLower(text.Escape(c.Text)), filter)) {
				rows = append(rows, r)
				break
			}
		}
	}
	return rows
}

// identity names a row from one interval to the next: by the names before its
// first figure.
func identity(t *table.Table, r []table.Cell) string {
	var b strings.Builder
	for i, c := range t.Columns {
		if c.Unit != "" {
			break
		}
		b.WriteString(r[i].Text + "\x00")
	}
	return b.String()
}

// find puts the cursor on the row that it was on, wherever that is now.
func (p *page) find() {
	t := &p.ready.rows
	if p.chosen != "" {
		for i, r := range t.Rows {
			if identity(t, r) == p.chosen {
				p.cursor = i
				return
			}
		}
	}
	p.cursor = min(max(p.cursor, 0), max(len(t.Rows)-1, 0))
}

// move puts the cursor on another row, which it then stays on.
func (p *page) move(to int) {
	if p.ready == nil || len(p.ready.rows.Rows) == 0 {
		return
	}
	t := &p.ready.rows
	p.cursor = min(max(to, 0), len(t.Rows)-1)
	p.chosen = identity(t, t.Rows[p.cursor])
	if p.cursor == 0 {
		p.chosen = "" // the first row, whichever that is
	}
}

// sortBy goes so many columns on.
func (p *page) sortBy(step int) {
	if p.ready == nil || p.ready.rows.Whole {
		return
	}
	var keys, names []string // figures first: nobody sorts by a name before by a figure
	for _, c := range p.ready.rows.Columns {
		switch {
		case c.Data:
		case c.Unit == "":
			names = append(names, c.Key)
		default:
			keys = append(keys, c.Key)
		}
	}
	keys = append(keys, names...)
	at := slices.Index(keys, p.sort)
	if at < 0 && step < 0 {
		at = 0
	}
	p.sort = keys[(at+step+len(keys))%len(keys)]
	p.reverse = false
}
