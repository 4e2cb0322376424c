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
	array  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(md[\w-]{1,32}) ?: (?:in)?active .*\[\d+\]`) })
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
}

// New makes a reader.
func New(string) lines.Reader { return &reader{} }

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

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	into.State()
	for _, s := range r.said {
		into.Note(s)
	}
	if len(r.said) == 0 && r.arrays > 0 {
		into.Note(sample.Counted(min(r.arrays, maxArrays), "array") + " of md, healthy and idle")
	}
}
