package sysstat

import (
	"strconv"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// device reads a row of sar -d, of old and new columns.
func (r *reader) device(v map[string]float64, f map[string]string, into lines.Values) {
	e := sample.Entity{Device: f["DEV"]}
	first := func(names ...string) (float64, bool) {
		for _, n := range names {
			if x, ok := v[n]; ok {
				switch n {
				case "rd_sec/s", "wr_sec/s":
					x *= 512
				case "rkB/s", "wkB/s":
					x *= 1024
				}
				return x, true
			}
		}
		return 0, false
	}
	read, _ := first("rkB/s", "rd_sec/s")
	written, _ := first("wkB/s", "wr_sec/s")
	into.Put(sample.DiskReadBytes, e, read*r.every)
	into.Put(sample.DiskWriteBytes, e, written*r.every)
	if q, ok := first("aqu-sz", "avgqu-sz"); ok {
		into.Put(sample.DiskWeighted, e, q*r.every)
	}
	if u, ok := first("%util"); ok {
		into.Put(sample.DiskBusy, e, min(u/100, 1)*r.every)
	}
	reads := v["tps"]
	if read+written > 0 {
		reads *= read / (read + written)
		r.split = r.split || read > 0 && written > 0
	}
	writes := v["tps"] - reads
	into.Put(sample.DiskReads, e, reads*r.every)
	into.Put(sample.DiskWrites, e, max(0, writes)*r.every)
	if t, ok := first("await"); ok {
		into.Put(sample.DiskReadTime, e, reads*t/1e3*r.every)
		into.Put(sample.DiskWriteTime, e, max(0, writes)*t/1e3*r.every)
	}
}

// process is the process of a row of pidstat, 0 for none.
func (r *reader) process(f map[string]string, into lines.Values) int {
	name := "PID"
	if _, ok := f[name]; !ok {
		name = "TGID"
	}
	pid, err := strconv.Atoi(f[name])
	if err != nil || pid < 1 || pid > 1<<22 {
		return 0
	}
	into.Process(pid, sample.Process{Comm: f["Command"]})
	return pid
}

// processes reads a row of pidstat, which with -h holds all that was asked for.
func (r *reader) processes(v map[string]float64, f map[string]string, into lines.Values) {
	if _, ok := v["%usr"]; ok {
		r.processTime(v, f, into)
	}
	if _, ok := v["kB_rd/s"]; ok {
		r.processIO(v, f, into)
	}
}

func (r *reader) processIO(v map[string]float64, f map[string]string, into lines.Values) {
	pid := r.process(f, into)
	if pid == 0 {
		return
	}
	e := sample.Entity{PID: pid}
	into.Put(sample.ProcReadBytes, e, v["kB_rd/s"]*1024*r.every)
	into.Put(sample.ProcWriteBytes, e, v["kB_wr/s"]*1024*r.every)
	// in clock ticks; always 0 where kernel.task_delayacct is off, as it is by
	// default since Linux 5.14, so that 0 says nothing
	if d := v["iodelay"]; d > 0 {
		into.Put(sample.ProcBlkioDelay, e, d/100)
	}
}

func (r *reader) processTime(v map[string]float64, f map[string]string, into lines.Values) {
	pid := r.process(f, into)
	if pid == 0 {
		return
	}
	e := sample.Entity{PID: pid}
	into.Put(sample.ProcUser, e, v["%usr"]/100*r.every)
	into.Put(sample.ProcSystem, e, v["%system"]/100*r.every)
	if w, ok := v["%wait"]; ok {
		into.Put(sample.ProcRunDelay, e, w/100*r.every)
	}
}
