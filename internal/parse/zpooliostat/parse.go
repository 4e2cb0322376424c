// Package zpooliostat reads what zpool iostat prints of ZFS pools: what is read and
// written, and how full they are.
package zpooliostat

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"iocause/internal/parse/lines"
)

// Bounds on what is looked at.
const (
	maxPools = 256
	maxNotes = 16
	maxLine  = 4096
	maxName  = 128
)

// nearlyFull is the part of a pool from which on ZFS takes long to find free room:
// 90 % by OpenZFS's own advice.
const nearlyFull = 0.90

// head are the first columns of zpool iostat; with -l waits follow.
var head = [...]string{"pool", "alloc", "free", "read", "write", "read", "write"}

func isHead(text string) bool {
	f := strings.Fields(text)
	return len(f) >= len(head) && slices.Equal(f[:len(head)], head[:])
}

// Find says where in a line a report of zpool iostat begins: at the names of its columns.
func Find(line string) int {
	line = line[:min(len(line), maxLine)]
	if isHead(line) {
		return strings.Index(line, head[0])
	}
	return -1
}

// pool is what the last report says of one, and what all that are of an interval
// say together.
type pool struct {
	alloc, free   float64
	ops, bytes    [2]float64       // read and written, a second, the reports added up
	wait          [2]time.Duration // the longest
	reports       float64
	first         bool // only the mean since the pool was imported has come
	sinceImported struct{ ops, bytes [2]float64 }
}

type reader struct {
	columns int
	indent  int // of the rows of pools; -1 before the first
	pools   map[string]*pool
	names   []string
}

// New makes a reader.
func New(string) lines.Reader { return &reader{indent: -1, pools: map[string]*pool{}} }

// Line implements lines.Reader. Rows of disks and groups of them are indented.
func (r *reader) Line(l lines.Line, _ lines.Values) (lines.Use, error) {
	text := l.Text[:min(len(l.Text), maxLine)]
	f := strings.Fields(text)
	if r.indent < 0 && len(f) == r.columns && len(f) > 0 && !isHead(text) {
		r.indent = strings.Index(text, f[0])
	}
	switch {
	case len(f) == 0, strings.Trim(text, "- \t") == "", f[0] == "capacity":
		return lines.Skipped, nil
	case isHead(text):
		r.columns = len(f)
		return lines.Skipped, nil
	case strings.Index(text, f[0]) > r.indent && len(f) == r.columns:
		return lines.Skipped, nil
	case len(f) != r.columns:
		if len(f) > 1 {
			if _, ok := lines.Binary(f[1], 1); ok {
				return lines.Broken, fmt.Errorf("not the %d columns of the table: the line is cut off", r.columns)
			}
		}
		return lines.Foreign, nil
	case len(f[0]) > maxName:
		return lines.Foreign, nil
	}
	var v [6]float64
	for i := range v {
		n, ok := lines.Binary(f[1+i], 1)
		if !ok || n < 0 {
			return lines.Broken, fmt.Errorf("%s is %.20q, not a number", head[1+i], f[1+i])
		}
		v[i] = n
	}
	p := r.pools[f[0]]
	if p == nil {
		if len(r.names) >= maxPools {
			return lines.Skipped, nil
		}
		p = &pool{first: true}
		r.pools[f[0]] = p
		r.names = append(r.names, f[0])
		p.sinceImported.ops, p.sinceImported.bytes = [2]float64{v[2], v[3]}, [2]float64{v[4], v[5]}
		p.alloc, p.free = v[0], v[1]
		return lines.Used, nil
	}
	p.first = false
	p.reports++
	p.alloc, p.free = v[0], v[1]
	for i := range 2 {
		p.ops[i] += v[2+i]
		p.bytes[i] += v[4+i]
		if 7+i < len(f) {
			if d, err := time.ParseDuration(f[7+i]); err == nil {
				p.wait[i] = max(p.wait[i], d)
			}
		}
	}
	return lines.Used, nil
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	into.State()
	for _, name := range r.names[:min(len(r.names), maxNotes)] {
		p := r.pools[name]
		ops, bytes, when := p.ops, p.bytes, "on average"
		n := p.reports
		if p.first {
			ops, bytes, n, when = p.sinceImported.ops, p.sinceImported.bytes, 1, "on average since it was imported, not now: zpool iostat 1 5 shows that"
		}
		into.Note(fmt.Sprintf("pool %s: %.3g MB/s read in %.3g requests/s, %.3g MB/s written in %.3g requests/s, %s", name,
			bytes[0]/n/1e6, ops[0]/n, bytes[1]/n/1e6, ops[1]/n, when))
		if p.wait[0] > 0 || p.wait[1] > 0 {
			into.Note(fmt.Sprintf("pool %s: a report's longest mean wait is %s for reads and %s for writes, idle time included", name, p.wait[0], p.wait[1]))
		}
		if all := p.alloc + p.free; all > 0 && p.alloc >= nearlyFull*all {
			into.Note(fmt.Sprintf("pool %s is %.0f %% full: from 90 %% on ZFS takes long to find room for what is written", name, 100*p.alloc/all))
		}
	}
	into.Note("zpool iostat does not show how long a request takes on the disks: paste iostat -xz 1 5 of the pool's disks")
}
