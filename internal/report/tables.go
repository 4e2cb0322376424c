package report

import (
	"strconv"
	"strings"

	"iocause/internal/diagnose"
	"iocause/internal/sample"
	"iocause/internal/table"
	"iocause/internal/view"
)

// tables are the figures of a window, as the observation commands show them: who
// waits, then the machine, then what each of its devices and its page cache were
// used for.
func tables(r *diagnose.Report, w *sample.Window) []table.Table {
	all := []table.Table{waiters(r)}
	all = append(all, view.Use(w, &view.Query{})...)
	first := func(prefix string, views []table.Table, keys ...string) {
		for _, t := range views {
			for _, key := range keys {
				if t.Key == key {
					t.Title = prefix + strings.ToLower(t.Title[:min(1, len(t.Title))]) + t.Title[min(1, len(t.Title)):]
					all = append(all, t)
				}
			}
		}
	}
	first("", view.Disk(w, &view.Query{By: "process"}), "devices")
	first("Requests to devices ", view.Disk(w, &view.Query{By: "process"}), "by_process")
	first("Requests to devices ", view.Disk(w, &view.Query{By: "cgroup"}), "by_cgroup")
	first("Requests to devices ", view.Disk(w, &view.Query{By: "file"}), "by_file")
	first("Page cache ", view.Cache(w, &view.Query{By: "process"}), "by_process", "total")
	first("Page cache ", view.Cache(w, &view.Query{By: "file"}), "by_file")
	all = append(all, view.Evictions(w, &view.Query{})...)
	all = append(all, view.Writeback(w, &view.Query{})...)
	for i := range all { // what is missing is said once, with all that is
		all[i].Notes = nil
	}
	return all
}

// waiters are the programs that were held up longest.
func waiters(r *diagnose.Report) table.Table {
	t := table.Table{Key: "waiters", Title: "Who waits", Columns: []table.Column{
		{Key: "pid", Head: "PID"}, {Key: "comm", Head: "COMM", Flex: true}, {Key: "processes", Head: "PROCESSES", Unit: "count"}, {Key: "cgroup", Head: "CGROUP", Flex: true},
		{Key: "share", Head: "BLOCKED", Unit: "ratio"}, {Key: "seconds", Head: "IN ALL", Unit: "seconds"}, {Key: "threads", Head: "THREADS THAT WAIT", Unit: "count"}, {Key: "in", Head: "IN"},
	}}
	for i := range r.Waiters {
		x := &r.Waiters[i]
		var in []string
		for _, p := range x.In {
			if x.Seconds > 0 && p.Seconds >= 0.01*x.Seconds {
				in = append(in, p.What+" "+strconv.FormatFloat(100*p.Seconds/x.Seconds, 'f', 0, 64)+" %")
			}
		}
		t.Rows = append(t.Rows, []table.Cell{table.Str(strconv.Itoa(x.Who.PID)), table.Str(x.Who.Comm), table.Num(float64(x.Processes)), table.Str(x.Who.Cgroup),
			table.Num(x.Share), table.Num(x.Seconds), table.Num(x.Waiting), table.Str(strings.Join(in, ", "))})
	}
	return t
}
