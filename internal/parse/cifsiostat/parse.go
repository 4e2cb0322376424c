// Package cifsiostat reads what cifsiostat of sysstat prints of each CIFS mount: how
// much is read and written, and not how long that takes.
package cifsiostat

import (
	"fmt"
	"slices"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// maxShares bounds what is kept.
const maxShares = 256

// columnsOf are the names of the columns and the bytes of their unit, 0 for another line.
func columnsOf(text string) (columns []string, unit float64) {
	f := strings.Fields(text)
	if len(f) < 8 || strings.TrimSuffix(f[0], ":") != "Filesystem" || !slices.Contains(f, "rops/s") || !slices.Contains(f, "fo/s") {
		return nil, 0
	}
	for name, of := range map[string]float64{"rB/s": 1, "rkB/s": 1 << 10, "rMB/s": 1 << 20} {
		if slices.Contains(f, name) {
			return f, of
		}
	}
	return nil, 0
}

// Find says where in a line the table begins: at the names of its columns.
func Find(line string) int {
	if columns, _ := columnsOf(line); columns != nil {
		return strings.Index(line, columns[0])
	}
	return -1
}

// share is what was read from and written to one, all reports together.
type share struct{ read, written, reads, writes float64 }

type reader struct {
	columns []string
	unit    float64
	shares  map[string]*share
	names   []string // in the order in which they came
	reports float64
}

// New makes a reader.
func New(string) lines.Reader { return lines.Trim(&reader{shares: map[string]*share{}}) }

// Text implements lines.Trimmed.
func (r *reader) Text(text string, _ lines.Line, _ lines.Values) (lines.Use, error) {
	if columns, unit := columnsOf(text); columns != nil {
		r.columns, r.unit = columns, unit
		r.reports++
		return lines.Used, nil
	}
	if !strings.HasPrefix(text, `\\`) && !strings.HasPrefix(text, "//") {
		return lines.Foreign, nil
	}
	row, ok := lines.Named(r.columns, text, r.columns[0])
	if !ok {
		return lines.Broken, fmt.Errorf("not the %d columns of the table: the line is cut off", len(r.columns))
	}
	var v share
	for name, x := range row {
		if name == r.columns[0] {
			continue
		}
		figure, ok := lines.Number(x)
		if !ok || figure < 0 {
			return lines.Broken, fmt.Errorf("%s is %.20q, not a number", name, x)
		}
		switch {
		case name == "rops/s":
			v.reads = figure
		case name == "wops/s":
			v.writes = figure
		case name[0] == 'r':
			v.read = figure * r.unit
		case name[0] == 'w':
			v.written = figure * r.unit
		}
	}
	name := row[r.columns[0]]
	s := r.shares[name]
	if s == nil {
		if len(r.names) >= maxShares {
			return lines.Skipped, nil
		}
		s = &share{}
		r.shares[name] = s
		r.names = append(r.names, name)
	}
	s.read, s.written, s.reads, s.writes = s.read+v.read, s.written+v.written, s.reads+v.reads, s.writes+v.writes
	return lines.Used, nil
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	into.State()
	for _, name := range r.names {
		into.Put(sample.MountKind, sample.Entity{Device: name, Class: "cifs"}, 1)
	}
	if len(r.names) == 0 {
		into.Note("cifsiostat shows no CIFS mount")
		return
	}
	busiest := slices.MaxFunc(r.names, func(a, b string) int {
		x, y := r.shares[a], r.shares[b]
		return int(min(max(x.read+x.written-y.read-y.written, -1), 1))
	})
	s := r.shares[busiest]
	into.Note(fmt.Sprintf("the busiest of %s is %.256s: %.3g MB/s read in %.3g requests/s, %.3g MB/s written in %.3g requests/s, on average",
		sample.Counted(len(r.names), "CIFS mount"), busiest, s.read/r.reports/1e6, s.reads/r.reports, s.written/r.reports/1e6, s.writes/r.reports))
	into.Note("cifsiostat does not show how long requests take, and so not whether the server is slow: run iocause diagnose while it happens, or look at /proc/fs/cifs/Stats for slow responses")
}
