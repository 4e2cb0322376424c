// Package present puts incidents into the tables and documents that show them.
package present

import (
	"fmt"
	"strings"
	"time"

	"iocause/internal/detect"
	"iocause/internal/sample"
	"iocause/internal/store/incidents"
	"iocause/internal/table"
)

// Listed is an incident without its evidence, as programs have it.
type Listed struct {
	incidents.Meta
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	Error string `json:"error,omitempty"` // why it cannot be read
}

// List is every incident of a folder for programs.
func List(list []incidents.Entry) []Listed {
	all := []Listed{}
	for _, e := range list {
		i := Listed{Meta: e.Meta, File: e.Path, Bytes: e.Bytes}
		i.Number = e.Number
		if e.Err != nil {
			i.Error = e.Err.Error()
		}
		all = append(all, i)
	}
	return all
}

// ListTable is every incident of a folder, with times as of loc.
func ListTable(list []incidents.Entry, loc *time.Location) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Key: "number", Head: "N"}, {Key: "start", Head: "BEGAN"}, {Key: "seconds", Head: "LASTED"}, {Key: "cause", Head: "CAUSE"},
		{Key: "why", Head: "WHAT WAS OFF", Flex: true, Least: 20},
	}}
	for _, e := range list {
		number := table.Str(fmt.Sprint(e.Number))
		if e.Err != nil {
			t.Rows = append(t.Rows, []table.Cell{number, table.Unread(), table.Unread(), table.Unread(), table.Str(e.Err.Error())})
			continue
		}
		m := &e.Meta
		t.Rows = append(t.Rows, []table.Cell{number, table.Str(m.What.Start.In(loc).Format("2006-01-02 15:04")),
			table.Str(lasted(m)), causeCell(m), table.Str(whatWasOff(&m.What))})
	}
	return t
}

func causeCell(m *incidents.Meta) table.Cell {
	if m.Cause == "" {
		return table.None()
	}
	return table.Str(m.Cause)
}

// lasted is how long an incident went on, for people.
func lasted(m *incidents.Meta) string {
	length := table.Duration(m.What.End.Sub(m.What.Start).Round(time.Second).Seconds())
	if m.Open {
		return length + ", open"
	}
	return length
}

// whatWasOff is one line: limits first, then signals.
func whatWasOff(i *sample.Incident) string {
	var all []string
	for _, l := range i.Limits {
		all = append(all, strings.TrimSuffix(l.Kind+": "+l.What, ": "))
	}
	for _, r := range i.Reasons {
		normal := table.Value(r.Normal, r.Unit)
		if r.Basis == string(detect.Learning) {
			normal = "not known"
		}
		all = append(all, fmt.Sprintf("%s %s (normal %s)", r.Signal, table.Value(r.Value, r.Unit), normal))
	}
	return strings.Join(all, ", ")
}
