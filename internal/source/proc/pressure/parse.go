package pressure

import (
	"bytes"
	"fmt"

	"iocause/internal/host"
)

// Pressure is one file of /proc/pressure (Documentation/accounting/psi.rst):
// microseconds since boot in which some, or all, of the threads that were not
// idle waited for the resource. Full is nil before Linux 5.13 for "cpu".
type Pressure struct {
	Some, Full *uint64
}

func parse(b []byte) (Pressure, error) {
	var p Pressure
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = host.Line(b)
		key, rest := host.Field(line)
		var to **uint64
		switch string(key) {
		case "some":
			to = &p.Some
		case "full":
			to = &p.Full
		default:
			continue
		}
		var f []byte
		for {
			if f, rest = host.Field(rest); len(f) == 0 {
				return p, &host.LineError{Line: n, What: "total= is missing"}
			}
			if total, ok := bytes.CutPrefix(f, []byte("total=")); ok {
				v, ok := host.Uint(total)
				if !ok {
					return p, &host.LineError{Line: n, What: fmt.Sprintf("%.40q is not a number", f)}
				}
				*to = &v
				break
			}
		}
	}
	if p.Some == nil {
		return p, &host.LineError{Line: 1, What: "the line \"some\" is missing"}
	}
	return p, nil
}
