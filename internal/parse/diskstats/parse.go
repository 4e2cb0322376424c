// Package diskstats reads /proc/diskstats out of a text. Its counters need two
// looks.
package diskstats

import (
	"fmt"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

const (
	sector = 512
	known  = 11 // figures that all kernels have
)

// Find says where in a line the file begins.
func Find(line string) int {
	if len(line) > 20 && (line[0] == ' ' || line[0] >= '0' && line[0] <= '9') {
		if _, _, ok := entry(line); ok {
			return 0
		}
	}
	return -1
}

// entry reads a line: two device numbers, a name, and figures.
func entry(line string) (name string, v []float64, ok bool) {
	f := strings.Fields(line)
	if len(f) < 3+known || len(f) > 3+20 {
		return "", nil, false
	}
	if len(lines.Numbers(f[:2])) != 2 || f[2][0] < 'a' || f[2][0] > 'z' {
		return "", nil, false
	}
	v = lines.Numbers(f[3:])
	return f[2], v, len(v) == len(f)-3
}

type reader struct {
	shots lines.Snapshots
	names []string
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
	if !ok {
		return lines.Foreign, nil
	}
	if _, seen := r.shots.First[name+" 0"]; !seen {
		if len(r.names) >= 256 {
			return lines.Skipped, nil
		}
		r.names = append(r.names, name)
	}
	for i, x := range v[:known] {
		r.shots.Add(fmt.Sprintf("%s %d", name, i), x, l.N)
	}
	return lines.Used, nil
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	s := &r.shots
	if s.Taken < 2 {
		into.State()
		into.Note("/proc/diskstats is in the text once: its counters since boot say nothing of now; a second look some seconds later does")
		return
	}
	for _, name := range r.names {
		if r.partition(name) {
			continue
		}
		for i, c := range []struct {
			metric sample.Metric
			unit   float64
		}{
			{sample.DiskReads, 1}, {}, {sample.DiskReadBytes, sector}, {sample.DiskReadTime, 1e-3},
			{sample.DiskWrites, 1}, {}, {sample.DiskWriteBytes, sector}, {sample.DiskWriteTime, 1e-3},
			{}, {sample.DiskBusy, 1e-3}, {sample.DiskWeighted, 1e-3},
		} {
			if d, ok := s.Rise(fmt.Sprintf("%s %d", name, i)); ok && c.metric != "" {
				into.At(s.FirstLine)
				into.Put(c.metric, sample.Entity{Device: name}, d*c.unit)
				into.At(s.LastLine)
				into.Put(c.metric, sample.Entity{Device: name}, 0)
			}
		}
	}
	seconds := r.pause
	if seconds == 0 {
		seconds = 10
		into.Note("the time between the looks at /proc/diskstats is not in the text: 10 s is assumed; latencies do not depend on it, the number in flight does")
	}
	into.Tick(seconds * float64(s.Taken-1))
}

// partition tells whether another name is the disk that this is a part of.
func (r *reader) partition(name string) bool {
	for _, disk := range r.names {
		rest, ok := strings.CutPrefix(name, disk)
		if !ok || rest == "" {
			continue
		}
		if last := disk[len(disk)-1]; last >= '0' && last <= '9' {
			if rest, ok = strings.CutPrefix(rest, "p"); !ok {
				continue
			}
		}
		if _, ok := lines.Number(rest); ok {
			return true
		}
	}
	return false
}
