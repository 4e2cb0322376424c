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

// look is one kind of pressure: of which resource, on some threads or on all.
type look struct {
	metric sample.Metric
	class  string
}

type reader struct {
	class string
	order []string         // of the files that are still to come
	lost  int              // lines of which file is not known
	line  int              // the newest one
	seen  map[look]bool    // in this interval
	last  map[look]float64 // the newest of each
	ticks int
}

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	r := &reader{seen: map[look]bool{}, last: map[look]float64{}}
	above := strings.Split(strings.TrimRight(before, "\n"), "\n")
	for _, line := range above[max(0, len(above)-near):] {
		r.names(line)
	}
	return r
}

// near is how many lines above an output its files may be named.
const near = 4

// directory is where the files are.
const directory = "/proc/pressure/"

// names takes the files that a line names: they follow in that order. Without
// one it is false.
func (r *reader) names(line string) bool {
	var all []string
	_, rest, _ := strings.Cut(line, directory)
	for ; rest != ""; _, rest, _ = strings.Cut(rest, directory) {
		all = append(all, files(rest)...)
	}
	switch len(all) {
	case 0:
		return false
	case 1:
		r.class, r.order = all[0], nil
	default:
		r.class, r.order = "", all
	}
	return true
}

// files are those that the rest of a path stands for: io, * or {cpu,io}.
func files(rest string) []string {
	if strings.HasPrefix(rest, "*") {
		return []string{"cpu", "io", "irq", "memory"}
	}
	list := []string{rest}
	if inner, _, ok := strings.Cut(strings.TrimPrefix(rest, "{"), "}"); ok && strings.HasPrefix(rest, "{") {
		list = strings.Split(inner, ",")
	}
	var out []string
	for _, name := range list {
		for _, c := range []string{"cpu", "io", "memory", "irq"} {
			if strings.HasPrefix(name, c) {
				out = append(out, c)
			}
		}
	}
	return out
}

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, into lines.Values) (lines.Use, error) {
	text := strings.TrimSpace(l.Text)
	if text == "" {
		if r.line > 0 {
			r.line = l.N
		}
		return lines.Skipped, nil
	}
	if Find(text) < 0 {
		if !r.names(text) { // head(1) names files, and so does the next command
			return lines.Foreign, nil
		}
		r.line = l.N
		return lines.Skipped, nil
	}
	own := strings.Contains(text[:begin(text)], directory) // grep names the file in every line
	if !own && r.line > 0 && l.N > r.line+1 {
		return lines.Another, nil // what stands between may name another file
	}
	said, ok := procfile.ParsePressureLine([]byte(text[begin(text):]))
	if !ok || said.Avg10 == nil {
		return lines.Foreign, nil
	}
	r.line = l.N
	if own {
		r.names(text[:begin(text)])
	}
	v, ok := lines.Number(string(said.Avg10))
	if !ok || v > 100 {
		return lines.Broken, fmt.Errorf("avg10 is %.20q, not a percentage", said.Avg10)
	}
	x := r.of(said.Full)
	if x.class == "" {
		r.lost++
		return lines.Used, nil
	}
	r.put(x, v/100*window, l.N, into)
	return lines.Used, nil
}

// of is what the next line shows: the files follow in their order.
func (r *reader) of(full bool) look {
	x := look{sample.PSISome, r.class}
	if full {
		x.metric = sample.PSIFull
	}
	if len(r.order) == 0 {
		return x
	}
	switch {
	case full && r.order[0] == "irq" && r.seen[x]: // it has no "some"
		r.class, r.order = r.order[0], r.order[1:]
	case !full && r.order[0] == "irq" && len(r.order) > 1:
		r.class, r.order = r.order[1], r.order[2:]
	case !full:
		r.class, r.order = r.order[0], r.order[1:]
	}
	x.class = r.class
	return x
}

// put hands over the time of one line. What is looked at again begins an interval.
func (r *reader) put(x look, v float64, n int, into lines.Values) {
	if r.seen[x] {
		r.tick(into)
	}
	_, known := r.last[x]
	r.seen[x], r.last[x] = true, v
	if !known {
		v *= float64(1 + r.ticks) // nobody looked before: as now
	}
	into.At(n)
	into.Put(x.metric, sample.Entity{Class: x.class}, v)
}

// tick ends an interval. What nobody looked at in it is as it was.
func (r *reader) tick(into lines.Values) {
	for x, v := range r.last {
		if !r.seen[x] {
			into.Put(x.metric, sample.Entity{Class: x.class}, v)
		}
		r.seen[x] = false
	}
	into.Tick(window)
	r.ticks++
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	if r.lost > 0 {
		into.Note(sample.Counted(r.lost, "line") + " of pressure without their resource: paste grep . /proc/pressure/*")
	}
	if len(r.last) > 0 {
		r.tick(into)
	}
}
