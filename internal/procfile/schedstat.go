package procfile

import (
	"fmt"

	"iocause/internal/host"
)

// Schedstat is /proc/PID/schedstat, or a thread's (Documentation/scheduler/
// sched-stats.rst). The process's file is of its first thread alone.
type Schedstat struct {
	OnCPU  uint64 // nanoseconds
	Delay  uint64 // nanoseconds waited for a processor
	Slices uint64 // times that it ran
}

// ParseSchedstat reads a schedstat file.
func ParseSchedstat(b []byte) (Schedstat, error) {
	line, _ := host.Line(b)
	var v [3]uint64
	for i := range v {
		var f []byte
		f, line = host.Field(line)
		var ok bool
		if v[i], ok = host.Uint(f); !ok {
			return Schedstat{}, &host.LineError{Line: 1, What: fmt.Sprintf("figure %d, %.40q, is not a number", i+1, f)}
		}
	}
	return Schedstat{v[0], v[1], v[2]}, nil
}
