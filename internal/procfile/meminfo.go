package procfile

import (
	"fmt"
	"slices"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// Meminfo is what is read of /proc/meminfo (proc_meminfo(5)), in bytes. Nil
// figures are not in the kernel's file.
type Meminfo struct {
	Total, Free, Available, Buffers, Cached *uint64
	Anon, Shmem, Slab, Dirty, Writeback     *uint64
	SwapTotal, SwapFree, SwapCached         *uint64

	ActiveFile, InactiveFile, Mapped, Mlocked, Unevictable       *uint64
	KReclaimable, SReclaimable, SUnreclaim                       *uint64
	KernelStack, PageTables, SecPageTables, Percpu, VmallocUsed  *uint64
	Bounce, WritebackTmp, Hugetlb, Zswap, Balloon, AnonHugePages *uint64
}

// meminfoLine is one line of the file: where its amount goes, and the metric
// that it is or is a part of, "" when it is judged by none.
type meminfoLine struct {
	name   string
	to     **uint64
	metric sample.Metric
}

func (m *Meminfo) lines() []meminfoLine {
	return []meminfoLine{
		{"MemTotal", &m.Total, sample.MemTotal}, {"MemFree", &m.Free, sample.MemFree}, {"MemAvailable", &m.Available, sample.MemAvailable},
		{"Buffers", &m.Buffers, sample.MemCache}, {"Cached", &m.Cached, sample.MemCache},
		{"AnonPages", &m.Anon, sample.MemAnon}, {"Shmem", &m.Shmem, sample.MemShmem}, {"Slab", &m.Slab, sample.MemSlab},
		{"Dirty", &m.Dirty, sample.MemDirty}, {"Writeback", &m.Writeback, sample.MemWriteback},
		{"SwapTotal", &m.SwapTotal, sample.SwapTotal}, {"SwapFree", &m.SwapFree, sample.SwapFree},
		{"SwapCached", &m.SwapCached, ""}, {"Active(file)", &m.ActiveFile, ""}, {"Inactive(file)", &m.InactiveFile, ""},
		{"Unevictable", &m.Unevictable, ""}, {"Mlocked", &m.Mlocked, ""}, {"Zswap", &m.Zswap, ""}, {"Mapped", &m.Mapped, ""},
		{"KReclaimable", &m.KReclaimable, ""}, {"SReclaimable", &m.SReclaimable, ""}, {"SUnreclaim", &m.SUnreclaim, ""},
		{"KernelStack", &m.KernelStack, ""}, {"PageTables", &m.PageTables, ""}, {"SecPageTables", &m.SecPageTables, ""},
		{"Bounce", &m.Bounce, ""}, {"WritebackTmp", &m.WritebackTmp, ""}, {"VmallocUsed", &m.VmallocUsed, ""},
		{"Percpu", &m.Percpu, ""}, {"AnonHugePages", &m.AnonHugePages, ""}, {"Balloon", &m.Balloon, ""}, {"Hugetlb", &m.Hugetlb, sample.MemHuge},
	}
}

// Gauge is a figure that stands for the instant it was read at; a nil Value is
// not in the kernel's file.
type Gauge struct {
	Metric sample.Metric
	Value  *uint64
}

// Gauges are the metrics of the file. One that is a sum of lines is known when
// all of them are.
func (m *Meminfo) Gauges() []Gauge {
	var out []Gauge
	for _, l := range m.lines() {
		if l.metric == "" {
			continue
		}
		if last := len(out) - 1; last < 0 || out[last].Metric != l.metric {
			out = append(out, Gauge{l.metric, *l.to})
		} else if out[last].Value != nil && *l.to != nil {
			sum := *out[last].Value + **l.to
			out[last].Value = &sum
		} else {
			out[last].Value = nil
		}
	}
	return out
}

// MeminfoMetric is the metric that a line counts towards, "" when it is none.
func MeminfoMetric(name string) sample.Metric {
	for _, l := range new(Meminfo).lines() {
		if l.name == name {
			return l.metric
		}
	}
	return ""
}

// ReadMeminfo reads /proc/meminfo once.
func ReadMeminfo(h *host.Host) (Meminfo, error) {
	b, err := host.Read(h.Proc("meminfo"), nil)
	if err != nil {
		return Meminfo{}, fmt.Errorf("reading the use of memory: %w", err)
	}
	m, err := ParseMeminfo(b)
	return m, host.In("/proc/meminfo", err)
}

// ParseMeminfo parses /proc/meminfo.
func ParseMeminfo(b []byte) (Meminfo, error) {
	var m Meminfo
	known := m.lines()
	err := host.Amounts(b, func(key []byte) **uint64 {
		if at := slices.IndexFunc(known, func(l meminfoLine) bool { return l.name == string(key) }); at >= 0 {
			return known[at].to
		}
		return nil
	})
	return m, err
}
