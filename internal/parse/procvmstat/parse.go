// Package procvmstat reads /proc/vmstat out of a text, whole or a few lines of
// it. Its counters need two snapshots.
package procvmstat

import (
	"fmt"
	"slices"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/procfile"
	"iocause/internal/sample"
)

const page = 4096

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
	if name, _, ok := entry(line); ok && procfile.VmstatHas(name) {
		return 0
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
	if !procfile.VmstatHas(name) {
		return lines.Skipped, nil
	}
	r.shots.Add(name, v, l.N)
	return lines.Used, nil
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	s := &r.shots
	first, last := taken(s.First), taken(s.Last)
	into.At(s.LastLine)
	for _, g := range slices.Concat(last.Thresholds(), last.Held()) {
		if g.Value != nil {
			into.Put(g.Metric, sample.Entity{}, float64(*g.Value)*page)
		}
	}
	before := first.Counters(page)
	for i, c := range last.Counters(page) {
		if s.Taken < 2 || i >= len(before) || before[i].Value == nil || c.Value == nil || *c.Value < *before[i].Value {
			continue
		}
		into.At(s.FirstLine)
		into.Put(c.Metric, sample.Entity{}, float64(*c.Value-*before[i].Value)*c.Unit)
		into.At(s.LastLine)
		into.Put(c.Metric, sample.Entity{}, 0)
	}
	if s.Taken < 2 {
		into.State()
		into.Note("/proc/vmstat is in the text once: that shows only totals since boot; paste it twice, some seconds apart")
		return
	}
	seconds := r.pause
	if seconds == 0 {
		seconds = 10
		into.Note("the time between the snapshots of /proc/vmstat is not in the text: 10 s is assumed for rates; shares do not depend on it")
	}
	if s.Taken > 2 {
		seconds *= float64(s.Taken - 1)
		into.Note(fmt.Sprintf("of %d snapshots of /proc/vmstat the first and the last are compared", s.Taken))
	}
	into.Tick(seconds)
}

// taken is a look at the file.
func taken(figures map[string]float64) *procfile.Vmstat {
	v := &procfile.Vmstat{}
	for name, x := range figures {
		v.Set([]byte(name), uint64(x))
	}
	return v
}
