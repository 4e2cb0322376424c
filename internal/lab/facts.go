package lab

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"iocause/internal/host"
)

// Condition holds a figure to a bound: "> 100", "< 0.5".
type Condition struct {
	above bool
	bound float64
}

// UnmarshalText reads a condition.
func (c *Condition) UnmarshalText(text []byte) error {
	fields := strings.Fields(string(text))
	if len(fields) != 2 || fields[0] != ">" && fields[0] != "<" {
		return fmt.Errorf("%q is not a condition like \"> 100\"", text)
	}
	var err error
	c.above = fields[0] == ">"
	if c.bound, err = strconv.ParseFloat(fields[1], 64); err != nil {
		return fmt.Errorf("bound of a condition: %w", err)
	}
	return nil
}

// String spells the condition as it is read.
func (c Condition) String() string {
	return map[bool]string{true: "> ", false: "< "}[c.above] + strconv.FormatFloat(c.bound, 'g', -1, 64)
}

func (c Condition) holds(v float64) bool {
	if c.above {
		return v > c.bound
	}
	return v < c.bound
}

// Facts are figures about the observed window that iocause has no part in.
// Counters are the increase a second:
//
//	vmstat.NAME            /proc/vmstat
//	disk.reads, disk.read_bytes, disk.writes, disk.write_bytes, disk.busy (0 to 1),
//	disk.in_flight (mean), disk.read_ms, disk.write_ms (means of a read, a write)
//	                       /proc/diskstats, device under the scratch folder
//	loop.NAME.reads ...    the same of a loop disk
//	cgroup.NAME.limit_hits, cgroup.NAME.usage, .cache (bytes), cgroup.NAME.refault_file
//	load.NAME.cpu, .system (CPUs busy), .majflt, .read_bytes, .write_bytes, .read_chars
//	                       /proc/PID/stat and io
//	load.NAME.amplification (bytes read from devices for each byte asked for)
//	mem.available, .cached, .dirty, .writeback (bytes, at the end of the window)
//	host.stolen            processors that the hypervisor gave to others, /proc/stat
//	host.foreign_bytes     what went to and from block devices, but for the loads' share
type Facts map[string]float64

// raw reads the counters as they are; gauges are under names with "=".
func raw(h *host.Host, device string, cgroups map[string]*Cgroup, loads map[string]*Process) map[string]float64 {
	f := map[string]float64{}
	pairs(h.Proc("vmstat"), func(name string, v float64) { f["vmstat."+name] = v })
	pairs(h.Proc("meminfo"), func(name string, v float64) {
		switch name {
		case "MemAvailable:":
			f["=mem.available"] = v * 1024
		case "Cached:":
			f["=mem.cached"] = v * 1024
		case "Dirty:":
			f["=mem.dirty"] = v * 1024
		case "Writeback:":
			f["=mem.writeback"] = v * 1024
		}
	})
	diskFacts(h, device, "disk", f)
	if b, err := os.ReadFile(h.Proc("stat")); err == nil { // cpu user nice system idle iowait irq softirq steal, in ticks of 1/100 s
		if fields := strings.Fields(string(b)); len(fields) > 8 {
			stolen, _ := strconv.ParseFloat(fields[8], 64)
			f["host.stolen"] = stolen / 100
		}
	}
	for name, c := range cgroups {
		if c.Memory == "" {
			continue
		}
		at := "cgroup." + name + "."
		number(filepath.Join(c.Memory, "memory.failcnt"), at+"limit_hits", f)
		number(filepath.Join(c.Memory, "memory.usage_in_bytes"), "="+at+"usage", f)
		number(filepath.Join(c.Memory, "memory.current"), "="+at+"usage", f)
		pairs(filepath.Join(c.Memory, "memory.events"), func(name string, v float64) {
			if name == "max" {
				f[at+"limit_hits"] = v
			}
		})
		pairs(filepath.Join(c.Memory, "memory.stat"), func(name string, v float64) {
			switch name {
			case "workingset_refault_file":
				f[at+"refault_file"] = v
			case "cache", "file": // of version 1 and 2
				f["="+at+"cache"] += v
			case "shmem": // tmpfs is part of both, and no cache
				f["="+at+"cache"] -= v
			}
		})
	}
	for name, p := range loads {
		at := "load." + name + "."
		if fields, err := h.StatFields(p.PID); err == nil {
			user, _ := strconv.ParseFloat(fields[11], 64) // in ticks of 1/100 s (USER_HZ)
			system, _ := strconv.ParseFloat(fields[12], 64)
			f[at+"cpu"], f[at+"system"] = (user+system)/100, system/100
			f[at+"majflt"], _ = strconv.ParseFloat(fields[9], 64)
		}
		pairs(h.Proc(strconv.Itoa(p.PID), "io"), func(name string, v float64) {
			switch name {
			case "read_bytes:", "write_bytes:":
				f[at+strings.TrimSuffix(name, ":")] = v
			case "rchar:":
				f[at+"read_chars"] = v
			}
		})
	}
	return f
}

// diskFacts reads Documentation/admin-guide/iostats.rst's fields, under names
// that start with at.
func diskFacts(h *host.Host, device, at string, f map[string]float64) {
	b, err := os.ReadFile(h.Sys("block", device, "stat"))
	if err != nil {
		return
	}
	fields := strings.Fields(string(b))
	if len(fields) < 11 {
		return
	}
	v := make([]float64, len(fields))
	for i, s := range fields {
		v[i], _ = strconv.ParseFloat(s, 64)
	}
	f[at+".reads"], f[at+".read_bytes"], f[at+".read_time"] = v[0], v[2]*512, v[3]
	f[at+".writes"], f[at+".write_bytes"], f[at+".write_time"] = v[4], v[6]*512, v[7]
	f[at+".busy"], f[at+".in_flight"] = v[9]/1000, v[10]/1000
}

// between turns two readings into facts.
func between(before, after map[string]float64, elapsed time.Duration) Facts {
	facts := Facts{}
	for name, v := range after {
		if gauge, ok := strings.CutPrefix(name, "="); ok {
			facts[gauge] = v
		} else if old, ok := before[name]; ok {
			facts[name] = (v - old) / elapsed.Seconds()
		}
	}
	for name, took := range facts {
		for _, way := range []string{".read", ".write"} {
			if at, ok := strings.CutSuffix(name, way+"_time"); ok {
				if n := facts[at+way+"s"]; n > 0 {
					facts[at+way+"_ms"] = took / n
				}
				delete(facts, name)
			}
		}
	}
	facts["host.foreign_bytes"] = (facts["vmstat.pgpgin"] + facts["vmstat.pgpgout"]) * 1024
	for name, v := range facts {
		if strings.HasPrefix(name, "load.") && (strings.HasSuffix(name, ".read_bytes") || strings.HasSuffix(name, ".write_bytes")) {
			facts["host.foreign_bytes"] -= v
		}
	}
	for name, asked := range facts {
		if at, ok := strings.CutSuffix(name, ".read_chars"); ok && asked > 0 {
			facts[at+".amplification"] = facts[at+".read_bytes"] / asked
		}
	}
	return facts
}

// pairs calls f for every line of the form "name number ...". A file that is
// not there gives no facts, and a proof that asks for them fails by that.
func pairs(path string, f func(name string, v float64)) {
	b, err := os.ReadFile(path)
	if err != nil {
		return
	}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		fields := strings.Fields(s.Text())
		if len(fields) < 2 {
			continue
		}
		if v, err := strconv.ParseFloat(fields[1], 64); err == nil {
			f(fields[0], v)
		}
	}
}

func number(path, name string, f map[string]float64) {
	b, err := os.ReadFile(path)
	if err != nil {
		return
	}
	if v, err := strconv.ParseFloat(strings.TrimSpace(string(b)), 64); err == nil {
		f[name] = v
	}
}
