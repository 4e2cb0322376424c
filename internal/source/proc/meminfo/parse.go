package meminfo

import (
	"fmt"

	"iocause/internal/host"
)

// Meminfo is what is read of /proc/meminfo (proc_meminfo(5)), in bytes. Nil
// figures are not in the kernel's file.
type Meminfo struct {
	Total, Free, Available, Buffers, Cached *uint64
	Anon, Shmem, Slab, Dirty, Writeback     *uint64
	SwapTotal, SwapFree                     *uint64
}

func (m *Meminfo) field(key string) **uint64 {
	switch key {
	case "MemTotal:":
		return &m.Total
	case "MemFree:":
		return &m.Free
	case "MemAvailable:":
		return &m.Available
	case "Buffers:":
		return &m.Buffers
	case "Cached:":
		return &m.Cached
	case "AnonPages:":
		return &m.Anon
	case "Shmem:":
		return &m.Shmem
	case "Slab:":
		return &m.Slab
	case "Dirty:":
		return &m.Dirty
	case "Writeback:":
		return &m.Writeback
	case "SwapTotal:":
		return &m.SwapTotal
	case "SwapFree:":
		return &m.SwapFree
	}
	return nil
}

func parse(b []byte) (Meminfo, error) {
	var m Meminfo
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = host.Line(b)
		key, rest := host.Field(line)
		to := m.field(string(key))
		if to == nil {
			continue
		}
		f, rest := host.Field(rest)
		unit, _ := host.Field(rest)
		v, ok := host.Uint(f)
		if !ok || v >= 1<<54 || string(unit) != "kB" {
			return m, &host.LineError{Line: n, What: fmt.Sprintf("%s %.40q %.10q is not an amount in kB", key, f, unit)}
		}
		v *= 1024
		*to = &v
	}
	return m, nil
}
