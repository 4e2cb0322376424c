// Package btt reads the report that btt(1) makes of a trace of blktrace: how
// long requests took on their way, and how busy devices were.
package btt

import (
	"fmt"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Find says where in a line the report begins: at the title of one of the
// sections that are read.
func Find(line string) int {
	at := strings.Index(line, "====================")
	if at >= 0 && sectionOf(line[at:]) != none {
		return at
	}
	return -1
}

// section is a part of the report.
type section int

const (
	none section = iota
	steps
	active
	depth
	other
)

// sectionOf reads a title: "==================== All Devices ====================".
func sectionOf(text string) section {
	if !strings.HasPrefix(text, "=====") || !strings.HasSuffix(text, "=====") {
		return none
	}
	switch strings.Trim(text, "= ") {
	case "All Devices":
		return steps
	case "I/O Active Period Information":
		return active
	case "Active Requests At Q Information":
		return depth
	case "Device Overhead", "Device Merge Information", "Device Q2Q Seek Information", "Device D2D Seek Information", "Plug Information",
		"Per Process", "Per Device", "Device Q2Q Seek Info":
		return other
	}
	return none
}

// device is what is known of one, in seconds.
type device struct {
	name       string
	live, busy float64 // requests, time with some under way
	seconds    float64
	queue      float64 // requests under way when another came
	deep       bool    // queue is known
	line       int
}

// step is one row of "All Devices": the way from one event to another.
type step struct{ mean, longest, n float64 }

// Bounds on the devices that are told apart, and on those in notes.
const (
	maxDevices = 4096
	shown      = 4
)

type reader struct {
	at      section
	seen    map[section]bool
	steps   map[string]step
	line    int // of the last of them
	devices []device
	by      map[string]int
	full    bool
}

// New makes a reader.
func New(string) lines.Reader {
	return &reader{seen: map[section]bool{}, steps: map[string]step{}, by: map[string]int{}}
}

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, into lines.Values) (lines.Use, error) {
	text := strings.TrimSpace(l.Text)
	if s := sectionOf(text); s != none {
		if s != other && r.seen[s] {
			return lines.Another, nil
		}
		r.at = s
		r.seen[s] = true
		return lines.Skipped, nil
	}
	switch {
	case text == "", strings.Trim(text, "-| ") == "", text[0] == '#':
		return lines.Skipped, nil
	case r.at == steps:
		return r.step(text, l.N)
	case strings.HasPrefix(text, "DEV |"), strings.HasPrefix(text, "Overall |"), strings.HasPrefix(text, "Average |"), strings.HasPrefix(text, "Total Sys |"):
		return lines.Skipped, nil
	case text[0] == '(' && strings.Contains(text, "|"):
		if r.at == other {
			return lines.Skipped, nil
		}
		return r.row(text, l.N)
	}
	if v := lines.Numbers(strings.Fields(text)); len(v) > 1 && len(v) == len(strings.Fields(text)) || strings.Trim(text, "= ") == "" {
		return lines.Skipped, nil // coordinates of plots
	}
	return lines.Foreign, nil
}

// step reads "D2C 0.000015543 0.000027567 0.000184946 100".
func (r *reader) step(text string, n int) (lines.Use, error) {
	f := strings.Fields(text)
	if f[0] == "ALL" && len(f) > 1 && f[1] == "MIN" {
		return lines.Skipped, nil
	}
	if len(f[0]) != 3 || f[0][1] != '2' {
		return lines.Foreign, nil
	}
	v := lines.Numbers(f[1:])
	if len(v) != 4 || v[1] > 1e9 || v[2] > 1e9 || v[3] > 1e15 {
		return lines.Broken, fmt.Errorf("%d of the four figures of %s: the line is cut off", len(v), f[0])
	}
	r.steps[strings.Clone(f[0])] = step{mean: v[1], longest: v[2], n: v[3]}
	r.line = n
	return lines.Used, nil
}

// row reads "(  7,  0) |  100  0.000027567  0.000116809  19.25".
func (r *reader) row(text string, n int) (lines.Use, error) {
	head, rest, _ := strings.Cut(text, "|")
	v := lines.Numbers(strings.Fields(rest))
	name := nameOf(head)
	want := 4
	if r.at == depth {
		want = 1
	}
	if name == "" || len(v) < want || v[0] > 1e12 || want == 4 && (v[1] > 1e6 || v[2] > 1e6) {
		return lines.Broken, fmt.Errorf("no device and its %d figures in %.40q", want, text)
	}
	i, known := r.by[name]
	if !known {
		if len(r.devices) >= maxDevices {
			r.full = true
			return lines.Skipped, nil
		}
		i = len(r.devices)
		r.by[name] = i
		r.devices = append(r.devices, device{name: name, line: n})
	}
	d := &r.devices[i]
	if r.at == depth {
		d.queue, d.deep = v[0], true
		return lines.Used, nil
	}
	d.live, d.busy, d.seconds, d.line = v[0], v[0]*v[1], v[0]*(v[1]+v[2]), n
	return lines.Used, nil
}

// nameOf reads "(  8, 16)" as the kernel's name where the number tells it.
func nameOf(s string) string {
	s = strings.Trim(strings.TrimSpace(s), "()")
	major, minor, ok := strings.Cut(s, ",")
	a, ok1 := lines.Number(strings.TrimSpace(major))
	b, ok2 := lines.Number(strings.TrimSpace(minor))
	if !ok || !ok1 || !ok2 || a > 1<<20 || b > 1<<20 {
		return ""
	}
	const disks, partitions = 8, 16
	if a == disks && int(b)%partitions == 0 && b < 26*partitions {
		return "sd" + string(rune('a'+int(b)/partitions))
	}
	return fmt.Sprintf("%.0f:%.0f", a, b)
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	seconds := 0.0
	for _, d := range r.devices {
		seconds = max(seconds, d.seconds)
	}
	if gap := r.steps["Q2Q"]; seconds == 0 {
		seconds = gap.mean * gap.n
	}
	whole := r.steps["Q2C"]
	if len(r.devices) == 1 && whole.n > 0 {
		into.At(r.line)
		into.Put(sample.DiskWeighted, sample.Entity{Device: r.devices[0].name}, whole.mean*whole.n)
	}
	for _, d := range r.devices {
		if d.seconds > 0 {
			into.At(d.line)
			into.Put(sample.DiskBusy, sample.Entity{Device: d.name}, d.busy)
		}
	}
	if seconds > 0 && seconds < 1e9 {
		into.Tick(seconds)
	}
	if whole.n > 0 {
		into.Note(fmt.Sprintf("btt: %s took %.3g ms each (at most %.3g ms), of which the device had them for %.3g ms (at most %.3g ms)",
			sample.Counted(whole.n, "request"), 1e3*whole.mean, 1e3*whole.longest, 1e3*r.steps["D2C"].mean, 1e3*r.steps["D2C"].longest))
		into.Note("btt does not separate reads from writes or processes: use blkparse of the same trace")
	}
	for i, d := range r.devices {
		if d.deep && i < shown {
			into.Note(fmt.Sprintf("btt: %.3g requests were in flight on %s when another arrived", d.queue, d.name))
		}
	}
	if r.full {
		into.Note(fmt.Sprintf("btt: devices beyond %d are left out", maxDevices))
	}
}
