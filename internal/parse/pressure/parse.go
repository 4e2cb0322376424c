// Package pressure reads the files of /proc/pressure out of a text.
package pressure

import (
	"fmt"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/procfile"
	"iocause/internal/sample"
)

// window is what avg10 looks back on, in seconds.
const window = 10

// Find says where in a line a file begins.
func Find(line string) int {
	if !strings.Contains(line, "avg10=") || !strings.Contains(line, "avg60=") {
		return -1
	}
	if at := begin(line); at >= 0 {
		return strings.LastIndexByte(line[:at], ' ') + 1
	}
	return -1
}

// begin is where a line of the file begins, behind the name of the file that
// grep puts before it; -1 without one.
func begin(line string) int {
	if at := strings.Index(line, "some avg10="); at >= 0 {
		return at
	}
	return strings.Index(line, "full avg10=")
}

type reader struct {
	class string
	order []string // of the files that are still to come
	lost  int      // lines of which file is not known
	any   bool
}

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	r := &reader{class: classIn(before)}
	last := before[strings.LastIndexByte(strings.TrimRight(before, "\n"), '\n')+1:]
	if strings.Contains(last, "/proc/pressure/*") {
		r.class, r.order = "", []string{"cpu", "io", "irq", "memory"}
	}
	return lines.Trim(r)
}

// classIn is the last pressure file that a text names, "" without one.
func classIn(s string) string {
	at := strings.LastIndex(s, "/proc/pressure/")
	if at < 0 || strings.Count(s[at:], "\n") > 3 {
		return ""
	}
	rest := s[at+len("/proc/pressure/"):]
	for _, c := range []string{"cpu", "io", "memory", "irq"} {
		if strings.HasPrefix(rest, c) {
			return c
		}
	}
	return ""
}

// Text implements lines.Trimmed.
func (r *reader) Text(text string, l lines.Line, into lines.Values) (lines.Use, error) {
	if Find(text) < 0 {
		if c := classIn(text); c != "" && strings.HasPrefix(text, "==>") { // head(1) names files
			r.class = c
			return lines.Skipped, nil
		}
		return lines.Foreign, nil
	}
	class := r.class
	if c := classIn(text); c != "" { // grep names the file in every line
		class = c
	}
	said, ok := procfile.ParsePressureLine([]byte(text[begin(text):]))
	if !ok || said.Avg10 == nil {
		return lines.Foreign, nil
	}
	metric := sample.PSISome
	if said.Full {
		metric = sample.PSIFull
	}
	if !said.Full && len(r.order) > 0 {
		class, r.order = r.order[0], r.order[1:]
		if class == "irq" && len(r.order) > 0 { // it has no "some"
			class, r.order = r.order[0], r.order[1:]
		}
		r.class = class
	}
	v, ok := lines.Number(string(said.Avg10))
	if !ok || v > 100 {
		return lines.Broken, fmt.Errorf("avg10 is %.20q, not a percentage", said.Avg10)
	}
	if class == "" {
		r.lost++
		return lines.Used, nil
	}
	r.any = true
	into.At(l.N)
	into.Put(metric, sample.Entity{Class: class}, v/100*window)
	return lines.Used, nil
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	if r.lost > 0 {
		into.Note(sample.Counted(r.lost, "line") + " of pressure without their resource: paste grep . /proc/pressure/*")
	}
	if r.any {
		into.Tick(window)
	}
}
