package netdev

import (
	"bytes"
	"fmt"

	"iocause/internal/host"
)

// Interface is one line of /proc/net/dev (net/core/net-procfs.c), since the
// interface came up.
type Interface struct {
	Name                       string
	RxBytes, RxErrors, RxDrops uint64 // drops: dropped and overrun
	TxBytes, TxErrors, TxDrops uint64
}

// columns of a line: eight for receiving, eight for sending.
const columns = 16

// parse reads /proc/net/dev. Its first two lines are a heading.
func parse(b []byte) ([]Interface, error) {
	var all []Interface
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = host.Line(b)
		if n <= 2 {
			if !bytes.ContainsRune(line, '|') {
				return nil, &host.LineError{Line: n, What: "no heading"}
			}
			continue
		}
		// a name may hold a colon, figures do not
		colon := bytes.LastIndexByte(line, ':')
		if colon < 0 {
			return all, &host.LineError{Line: n, What: "no name"}
		}
		var v [columns]uint64
		rest := line[colon+1:]
		for i := range v {
			var f []byte
			var ok bool
			f, rest = host.Field(rest)
			if v[i], ok = host.Uint(f); !ok {
				return all, &host.LineError{Line: n, What: fmt.Sprintf("field %d is %.40q, not a number", i+1, f)}
			}
		}
		all = append(all, Interface{
			Name:    string(bytes.TrimSpace(line[:colon])),
			RxBytes: v[0], RxErrors: v[2], RxDrops: v[3] + v[4],
			TxBytes: v[8], TxErrors: v[10], TxDrops: v[11] + v[12],
		})
	}
	return all, nil
}

// Segments is what TCP sent, and sent again, from /proc/net/snmp.
type Segments struct{ Out, Again uint64 }

// parseTCP reads the two lines of TCP: names, then figures.
func parseTCP(b []byte) (Segments, error) {
	var names [][]byte
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = host.Line(b)
		rest, ok := bytes.CutPrefix(line, []byte("Tcp:"))
		if !ok {
			continue
		}
		fields := bytes.Fields(rest)
		if names == nil {
			names = fields
			continue
		}
		var s Segments
		found := 0
		for i, name := range names {
			var into *uint64
			switch string(name) {
			case "OutSegs":
				into = &s.Out
			case "RetransSegs":
				into = &s.Again
			default:
				continue
			}
			if i >= len(fields) {
				return s, &host.LineError{Line: n, What: fmt.Sprintf("no figure for %s", name)}
			}
			if *into, ok = host.Uint(fields[i]); !ok {
				return s, &host.LineError{Line: n, What: fmt.Sprintf("%s is %.40q, not a number", name, fields[i])}
			}
			found++
		}
		if found != 2 {
			return s, &host.LineError{Line: n, What: "OutSegs or RetransSegs is missing"}
		}
		return s, nil
	}
	return Segments{}, &host.LineError{Line: 1, What: "no lines of TCP"}
}
