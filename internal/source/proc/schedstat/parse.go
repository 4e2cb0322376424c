package schedstat

import (
	"bytes"
	"fmt"

	"iocause/internal/host"
)

// Schedstat is what is read of /proc/schedstat (Documentation/scheduler/
// sched-stats.rst, versions 15 to 17).
type Schedstat struct {
	Version uint64
	Delays  []Delay
}

// Delay is the time that threads waited for a processor, field 8 of its line.
type Delay struct {
	CPU         uint64
	Nanoseconds uint64 // since boot
}

// oldest is the first version with times in nanoseconds.
const oldest = 15

func parse(b []byte, into []Delay) (Schedstat, error) {
	s := Schedstat{Delays: into[:0]}
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = host.Line(b)
		key, rest := host.Field(line)
		number, isCPU := bytes.CutPrefix(key, []byte("cpu"))
		switch {
		case string(key) == "version":
			f, _ := host.Field(rest)
			v, ok := host.Uint(f)
			if !ok || v < oldest {
				return s, &host.LineError{Line: n, What: fmt.Sprintf("version %.40q is not known", f)}
			}
			s.Version = v
		case isCPU:
			cpu, ok := host.Uint(number)
			var f []byte
			for range 8 {
				f, rest = host.Field(rest)
			}
			v, ok2 := host.Uint(f)
			if !ok || !ok2 {
				return s, &host.LineError{Line: n, What: fmt.Sprintf("field 8 of %.40q is %.40q, not a time", key, f)}
			}
			s.Delays = append(s.Delays, Delay{cpu, v})
		}
	}
	if s.Version == 0 || len(s.Delays) == 0 {
		return s, &host.LineError{Line: 1, What: "no version or no processor"}
	}
	return s, nil
}
