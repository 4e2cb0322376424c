// Package mdstat reads /proc/mdstat: which arrays lack a disk, and which are
// being rebuilt or checked, which takes the disks from who else wants them.
package mdstat

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Bounds on what is looked at.
const (
	maxArrays = 64
	maxLine   = 4096
)

var (
	array = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(md[\w-]{1,32}) ?: (?:in)?active (?:\([\w-]+\) )*(\w*).*\[\d+\]`)
	})
	member = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([\w!-]{2,64})\[\d+\]((?:\([A-Z]\))*)`) })
	state  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`blocks .*\[(\d+)/(\d+)\] \[[U_]+\]`) })
	course = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(resync|recovery|reshape|check|repair) *= *([\d.]+)% .*speed=(\d+)K/sec`)
	})
)

// Find says where in a line the file begins: at its first line, or at an array.
func Find(line string) int {
	line = line[:min(len(line), maxLine)]
	if at := strings.Index(line, "Personalities : ["); at >= 0 {
		return at
	}
	if strings.Contains(line, "active ") {
		if m := array().FindStringSubmatchIndex(line); m != nil {
			return m[2]
		}
	}
	return -1
}

type reader struct {
	name   string // of the array that the next lines are of
	arrays int
	said   []string
	found  map[string]*found
	order  []string
}

// found is what is told of one array.
type found struct {
	line, members, missing int
	kind, action           string
	done, speed            float64
	disks                  []string
}

// New makes a reader.
func New(string) lines.Reader { return &reader{found: map[string]*found{}} }

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, _ lines.Values) (lines.Use, error) {
	text := strings.TrimSpace(l.Text[:min(len(l.Text), maxLine)])
	if strings.HasPrefix(text, "Personalities :") && r.arrays > 0 {
		return lines.Another, nil
	}
	if m := array().FindStringSubmatch(text); m != nil {
		if r.arrays++; r.arrays > maxArrays {
			return lines.Skipped, nil
		}
		r.name = m[1]
		r.begin(m[2], text, l.N)
		if n := strings.Count(text, "(F)"); n > 0 {
			r.said = append(r.said, fmt.Sprintf("%s of array %s failed and left it", sample.Counted(n, "disk"), r.name))
		}
		return lines.Used, nil
	}
	for _, part := range []string{"Personalities :", "unused devices:", "bitmap:", "read_ahead "} {
		if strings.HasPrefix(text, part) {
			return lines.Skipped, nil
		}
	}
	switch {
	case text == "":
		return lines.Skipped, nil
	case r.name == "":
		return lines.Foreign, nil
	}
	if m := state().FindStringSubmatch(text); m != nil {
		want, _ := lines.Number(m[1])
		have, _ := lines.Number(m[2])
		f := r.found[r.name]
		f.members, f.missing = int(want), max(0, int(want-have))
		if have < want {
			r.said = append(r.said, fmt.Sprintf("array %s works with %.0f of %.0f disks: the data of the missing ones is read or reconstructed from the others", r.name, have, want))
		}
		return lines.Used, nil
	}
	if m := course().FindStringSubmatch(text); m != nil {
		share, ok := lines.Number(m[2])
		speed, _ := lines.Number(m[3])
		if !ok || share > 100 {
			return lines.Broken, fmt.Errorf("%s is at %.20q %%", m[1], m[2])
		}
		f := r.found[r.name]
		f.line, f.action, f.done, f.speed = l.N, m[1], share/100, speed*1024
		r.said = append(r.said, fmt.Sprintf("a %s of array %s is running (%.4g %%, %.3g MB/s): it competes with other I/O; dev.raid.speed_limit_max limits it", m[1], r.name, share, speed*1024/1e6))
		return lines.Used, nil
	}
	for _, part := range []string{" blocks", "=DELAYED", "=PENDING"} {
		if strings.Contains(text, part) {
			return lines.Skipped, nil
		}
	}
	return lines.Foreign, nil
}

// begin opens an array; one that is shown again is known already, and is now so.
func (r *reader) begin(kind, text string, line int) {
	if r.found[r.name] == nil {
		r.order = append(r.order, r.name)
	}
	f := &found{line: line, kind: kind}
	if strings.Contains(kind, "[") || kind == "" {
		f.kind = "md"
	}
	for _, m := range member().FindAllStringSubmatch(text, 128) {
		if !strings.Contains(m[2], "(S)") && !strings.Contains(m[2], "(F)") {
			f.disks = append(f.disks, lines.DiskOf(m[1]))
		}
	}
	r.found[r.name] = f
}

// put hands an array over as sysfs would have told it.
func (r *reader) put(into lines.Values, name string) {
	f := r.found[name]
	if f.members == 0 {
		return
	}
	e := sample.Entity{Device: name}
	into.At(f.line)
	into.Put(sample.RaidMembers, e, float64(f.members))
	into.Put(sample.RaidDegraded, e, float64(f.missing))
	into.Put(sample.DeviceKind, sample.Entity{Device: name, Class: f.kind}, 1)
	for _, disk := range f.disks {
		into.Put(sample.DeviceOn, sample.Entity{Device: name, Class: disk}, 1)
	}
	if f.action == "" {
		return
	}
	if f.action == "recovery" { // what sysfs calls it
		f.action = "recover"
	}
	into.Put(sample.RaidAction, sample.Entity{Device: name, Class: f.action}, 1)
	into.Put(sample.RaidDone, e, f.done)
	into.Put(sample.RaidSpeed, e, f.speed)
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	into.State()
	for _, name := range r.order {
		r.put(into, name)
	}
	for _, s := range r.said {
		into.Note(s)
	}
	if len(r.said) == 0 && r.arrays > 0 {
		into.Note(sample.Counted(min(r.arrays, maxArrays), "array") + " of md, healthy and idle")
	}
}
