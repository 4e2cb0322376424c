// Package filetop reads what filetop of bcc prints: reads and writes by thread
// and file.
package filetop

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Find says where in a line the table begins: at the names of its columns.
func Find(line string) int {
	if !strings.Contains(line, "READS") {
		return -1
	}
	f := strings.Fields(line)
	if len(f) >= 8 && (f[0] == "TID" || f[0] == "PID") && f[1] == "COMM" && f[2] == "READS" && f[3] == "WRITES" && f[len(f)-1] == "FILE" {
		return strings.Index(line, f[0])
	}
	return -1
}

type reader struct {
	every float64
	said  bool
	rows  int
	begun bool
	bytes map[string]float64 // by file
}

// maxFiles bounds the files that are told apart.
const maxFiles = 4096

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	r := &reader{every: lines.Interval(lines.Command(before, "filetop")), bytes: map[string]float64{}}
	if r.said = r.every > 0; !r.said {
		r.every = 1
	}
	return lines.Trim(r)
}

// Text implements lines.Trimmed.
func (r *reader) Text(text string, l lines.Line, into lines.Values) (lines.Use, error) {
	switch {
	case Find(text) == 0:
		if r.begun {
			into.Tick(r.every)
		}
		r.begun = true
		return lines.Used, nil
	case strings.Contains(text, "loadavg:"):
		return lines.Skipped, nil
	}
	// the command may hold blanks: the figures are found from its end
	f := strings.Fields(text)
	tid, err := strconv.Atoi(f[0])
	if err != nil || tid < 1 || tid > 1<<22 {
		return lines.Foreign, nil
	}
	at := 2
	for at < len(f) && len(lines.Numbers(f[at:])) < 4 {
		at++
	}
	if at+5 >= len(f) {
		return lines.Broken, fmt.Errorf("fewer than four figures and a file: the line is cut off")
	}
	v := lines.Numbers(f[at : at+4])
	e := sample.Entity{PID: tid}
	into.At(l.N)
	into.Process(tid, sample.Process{Comm: strings.Join(f[1:at], " ")})
	into.Put(sample.ProcReadCalls, e, v[0])
	into.Put(sample.ProcWriteCalls, e, v[1])
	into.Put(sample.ProcReadChars, e, v[2]*1024)
	into.Put(sample.ProcWriteChars, e, v[3]*1024)
	name := strings.Join(f[at+5:], " ")
	h := fnv.New64a()
	h.Write([]byte(name))
	into.File(sample.FileID{Dev: 3, Ino: h.Sum64() | 1}, sample.File{Path: name, Size: -1, Partial: true})
	if _, ok := r.bytes[name]; ok || len(r.bytes) < maxFiles {
		r.bytes[name] += v[2] * 1024
	}
	r.rows++
	return lines.Used, nil
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	if r.rows == 0 {
		return
	}
	into.Tick(r.every)
	var names []string
	total := 0.0
	for name, b := range r.bytes {
		names = append(names, name)
		total += b
	}
	slices.SortFunc(names, func(a, b string) int {
		if r.bytes[a] != r.bytes[b] {
			if r.bytes[a] > r.bytes[b] {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	if total > 0 {
		into.Note(fmt.Sprintf("filetop: %.0f %% of the bytes read by calls are of %s, from the cache or a device: fincore shows how much of it is cached", 100*r.bytes[names[0]]/total, names[0]))
	}
	if !r.said {
		into.Note("the interval of filetop is not in the text: 1 s is assumed")
	}
}
