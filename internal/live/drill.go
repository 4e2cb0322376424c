package live

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/table"
	"iocause/internal/view"
)

// open goes from the row under the cursor to what it is about: a process, a
// file, a device or a cgroup, whichever its first columns name.
func (m *Model) open() {
	p := m.page()
	cells := p.names()
	if cells == nil {
		return
	}
	t := &p.ready.rows
	for _, c := range t.Columns {
		name, known := cells[c.Key]
		if !known {
			continue
		}
		switch c.Key {
		case "pid", "victim_pid":
			if pid, err := strconv.Atoi(name); err == nil && p.pid != pid {
				m.push(m.processPage(p.pane, pid, cmp.Or(cells["process"], cells["comm"])))
				return
			}
		case "file":
			if !strings.HasPrefix(name, "/") {
				m.said = "its name is not known, so it cannot be opened"
				return
			}
			if p.query.File != name {
				m.push(m.filePage(p.pane, name))
				return
			}
		case "device":
			if p.query.Device != name {
				m.push(m.devicePage(p.pane, name))
				return
			}
		case "cgroup":
			m.push(m.cgroupPage(p.pane, name))
			return
		}
	}
}

// names are the names in the row under the cursor, by the keys of their columns;
// nil where there is no row.
func (p *page) names() map[string]string {
	if p.ready == nil || p.cursor >= len(p.ready.rows.Rows) {
		return nil
	}
	t, cells := &p.ready.rows, map[string]string{}
	for i, c := range t.Columns {
		if t.Rows[p.cursor][i].State == table.Known && c.Unit == "" {
			cells[c.Key] = t.Rows[p.cursor][i].Text
		}
	}
	return cells
}

// process is the process that the row under the cursor names, 0 for none.
func (p *page) process() (pid int, comm string) {
	cells := p.names()
	pid, err := strconv.Atoi(cmp.Or(cells["pid"], cells["victim_pid"]))
	if err != nil {
		return 0, ""
	}
	return pid, cmp.Or(cells["process"], cells["comm"])
}

func (m *Model) push(p *page) {
	m.pages = append(m.pages, p)
	m.want()
}

// back closes what was opened last.
func (m *Model) back() {
	if len(m.pages) > 1 {
		m.pages = m.pages[:len(m.pages)-1]
		m.want()
	}
}

// processPage is where a process's time goes, and its files.
func (m *Model) processPage(pane, pid int, comm string) *page {
	return &page{pane: pane, pid: pid, title: fmt.Sprintf("%s (pid %d)", text.Middle(text.Escape(comm), 20), pid),
		query:   view.Query{PIDs: []int{pid}, By: "file"},
		sources: append(view.WaitingSources(), view.FilesSources()...),
		upper:   view.Waiting, view: view.Files, table: "files"}
}

// filePage is who uses a file, and what the page cache has of it.
func (m *Model) filePage(pane int, name string) *page {
	return &page{pane: pane, title: text.Middle(text.Escape(name), 60),
		query:   view.Query{File: name, By: "process"},
		sources: append(view.FilesSources(), view.CacheSources()...),
		upper: func(w *sample.Window, q *view.Query) []table.Table {
			by := *q
			by.By = "file"
			all := view.Cache(w, &by)
			return all[:1]
		},
		view: view.Files, table: "files"}
}

// devicePage is what a device does, and who uses it.
func (m *Model) devicePage(pane int, name string) *page {
	m.device = name // its heat map, too
	return &page{pane: pane, title: text.Escape(name), query: view.Query{Device: name, By: "process"},
		sources: view.DiskSources(), view: view.Disk, table: "by_process"}
}

// cgroupPage is the processes in and below a cgroup, and its figures.
func (m *Model) cgroupPage(pane int, name string) *page {
	return &page{pane: pane, title: text.Middle(text.Escape(name), 60), query: view.Query{Cgroup: name},
		sources: append(view.CgroupsSources(), view.ProcessesSources()...),
		upper:   view.Cgroups, view: view.Processes, table: "processes"}
}
