package view

import (
	"fmt"
	"strings"

	"iocause/internal/figure"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// UseSources are the sources that Use reads: none that loads a kernel program.
func UseSources() []string {
	return []string{"stat", "schedstat", "meminfo", "vmstat", "diskstats", "pressure", "netdev", "cgroup"}
}

// Use is utilisation, saturation and errors of every resource (Gregg, The USE
// Method, 2012), with the kernel's own pressure figures.
func Use(w *sample.Window, q *Query) []table.Table {
	t := table.Table{Key: "resources", Title: "Utilisation, saturation, errors", Whole: true, Columns: []table.Column{
		{Key: "resource", Head: "RESOURCE", Flex: true},
		{Key: "utilisation", Head: "UTIL", Unit: "ratio"},
		{Key: "saturation", Head: "SATURATION", Flex: true, Least: 28},
		{Key: "errors", Head: "ERRORS", Unit: "count"},
		{Key: "pressure_some", Head: "SOME", Unit: "ratio"},
		{Key: "pressure_full", Head: "FULL", Unit: "ratio"},
		{Key: "load", Head: "LOAD", Flex: true, Least: 22, Drop: 1},
	}, Notes: missing(w, sample.CPUUser, sample.MemTotal, sample.DiskReads, sample.PSISome)}
	u := &use{w: w}
	figures := useFigures()
	t.Columns = append(t.Columns, figures...)
	add := func(row []table.Cell) {
		for _, c := range figures {
			v, ok := u.figures[c.Key]
			row = append(row, table.Maybe(v, ok))
		}
		u.figures = nil
		t.Rows = append(t.Rows, row)
	}
	if q.Device == "" {
		add(u.cpu())
		add(u.memory())
		add(u.paging())
		add(u.swap())
	}
	for _, d := range u.busiest(sample.DiskBusy, q.Device) {
		add(u.disk(d))
	}
	if q.Device == "" {
		for _, i := range u.busiest(sample.NetReceived, "") {
			add(u.network(i))
		}
		add(u.tcp())
	}
	if q.Device == "" && w.Has(sample.CgroupPSISome) {
		return []table.Table{t, stalledCgroups(w)}
	}
	return []table.Table{t}
}

// useFigures are the columns of what people read in SATURATION and LOAD: for
// programs a number each, in its base unit.
func useFigures() []table.Column {
	var all []table.Column
	for _, c := range [][2]string{
		{"runnable", "count"}, {"waiting_for_processor", "count"}, {"user_ratio", "ratio"}, {"system_ratio", "ratio"},
		{"iowait_ratio", "ratio"}, {"steal_ratio", "ratio"}, {"total_bytes", "bytes"}, {"available_bytes", "bytes"}, {"cache_bytes", "bytes"},
		{"scanned_bytes_per_s", "bytes"}, {"stalls_per_s", "count/s"}, {"major_faults_per_s", "count/s"},
		{"refault_file_bytes_per_s", "bytes"}, {"refault_anon_bytes_per_s", "bytes"}, {"swap_in_bytes_per_s", "bytes"}, {"swap_out_bytes_per_s", "bytes"},
		{"in_flight", "count"}, {"await_seconds", "seconds"}, {"read_bytes_per_s", "bytes"}, {"written_bytes_per_s", "bytes"},
		{"received_bytes_per_s", "bytes"}, {"sent_bytes_per_s", "bytes"}, {"dropped_per_s", "count/s"},
		{"retransmitted_per_s", "count/s"}, {"segments_per_s", "count/s"},
	} {
		all = append(all, table.Column{Key: c[0], Unit: c[1], Data: true})
	}
	return all
}

// use builds the rows.
type use struct {
	w       *sample.Window
	figures map[string]float64 // of the row that is being built, by column
}

// figure keeps a number of the row for programs, and returns it.
func (u *use) figure(ok bool, key string, v float64) float64 {
	if ok {
		if u.figures == nil {
			u.figures = map[string]float64{}
		}
		u.figures[key] = v
	}
	return v
}

func (u *use) sum(m sample.Metric, e sample.Entity) float64 {
	v, _ := u.w.Sum(m, e)
	return v
}

// rate is a counter's increase a second.
func (u *use) rate(m sample.Metric, e sample.Entity) (float64, bool) {
	v, ok := u.w.Sum(m, e)
	return v / u.w.Seconds(), ok
}

// pressure are the shares of time in which some, or all, threads stalled.
func (u *use) pressure(class string) (some, full table.Cell) {
	e := sample.Entity{Class: class}
	s, ok1 := u.rate(sample.PSISome, e)
	f, ok2 := u.rate(sample.PSIFull, e)
	return table.Maybe(s, ok1), table.Maybe(f, ok2)
}

// parts joins what was measured: "3 runnable, 2 ms waits".
type parts []string

func (p *parts) add(ok bool, format string, args ...any) {
	if ok {
		*p = append(*p, fmt.Sprintf(format, args...))
	}
}

func (p parts) cell() table.Cell {
	if len(p) == 0 {
		return table.None()
	}
	return table.Str(strings.Join(p, ", "))
}

func (u *use) cpu() []table.Cell {
	var host sample.Entity
	busy := u.sum(sample.CPUUser, host) + u.sum(sample.CPUSystem, host)
	idle := u.sum(sample.CPUIdle, host) + u.sum(sample.CPUIOWait, host)
	steal := u.sum(sample.CPUSteal, host)
	var saturation, load parts
	count, ok := u.w.Value(sample.CPUCount, host)
	name := "processors"
	if ok {
		name = sample.Counted(count, "processor")
	}
	if s := u.w.Get(sample.ProcsRunning, host); s != nil {
		saturation.add(true, "%s runnable", table.Value(u.figure(true, "runnable", s.Mean()), "count"))
	}
	delay, ok := u.rate(sample.CPURunDelay, host)
	saturation.add(ok, "%s waiting", table.Value(u.figure(ok, "waiting_for_processor", delay), "count"))
	whole := busy + idle + steal
	share := func(m sample.Metric, key string) string {
		return table.Value(u.figure(whole > 0, key, u.sum(m, host)/whole), "ratio")
	}
	load.add(whole > 0, "user %s, system %s, iowait %s, steal %s", share(sample.CPUUser, "user_ratio"), share(sample.CPUSystem, "system_ratio"),
		share(sample.CPUIOWait, "iowait_ratio"), share(sample.CPUSteal, "steal_ratio"))
	some, full := u.pressure("cpu")
	return []table.Cell{table.Str(name), ratio(busy+steal, whole), saturation.cell(), table.None(), some, full, load.cell()}
}

func (u *use) memory() []table.Cell {
	var host sample.Entity
	total, ok := u.w.Value(sample.MemTotal, host)
	available, ok2 := u.w.Value(sample.MemAvailable, host)
	cache, ok3 := u.w.Value(sample.MemCache, host)
	var saturation, load parts
	scanned, ok4 := u.rate(sample.VMScanDirect, host)
	kswapd, _ := u.rate(sample.VMScanKswapd, host)
	stalls, ok5 := u.rate(sample.VMAllocStall, host)
	saturation.add(ok4, "scans %s", table.Value(u.figure(ok4, "scanned_bytes_per_s", (scanned+kswapd)*PageBytes), "bytes/s"))
	saturation.add(ok5, "%s stalls", table.Value(u.figure(ok5, "stalls_per_s", stalls), "count/s"))
	load.add(ok2, "%s available", table.Value(u.figure(ok2, "available_bytes", available), "bytes"))
	load.add(ok3, "%s cache", table.Value(u.figure(ok3, "cache_bytes", cache), "bytes"))
	killed, ok7 := u.w.Sum(sample.VMKilled, host)
	some, full := u.pressure("memory")
	name := "memory"
	if ok {
		name = table.Value(u.figure(true, "total_bytes", total), "bytes") + " memory"
	}
	used := table.None()
	if ok && ok2 {
		used = ratio(total-available, total)
	}
	return []table.Cell{table.Str(name), used, saturation.cell(), table.Maybe(killed, ok7), some, full, load.cell()}
}

// paging is memory that is too small for what is in use: pages come back that
// were pushed out, and threads wait for them.
func (u *use) paging() []table.Cell {
	var host sample.Entity
	var saturation, load parts
	file, ok := u.rate(sample.VMRefaultFile, host)
	anon, ok2 := u.rate(sample.VMRefaultAnon, host)
	major, ok3 := u.rate(sample.VMMajorFault, host)
	saturation.add(ok3, "faults %s", table.Value(u.figure(ok3, "major_faults_per_s", major), "count/s"))
	saturation.add(ok || ok2, "back %s", table.Value((file+anon)*PageBytes, "bytes/s"))
	load.add(ok, "of files %s", table.Value(u.figure(ok, "refault_file_bytes_per_s", file*PageBytes), "bytes/s"))
	load.add(ok2, "of memory %s", table.Value(u.figure(ok2, "refault_anon_bytes_per_s", anon*PageBytes), "bytes/s"))
	return []table.Cell{table.Str("paging"), table.None(), saturation.cell(), table.None(), table.None(), table.None(), load.cell()}
}

func (u *use) swap() []table.Cell {
	var host sample.Entity
	total, ok := u.w.Value(sample.SwapTotal, host)
	free, _ := u.w.Value(sample.SwapFree, host)
	in, ok2 := u.rate(sample.VMSwapIn, host)
	out, _ := u.rate(sample.VMSwapOut, host)
	var saturation parts
	saturation.add(ok2, "in %s, out %s", table.Value(u.figure(ok2, "swap_in_bytes_per_s", in*PageBytes), "bytes/s"),
		table.Value(u.figure(ok2, "swap_out_bytes_per_s", out*PageBytes), "bytes/s"))
	name := "swap"
	u.figure(ok, "total_bytes", total)
	switch {
	case ok && total == 0:
		name = "swap (none)"
	case ok:
		name = table.Value(total, "bytes") + " swap"
	}
	return []table.Cell{table.Str(name), ratio(total-free, total), saturation.cell(), table.None(), table.None(), table.None(), table.None()}
}

func (u *use) disk(name string) []table.Cell {
	e := sample.Entity{Device: name}
	busy, _ := u.rate(sample.DiskBusy, e)
	depth, ok := u.rate(sample.DiskWeighted, e)
	var saturation, load parts
	saturation.add(ok, "%s in flight", table.Value(u.figure(ok, "in_flight", depth), "count"))
	await, any := figure.Reads(u.w, name).Plus(figure.Writes(u.w, name)).Await()
	saturation.add(any, "await %s", table.Duration(u.figure(any, "await_seconds", await)))
	read, ok := u.rate(sample.DiskReadBytes, e)
	written, _ := u.rate(sample.DiskWriteBytes, e)
	load.add(ok, "reads %s, writes %s", table.Value(u.figure(ok, "read_bytes_per_s", read), "bytes/s"), table.Value(u.figure(ok, "written_bytes_per_s", written), "bytes/s"))
	some, full := u.pressure("io")
	return []table.Cell{table.Str(name), table.Num(busy), saturation.cell(), table.None(), some, full, load.cell()}
}

func (u *use) network(name string) []table.Cell {
	e := sample.Entity{Device: name}
	in, ok := u.rate(sample.NetReceived, e)
	out, ok2 := u.rate(sample.NetSent, e)
	speed, ok3 := u.w.Value(sample.NetSpeed, e)
	drops, ok4 := u.rate(sample.NetDrops, e)
	errors, ok5 := u.w.Sum(sample.NetErrors, e)
	var saturation, load parts
	saturation.add(ok4, "%s dropped", table.Value(u.figure(ok4, "dropped_per_s", drops), "count/s"))
	load.add(ok && ok2, "receives %s, sends %s", table.Value(u.figure(ok && ok2, "received_bytes_per_s", in), "bytes/s"),
		table.Value(u.figure(ok && ok2, "sent_bytes_per_s", out), "bytes/s"))
	return []table.Cell{table.Str(name), table.Maybe(max(in, out)/speed, ok3), saturation.cell(), table.Maybe(errors, ok5), table.None(), table.None(), load.cell()}
}

func (u *use) tcp() []table.Cell {
	var saturation parts
	again, ok := u.w.Sum(sample.TCPAgain, sample.Entity{})
	sent, _ := u.rate(sample.TCPSegments, sample.Entity{})
	saturation.add(ok, "%s sent again", table.Value(u.figure(ok, "retransmitted_per_s", again/u.w.Seconds()), "count/s"))
	var load parts
	load.add(ok, "sends %s segments", table.Value(u.figure(ok, "segments_per_s", sent), "count/s"))
	return []table.Cell{table.Str("TCP"), table.None(), saturation.cell(), table.None(), table.None(), table.None(), load.cell()}
}

// busiest are the devices that a counter rose on, most first; or the one that
// was asked for.
func (u *use) busiest(m sample.Metric, only string) []string {
	if only == "" {
		return figure.Busiest(u.w, m)
	}
	if _, ok := u.w.Sum(m, sample.Entity{Device: only}); !ok {
		return nil
	}
	return []string{only}
}
