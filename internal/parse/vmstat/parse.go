// Package vmstat reads what vmstat(8) of procps prints: its report by
// intervals, wide or not (-w), with active memory (-a), timestamps (-t) and
// units (-S).
package vmstat

import (
	"fmt"
	"math"
	"strings"
	"time"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

const page = 4096

// Find says where in a line the report begins: at its heads.
func Find(line string) int {
	if at := strings.Index(line, "procs -"); at >= 0 && strings.Contains(line, "-memory-") {
		return at
	}
	if at := strings.Index(line, "--procs-- -"); at >= 0 && strings.Contains(line, "-memory-") {
		return at
	}
	if !strings.Contains(line, " swpd ") {
		return -1
	}
	if f := strings.Fields(line); len(f) >= 16 && f[0] == "r" && f[1] == "b" && f[2] == "swpd" {
		return 0
	}
	return -1
}

// english gives the columns of memory, which other languages name otherwise, the
// names of English.
func english(columns []string) []string {
	columns[3] = "free"
	if strings.HasPrefix(columns[4], "ina") { // -a
		columns[4], columns[5] = "inact", "active"
	} else {
		columns[4], columns[5] = "buff", "cache"
	}
	return columns
}

// notKilobytes tells figures of memory that the kernel cannot have in kB, as they
// are no multiples of its pages: those are in MiB.
func notKilobytes(columns []string, v []float64) bool {
	odd := false
	for i, name := range columns[:min(len(columns), len(v))] {
		switch name {
		case "swpd", "free", "buff", "cache", "inact", "active":
			odd = odd || math.Mod(v[i], 4) != 0
			if v[i] >= 1<<22 { // 4 TiB in MiB
				return false
			}
		}
	}
	return odd
}

// screen is how many rows even a small terminal has between two heads.
const screen = 5

type reader struct {
	columns []string
	unit    float64 // bytes, of memory
	every   float64
	known   bool
	guess   bool // the command is not in the text, so that the unit is not known
	boot    bool // the next row is the mean since boot
	never   bool // no row is (-y)
	below   int  // rows below the newest head
	held    []float64
	heldAt  int
	rows    int
	stamp   time.Time
}

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	command := lines.Command(before, "vmstat")
	r := &reader{unit: 1 << 10, boot: true, guess: command == ""}
	if s, ok := lines.Option(command, 'S'); ok && s != "" {
		switch s[0] {
		case 'k':
			r.unit = 1e3
		case 'm':
			r.unit = 1e6
		case 'M':
			r.unit = 1 << 20
		}
	}
	if _, y := lines.Option(command, 'y'); y {
		r.boot, r.never = false, true
	}
	r.every = lines.Interval(command)
	if r.known = r.every > 0; !r.known {
		r.every = 1
	}
	return lines.Trim(r)
}

// Text implements lines.Trimmed.
func (r *reader) Text(text string, l lines.Line, into lines.Values) (lines.Use, error) {
	switch {
	case strings.Contains(text, "-memory-"):
		return lines.Skipped, nil
	case Find(text) == 0:
		// a run repeats its head after a screen of rows: before that, another begins
		r.boot = !r.never && (r.boot || r.columns != nil && r.below < screen)
		r.columns, r.below = english(strings.Fields(text)), 0
		return lines.Used, nil
	case r.columns == nil:
		return lines.Foreign, nil
	}
	f := strings.Fields(text)
	v := lines.Numbers(f)
	n := len(r.columns)
	if i := n - 1; i > 0 && strings.ToUpper(r.columns[i]) == r.columns[i] { // the name of the time zone
		n--
	}
	switch {
	case len(v) < 2:
		return lines.Foreign, nil
	case len(v) < n:
		return lines.Broken, fmt.Errorf("%d figures below %d columns: the line is cut off", len(v), n)
	}
	stamp := l.At
	if len(f) >= n+2 {
		if t, err := time.Parse("2006-01-02 15:04:05", f[n]+" "+f[n+1]); err == nil {
			stamp = t
		}
	}
	if !stamp.IsZero() {
		if d := stamp.Sub(r.stamp); !r.stamp.IsZero() && d > 0 && d < 24*time.Hour {
			r.every, r.known = d.Seconds(), true
		}
		r.stamp = stamp
	}
	if r.guess && notKilobytes(r.columns, v) {
		r.guess, r.unit = false, 1<<20
		into.Note("the unit of vmstat is not in the text: its memory figures are not multiples of 4 kB, so MiB (-S M) is assumed")
	}
	r.below++
	if r.boot {
		r.boot, r.held, r.heldAt = false, v[:n], l.N
		return lines.Used, nil
	}
	r.held = nil
	r.row(v[:n], l.N, into)
	return lines.Used, nil
}

func (r *reader) row(v []float64, n int, into lines.Values) {
	into.At(n)
	host := sample.Entity{}
	cache, hasCache := 0.0, false
	for i, x := range v {
		switch r.columns[i] {
		case "r":
			into.Put(sample.ProcsRunning, host, x)
		case "b":
			into.Put(sample.ProcsBlocked, host, x)
		case "free":
			into.Put(sample.MemFree, host, x*r.unit)
		case "buff", "cache":
			cache, hasCache = cache+x*r.unit, true
		case "si":
			into.Put(sample.VMSwapIn, host, x*r.unit/page*r.every)
		case "so":
			into.Put(sample.VMSwapOut, host, x*r.unit/page*r.every)
		case "bi":
			into.Put(sample.VMPageIn, host, x*1024*r.every)
		case "bo":
			into.Put(sample.VMPageOut, host, x*1024*r.every)
		case "us":
			into.Put(sample.CPUUser, host, x/100*r.every)
		case "sy":
			into.Put(sample.CPUSystem, host, x/100*r.every)
		case "id":
			into.Put(sample.CPUIdle, host, x/100*r.every)
		case "wa":
			into.Put(sample.CPUIOWait, host, x/100*r.every)
		case "st":
			into.Put(sample.CPUSteal, host, x/100*r.every)
		}
	}
	if hasCache {
		into.Put(sample.MemCache, host, cache)
	}
	into.Tick(r.every)
	r.rows++
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	switch {
	case r.rows == 0 && r.held != nil:
		into.Note("the only row of vmstat is the mean since boot, not what happens now: vmstat 1 5 shows that")
		r.row(r.held, r.heldAt, into)
	case r.rows > 0:
		into.Note("the first row of vmstat is the mean since boot and was left out")
		if !r.known && r.rows > 1 {
			into.Note("the interval of vmstat is not in the text: 1 s is assumed")
		}
	}
}
