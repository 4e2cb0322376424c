// Package procvmstat reads /proc/vmstat out of a text, whole or a few lines of
// it. Its counters need two looks.
package procvmstat

import (
	"fmt"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// counter is one line that is judged.
type counter struct {
	metric sample.Metric
	unit   float64
	gauge  bool
}

const page = 4096

// counterOf is what a line means; ok is false for names that are not judged.
func counterOf(name string) (c counter, ok bool) {
	switch name {
	case "pgpgin":
		return counter{sample.VMPageIn, 1024, false}, true
	case "pgpgout":
		return counter{sample.VMPageOut, 1024, false}, true
	case "pswpin":
		return counter{sample.VMSwapIn, 1, false}, true
	case "pswpout":
		return counter{sample.VMSwapOut, 1, false}, true
	case "pgmajfault":
		return counter{sample.VMMajorFault, 1, false}, true
	case "workingset_refault_file", "workingset_refault":
		return counter{sample.VMRefaultFile, 1, false}, true
	case "workingset_refault_anon":
		return counter{sample.VMRefaultAnon, 1, false}, true
	case "pgscan_direct":
		return counter{sample.VMScanDirect, 1, false}, true
	case "pgsteal_direct":
		return counter{sample.VMStealDirect, 1, false}, true
	case "pgscan_kswapd":
		return counter{sample.VMScanKswapd, 1, false}, true
	case "pgsteal_kswapd":
		return counter{sample.VMStealKswapd, 1, false}, true
	case "nr_dirtied":
		return counter{sample.VMDirtied, 1, false}, true
	case "nr_written":
		return counter{sample.VMWritten, 1, false}, true
	case "nr_dirty_threshold":
		return counter{sample.VMDirtyLimit, page, true}, true
	case "nr_dirty_background_threshold":
		return counter{sample.VMDirtyBg, page, true}, true
	case "nr_dirty":
		return counter{sample.MemDirty, page, true}, true
	case "nr_writeback":
		return counter{sample.MemWriteback, page, true}, true
	case "nr_free_pages":
		return counter{sample.MemFree, page, true}, true
	}
	return counter{}, false
}

// named tells lines of the file from prose: a name as the kernel writes them, and
// a whole number. Newer kernels have names that are not known here.
func named(line string) bool {
	name, number, ok := strings.Cut(strings.TrimSpace(line), " ")
	if !ok || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return false
	}
	return number != "" && strings.Trim(number, "0123456789") == ""
}

// Find says where in a line the file begins.
func Find(line string) int {
	if name, _, ok := entry(line); ok {
		if _, ok := counterOf(name); ok {
			return 0
		}
	}
	return -1
}

// entry reads a line: a name and a number.
func entry(line string) (name string, v float64, ok bool) {
	name, number, ok := strings.Cut(strings.TrimSpace(line), " ")
	if !ok || name == "" || name[0] < 'a' || name[0] > 'z' {
		return "", 0, false
	}
	v, ok = lines.Number(strings.TrimSpace(number))
	return name, v, ok
}

type reader struct {
	shots lines.Snapshots
	pause float64
}

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader { return &reader{pause: lines.Pause(before)} }

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, _ lines.Values) (lines.Use, error) {
	if strings.TrimSpace(l.Text) == "" {
		return lines.Skipped, nil
	}
	name, v, ok := entry(l.Text)
	if !ok || !named(l.Text) {
		return lines.Foreign, nil
	}
	if _, ok := counterOf(name); !ok {
		return lines.Skipped, nil
	}
	r.shots.Add(name, v, l.N)
	return lines.Used, nil
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	s := &r.shots
	for name, v := range s.Last {
		c, _ := counterOf(name)
		if c.gauge {
			into.At(s.LastLine)
			into.Put(c.metric, sample.Entity{}, v*c.unit)
			continue
		}
		if d, ok := s.Rise(name); ok {
			into.At(s.FirstLine)
			into.Put(c.metric, sample.Entity{}, d*c.unit)
			into.At(s.LastLine)
			into.Put(c.metric, sample.Entity{}, 0)
		}
	}
	if s.Taken < 2 {
		into.State()
		into.Note("/proc/vmstat is in the text once: its counters since boot say nothing of now; a second look some seconds later does")
		return
	}
	seconds := r.pause
	if seconds == 0 {
		seconds = 10
		into.Note("the time between the looks at /proc/vmstat is not in the text: 10 s is assumed for rates; shares do not depend on it")
	}
	if s.Taken > 2 {
		seconds *= float64(s.Taken - 1)
		into.Note(fmt.Sprintf("of %d looks at /proc/vmstat the first and the last are compared", s.Taken))
	}
	into.Tick(seconds)
}
