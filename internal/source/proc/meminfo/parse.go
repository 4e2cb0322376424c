package meminfo

import (
	"fmt"
	"slices"

	"iocause/internal/host"
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

type field struct {
	key string
	to  **uint64
}

func (m *Meminfo) fields() []field {
	return []field{
		{"MemTotal:", &m.Total}, {"MemFree:", &m.Free}, {"MemAvailable:", &m.Available},
		{"Buffers:", &m.Buffers}, {"Cached:", &m.Cached}, {"SwapCached:", &m.SwapCached},
		{"Active(file):", &m.ActiveFile}, {"Inactive(file):", &m.InactiveFile},
		{"Unevictable:", &m.Unevictable}, {"Mlocked:", &m.Mlocked},
		{"SwapTotal:", &m.SwapTotal}, {"SwapFree:", &m.SwapFree}, {"Zswap:", &m.Zswap},
		{"Dirty:", &m.Dirty}, {"Writeback:", &m.Writeback}, {"AnonPages:", &m.Anon},
		{"Mapped:", &m.Mapped}, {"Shmem:", &m.Shmem}, {"KReclaimable:", &m.KReclaimable},
		{"Slab:", &m.Slab}, {"SReclaimable:", &m.SReclaimable}, {"SUnreclaim:", &m.SUnreclaim},
		{"KernelStack:", &m.KernelStack}, {"PageTables:", &m.PageTables}, {"SecPageTables:", &m.SecPageTables},
		{"Bounce:", &m.Bounce}, {"WritebackTmp:", &m.WritebackTmp}, {"VmallocUsed:", &m.VmallocUsed},
		{"Percpu:", &m.Percpu}, {"AnonHugePages:", &m.AnonHugePages}, {"Balloon:", &m.Balloon},
		{"Hugetlb:", &m.Hugetlb},
	}
}

func parse(b []byte) (Meminfo, error) {
	var m Meminfo
	fields := m.fields()
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = host.Line(b)
		key, rest := host.Field(line)
		at := slices.IndexFunc(fields, func(f field) bool { return f.key == string(key) })
		if at < 0 {
			continue
		}
		f, rest := host.Field(rest)
		unit, _ := host.Field(rest)
		v, ok := host.Uint(f)
		if !ok || v >= 1<<54 || string(unit) != "kB" {
			return m, &host.LineError{Line: n, What: fmt.Sprintf("%s %.40q %.10q is not an amount in kB", key, f, unit)}
		}
		v *= 1024
		*fields[at].to = &v
	}
	return m, nil
}
