package fleet

import (
	"fmt"
	"math"
	"strings"
	"time"

	"iocause/internal/fleet"
	"iocause/internal/table"
)

const courseWidth = 24

// Tables are hosts by cause and time, and what those of each cause have in
// common.
func (f *Fleet) Tables() []table.Table {
	t := table.Table{Key: "causes", Title: fmt.Sprintf("%d hosts", f.looked()), Columns: []table.Column{
		{Key: "cause", Head: "CAUSE"}, {Key: "hosts", Head: "HOSTS", Unit: "count"}, {Key: "share", Head: "SHARE", Unit: "ratio"},
		{Key: "hosts_now", Head: "NOW", Unit: "count"}, {Key: "first", Head: "FIRST"}, {Key: "course", Head: "COURSE", Drop: 1},
	}}
	common := table.Table{Key: "in_common", Whole: true, Title: "What they have in common and healthy hosts do not", Columns: []table.Column{
		{Key: "cause", Head: "CAUSE"}, {Key: "fact", Head: "IN COMMON", Flex: true, Least: 24}, {Key: "affected_share", Head: "OF THEM", Unit: "ratio"},
		{Key: "healthy_share", Head: "OF HEALTHY", Unit: "ratio"}, {Key: "lift", Head: "TIMES", Unit: "count"},
	}}
	looked := f.looked()
	for _, cause := range append(f.causes(), healthy) {
		hosts := float64(len(f.With(cause)))
		if hosts == 0 {
			continue
		}
		first, course, now := table.None(), table.None(), table.Num(0)
		if c := f.Courses[cause]; c != nil {
			if !c.First.IsZero() {
				first = table.Str(clock(c.First, f.From, f.To))
			}
			course, now = table.Str(table.Spark(c.Hosts, courseWidth)), table.Num(float64(c.Now))
		}
		t.Rows = append(t.Rows, []table.Cell{table.Str(cause), table.Num(hosts), table.Num(hosts / float64(max(looked, 1))), now, first, course})
		if cause != healthy {
			common.Rows = append(common.Rows, f.commonRows(cause)...)
		}
	}
	t.Notes = f.notes()
	if len(common.Rows) == 0 {
		return []table.Table{t}
	}
	return []table.Table{t, common}
}

// mostOwn factors of each cause are in the overview.
const mostOwn = 3

func (f *Fleet) commonRows(cause string) (rows [][]table.Cell) {
	row := func(what string, more ...table.Cell) {
		rows = append(rows, append([]table.Cell{table.Str(cause), table.Str(what)}, more...))
	}
	c, err := f.Common(cause)
	if err != nil {
		return nil // healthy, or nobody
	}
	for i := range c.Factors {
		x := &c.Factors[i]
		if x.Beside >= 0 || len(rows) == mostOwn {
			continue
		}
		row(factWords(x.Facts, 2), table.Num(float64(x.Counts.With)/float64(c.Affected)), table.Num(float64(x.Counts.WithAll-x.Counts.With)/float64(max(c.Healthy, 1))), liftCell(x))
	}
	switch {
	case c.Why != "":
		row("too few hosts to tell", table.None(), table.None(), table.None())
	case len(rows) == 0:
		row("nothing that stands out", table.None(), table.None(), table.None())
	}
	return rows
}

// liftCell is absent where no host without the factor is affected.
func liftCell(f *fleet.Factor) table.Cell {
	x := f.Lift()
	return table.Maybe(x, !math.IsInf(x, 0))
}

// With are the names of the hosts that had a cause.
func (f *Fleet) With(cause string) []string {
	var out []string
	for i := range f.Hosts {
		if f.Hosts[i].Is(cause) {
			out = append(out, f.Hosts[i].Name)
		}
	}
	return out
}

// looked is on how many hosts anybody looked.
func (f *Fleet) looked() (n int) {
	for i := range f.Hosts {
		if len(f.Hosts[i].Causes) > 0 {
			n++
		}
	}
	return n
}

// clock is the time of day, and the day where the time is longer than one.
func clock(t, from, to time.Time) string {
	if to.Sub(from) <= 24*time.Hour {
		return t.In(to.Location()).Format("15:04")
	}
	return t.In(to.Location()).Format("01-02 15:04")
}

func (f *Fleet) notes() (notes []string) {
	if blind := len(f.Hosts) - f.looked(); blind > 0 {
		notes = append(notes, fmt.Sprintf("%d hosts sent no finding in this time: whether they are healthy is not known (agents diagnose once an hour if incidents are on)", blind))
	}
	if f.Factless > 0 {
		notes = append(notes, fmt.Sprintf("%d hosts sent findings but no iocause_host_info: they are counted, but not compared", f.Factless))
	}
	if n := len(f.Twice); n > 0 {
		notes = append(notes, fmt.Sprintf("%d names belong to two machines, or to one that was reinstalled, and count as one: %s", n, some(f.Twice, 3)))
	}
	return notes
}

func some(names []string, most int) string {
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// factWords are facts as people write settings.
func factWords(facts []fleet.Fact, most int) string {
	var out []string
	for _, x := range facts {
		out = append(out, x.Setting+"="+x.Value)
	}
	return some(out, most)
}

// Table is what is common, the clearest first.
func (c *Common) Table() table.Table {
	t := table.Table{Key: "common", Whole: true, Title: fmt.Sprintf("%d hosts with %s, and %d healthy ones", c.Affected, c.Cause, c.Healthy), Columns: []table.Column{
		{Key: "fact", Head: "IN COMMON", Flex: true, Least: 24}, {Key: "affected_with", Head: "WITH IT", Unit: "count"}, {Key: "affected_share", Head: "SHARE", Unit: "ratio"},
		{Key: "healthy_with", Head: "HEALTHY", Unit: "count"}, {Key: "healthy_share", Head: "SHARE", Unit: "ratio"},
		{Key: "lift", Head: "TIMES", Unit: "count"}, {Key: "false_discovery_rate", Head: "BY CHANCE", Unit: "count"},
		{Key: "goes_along_with", Head: "GOES ALONG WITH", Flex: true, Drop: 1},
	}}
	for i := range c.Factors {
		f := &c.Factors[i]
		well := f.Counts.WithAll - f.Counts.With
		along := table.None()
		if f.Beside >= 0 {
			along = table.Str(factWords(c.Factors[f.Beside].Facts, 1))
		}
		t.Rows = append(t.Rows, []table.Cell{table.Str(factWords(f.Facts, 3)), table.Num(float64(f.Counts.With)), table.Num(float64(f.Counts.With) / float64(c.Affected)),
			table.Num(float64(well)), table.Num(float64(well) / float64(max(c.Healthy, 1))), liftCell(f), table.Num(f.Rate), along})
	}
	switch {
	case c.Why != "":
		t.Notes = append(t.Notes, c.Why)
	case len(c.Factors) == 0:
		t.Notes = append(t.Notes, fmt.Sprintf("none of %d facts is more frequent among hosts with the cause than chance allows (false-discovery rate %g)", c.Tested, fleet.MostFalse))
	default:
		t.Notes = append(t.Notes, fmt.Sprintf("shown are those of %d facts that are more frequent among hosts with the cause (Fisher's exact test, false-discovery rate at most %g) and make it %g times as likely. "+
			"A fact that goes along with another makes no difference among hosts that agree in the other. Correlation is not causation: change one fact on some hosts, and look again",
			c.Tested, fleet.MostFalse, fleet.LeastLift))
	}
	return t
}

// HostTable lists the hosts with one cause, or with any.
func (f *Fleet) HostTable(cause string) table.Table {
	t := table.Table{Key: "hosts", Columns: []table.Column{
		{Key: "host", Head: "HOST", Flex: true}, {Key: "cause", Head: "CAUSE"}, {Key: "weight", Head: "EXPLAINS", Unit: "ratio"},
	}}
	for i := range f.Hosts {
		h := &f.Hosts[i]
		for _, c := range append(f.causes(), healthy) {
			if !h.Is(c) || cause == "" && c == healthy || cause != "" && c != cause {
				continue
			}
			weight := table.None()
			if c != healthy && c != cannotTell {
				weight = table.Num(h.Causes[c])
			}
			t.Rows = append(t.Rows, []table.Cell{table.Str(h.Name), table.Str(c), weight})
		}
	}
	t.Notes = f.notes()
	return t
}

// Table is the slow disks, the slowest first.
func (d *Disks) Table() table.Table {
	t := table.Table{Key: "slow_disks", Whole: true, Columns: []table.Column{
		{Key: "host", Head: "HOST", Flex: true}, {Key: "device", Head: "DEVICE"}, {Key: "model", Head: "MODEL", Flex: true, Drop: 1},
		{Key: "times", Head: "TIMES", Unit: "count"}, {Key: "latency_seconds", Head: "LATENCY", Unit: "seconds"}, {Key: "like_seconds", Head: "ITS LIKE", Unit: "seconds"},
		{Key: "deviations", Head: "DEVIATIONS", Unit: "count", Drop: 2}, {Key: "intervals", Head: "INTERVALS", Unit: "count", Drop: 3}, {Key: "peers", Head: "PEERS", Unit: "count", Drop: 2},
	}}
	t.Title = fmt.Sprintf("%d of %d disks are slower than others of their model", len(d.Slow), d.Compared)
	for _, s := range d.Slow {
		t.Rows = append(t.Rows, []table.Cell{table.Str(s.Host), table.Str(s.Device), table.Str(s.Model), table.Num(s.Times), table.Num(s.Latency), table.Num(s.Like),
			table.Tenths(s.Deviation), table.Num(float64(s.Intervals)), table.Num(float64(s.Peers))})
	}
	if left := d.Disks - d.Compared; left > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d busy disks are not compared: fewer than six of their model had the same load in three intervals", left))
	}
	t.Notes = append(t.Notes, fmt.Sprintf("latency is compared in intervals of %v with the median of other disks of the same model at the same depth, size and mix of reads; slow is %g times that, and far outside their usual variation",
		d.Step, fleet.LeastSlower))
	return t
}
