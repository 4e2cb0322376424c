// Package diskstats reads /proc/diskstats out of a text. Its counters need two
// looks.
package diskstats

import (
	"slices"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/procfile"
	"iocause/internal/sample"
)

// Find says where in a line the file begins.
func Find(line string) int {
	if len(line) > 20 && (line[0] == ' ' || line[0] >= '0' && line[0] <= '9') {
		if _, ok := entry(line); ok {
			return 0
		}
	}
	return -1
}

// entry reads a line: two device numbers, a name, and figures.
func entry(line string) (procfile.Disk, bool) {
	f := strings.Fields(line)
	if len(f) < 4 || f[2][0] < 'a' || f[2][0] > 'z' {
		return procfile.Disk{}, false
	}
	d, err := procfile.ParseDisk([]byte(line))
	return d, err == nil && d.Fields > 4
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
	d, ok := entry(l.Text)
	if !ok {
		return lines.Foreign, nil
	}
	if _, seen := r.shots.First[key(d.Name, sample.DiskReads)]; !seen {
		if len(r.names) >= 256 {
			return lines.Skipped, nil
		}
		r.names = append(r.names, d.Name)
	}
	for _, c := range d.Counters() {
		r.shots.Add(key(d.Name, c.Metric), float64(c.Value), l.N)
	}
	return lines.Used, nil
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	s := &r.shots
	if s.Taken < 2 {
		into.State()
		into.Note("/proc/diskstats is in the text once: that shows only totals since boot; paste it twice, some seconds apart")
		return
	}
	for _, name := range r.names {
		if r.partition(name) {
			continue
		}
		for _, c := range new(procfile.Disk).Counters() {
			if d, ok := s.Rise(key(name, c.Metric)); ok {
				into.At(s.FirstLine)
				into.Put(c.Metric, sample.Entity{Device: name}, d*c.Unit)
				into.At(s.LastLine)
				into.Put(c.Metric, sample.Entity{Device: name}, 0)
			}
		}
	}
	seconds := r.pause
	if seconds == 0 {
		seconds = 10
		into.Note("the time between the snapshots of /proc/diskstats is not in the text: 10 s is assumed; latencies do not depend on it, the number in flight does")
	}
	into.Tick(seconds * float64(s.Taken-1))
}

// key is a disk's counter among the snapshots.
func key(disk string, m sample.Metric) string { return disk + " " + string(m) }

// partition tells whether another name is the disk that this is a part of.
func (r *reader) partition(name string) bool {
	return slices.ContainsFunc(r.names, func(disk string) bool { return procfile.PartitionOf(name, disk) })
}
