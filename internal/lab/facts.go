package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"iocause/internal/host"
	"iocause/internal/procfile"
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
		return fmt.Errorf("%q is not a condition like \"> 100\": %w", text, err)
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
//	load.NAME.queued       threads that waited for a processor, /proc/PID/task/TID/schedstat
//	load.NAME.amplification (bytes read from devices for each byte asked for)
//	mem.available, .cached, .dirty, .writeback (bytes, at the end of the window)
//	host.stolen            processors that the hypervisor gave to others, /proc/stat
//	host.foreign_bytes     what others than the loads had read from block devices and gave to
//	                       be written to them, see foreignBytes
type Facts map[string]float64

// raw reads the counters as they are; gauges are under names with "=". A file that
// is not there gives no facts, and a proof that asks for them fails by that.
func raw(h *host.Host, device string, cgroups map[string]*Cgroup, loads map[string]*Process) map[string]float64 {
	f := map[string]float64{}
	put := func(name string, v *uint64) {
		if v != nil {
			f[name] = float64(*v)
		}
	}
	for name, v := range vmstat(h) {
		put("vmstat."+name, *v)
	}
	if m, err := procfile.ReadMeminfo(h); err == nil {
		put("=mem.available", m.Available)
		put("=mem.cached", m.Cached)
		put("=mem.dirty", m.Dirty)
		put("=mem.writeback", m.Writeback)
	}
	diskFacts(h, device, "disk", f)
	if b, err := os.ReadFile(h.Proc("stat")); err == nil {
		if cpus, err := procfile.ParseCPUStat(b, nil); err == nil && cpus.Fields > procfile.CPUSteal {
			f["host.stolen"] = float64(cpus.Times[procfile.CPUSteal]) / host.TickHz
		}
	}
	for name, c := range cgroups {
		if c.Memory != "" {
			cgroupFacts(c.Memory, "cgroup."+name+".", f)
		}
	}
	for name, p := range loads {
		at := "load." + name + "."
		if fields, err := h.StatFields(p.PID); err == nil {
			user, _ := strconv.ParseFloat(fields[11], 64)
			system, _ := strconv.ParseFloat(fields[12], 64)
			f[at+"cpu"], f[at+"system"] = (user+system)/host.TickHz, system/host.TickHz
			f[at+"majflt"], _ = strconv.ParseFloat(fields[9], 64)
		}
		if did, err := procfile.ReadIO(h.Proc(strconv.Itoa(p.PID), "io")); err == nil {
			f[at+"read_bytes"], f[at+"write_bytes"], f[at+"read_chars"] = float64(did.ReadBytes), float64(did.WriteBytes), float64(did.ReadChars)
		}
		if delay, ok := queued(h, p.PID); ok {
			f[at+"queued"] = delay.Seconds()
		}
	}
	return f
}

// queued is how long the threads of a process that live have waited for a processor.
func queued(h *host.Host, pid int) (time.Duration, bool) {
	tasks, err := filepath.Glob(h.Proc(strconv.Itoa(pid), "task", "*", "schedstat"))
	if err != nil || len(tasks) == 0 {
		return 0, false
	}
	var sum time.Duration
	for _, path := range tasks {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		s, err := procfile.ParseSchedstat(b)
		if err != nil {
			return 0, false
		}
		sum += time.Duration(s.Delay)
	}
	return sum, true
}

// vmstat is every line of /proc/vmstat, by name.
func vmstat(h *host.Host) map[string]**uint64 {
	b, err := os.ReadFile(h.Proc("vmstat"))
	if err != nil {
		return nil
	}
	all := map[string]**uint64{}
	_ = host.Pairs(b, func(key []byte) **uint64 { // a line that is no number is absent
		to := new(*uint64)
		all[string(key)] = to
		return to
	})
	return all
}

// cgroupFacts reads the memory controller's files of a cgroup, of version 1 or 2.
func cgroupFacts(dir, at string, f map[string]float64) {
	for file, name := range map[string]string{"memory.failcnt": at + "limit_hits", procfile.MemoryUsageFile(false): "=" + at + "usage", procfile.MemoryUsageFile(true): "=" + at + "usage"} {
		if v, err := host.ReadNumber(filepath.Join(dir, file)); err == nil {
			f[name] = float64(v)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "memory.events")); err == nil {
		if events, err := procfile.ParseMemoryEvents(b); err == nil && events.Max != nil {
			f[at+"limit_hits"] = float64(*events.Max)
		}
	}
	own, _, err := procfile.ReadMemoryStat(dir)
	if err != nil {
		return
	}
	if own.RefaultFile != nil {
		f[at+"refault_file"] = float64(*own.RefaultFile)
	}
	if own.File != nil && own.Shmem != nil { // tmpfs is part of it, and no cache
		f["="+at+"cache"] = float64(*own.File) - float64(*own.Shmem)
	}
}

// diskFacts reads what the kernel counts of a disk, under names that start with at.
func diskFacts(h *host.Host, device, at string, f map[string]float64) {
	b, err := os.ReadFile(h.Sys("block", device, "stat"))
	if err != nil {
		return
	}
	d, err := procfile.ParseDiskFile(b)
	if err != nil {
		return
	}
	f[at+".reads"], f[at+".read_bytes"], f[at+".read_time"] = float64(d.Reads), float64(d.ReadSectors)*512, float64(d.ReadTime)
	f[at+".writes"], f[at+".write_bytes"], f[at+".write_time"] = float64(d.Writes), float64(d.WriteSectors)*512, float64(d.WriteTime)
	f[at+".busy"], f[at+".in_flight"] = float64(d.Busy)/1000, float64(d.Weighted)/1000
}

// foreignBytes is what others than the loads had read from block devices and gave to be
// written to them, in bytes a second; ok is false where the kernel does not say.
//
// A process is charged for what it writes when it dirties the page (folio_account_dirtied
// in mm/page-writeback.c, which counts nr_dirtied at the same time), the device when the
// page is sent to it (submit_bio in block/blk-core.c, pgpgout): seconds later, or never.
// The difference of those two is far below zero while dirty pages pile up, and above it
// while they are written. So what was dirtied and is not yet written is added: then both
// sides count at the same instant. Reads and direct writes are charged as they are sent.
//
// What is left below zero is of two kinds: the files are read one after the other, some
// milliseconds apart, so that it is off by what the rates changed by in that time; and what
// loads read and write over a network or FUSE is charged to them, and sent to no device.
func foreignBytes(facts Facts) (perSecond float64, ok bool) {
	of := func(name string) float64 {
		v, known := facts["vmstat."+name]
		ok = ok && known
		return v
	}
	ok = true
	perSecond = (of("pgpgin")+of("pgpgout"))*1024 + (of("nr_dirtied")-of("nr_written"))*float64(os.Getpagesize())
	for name, v := range facts {
		if strings.HasPrefix(name, "load.") && (strings.HasSuffix(name, ".read_bytes") || strings.HasSuffix(name, ".write_bytes")) {
			perSecond -= v
		}
	}
	return perSecond, ok
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
	if foreign, ok := foreignBytes(facts); ok {
		facts["host.foreign_bytes"] = foreign
	}
	for name, asked := range facts {
		if at, ok := strings.CutSuffix(name, ".read_chars"); ok && asked > 0 {
			facts[at+".amplification"] = facts[at+".read_bytes"] / asked
		}
	}
	return facts
}
