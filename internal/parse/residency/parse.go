// Package residency reads what fincore(1), vmtouch(8) and pcstat print: how much of a
// file is in the page cache.
package residency

import (
	"fmt"
	"hash/fnv"
	"math"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

const page = 4096

// Find says where in a line the output begins.
func Find(line string) int {
	if _, at := pcstat(line); at >= 0 {
		return at
	}
	if isFincore(line) || fincoreColumns(line) != nil {
		return len(line) - len(strings.TrimLeft(line, " "))
	}
	if strings.Contains(line, "Resident Pages:") {
		if at := strings.Index(line, "Resident Pages:"); strings.Contains(line[at:], "/") {
			return at
		}
	}
	return -1
}

type reader struct {
	table   bool
	columns []string // of fincore
	object  bool     // of fincore -J
	fields  map[string]string
	sep     string // between the columns of pcstat, "" of the others
	command string
	files   int
}

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	return lines.Trim(&reader{command: lines.Command(before, "vmtouch")})
}

// Text implements lines.Trimmed.
func (r *reader) Text(text string, l lines.Line, into lines.Values) (lines.Use, error) {
	f := strings.Fields(text)
	switch {
	case r.object || isFincore(text):
		return r.fincoreObject(text, l.N, into)
	case fincoreColumns(text) != nil:
		if r.sep != "" {
			return lines.Another, nil
		}
		r.columns = fincoreColumns(text)
		return lines.Used, nil
	case Find(text) == 0 && !strings.HasPrefix(text, "Resident"):
		if r.table || r.files > 0 {
			return lines.Another, nil
		}
		r.sep, _ = pcstat(text)
		r.table = true
		return lines.Used, nil
	case r.sep != "" && Find(text) != 0:
		return r.pcstat(text, l.N, into)
	case r.sep != "":
		return lines.Another, nil
	case strings.HasPrefix(text, "Resident Pages:"):
		return r.vmtouch(strings.TrimPrefix(text, "Resident Pages:"), l.N, into)
	case strings.HasPrefix(text, "Elapsed:"):
		return lines.Skipped, nil
	case r.columns != nil:
		return r.fincore(f, l.N, into)
	}
	return lines.Foreign, nil
}

// vmtouch reads "262144/524288  1G/2G  50%".
func (r *reader) vmtouch(s string, n int, into lines.Values) (lines.Use, error) {
	f := strings.Fields(s)
	if len(f) == 0 {
		return lines.Broken, fmt.Errorf("no pages")
	}
	a, b, _ := strings.Cut(f[0], "/")
	pages, ok1 := lines.Number(a)
	all, ok2 := lines.Number(b)
	if !ok1 || !ok2 || pages > all {
		return lines.Broken, fmt.Errorf("%.20q is not a share of pages", f[0])
	}
	name := "the files of vmtouch"
	if words := strings.Fields(r.command); len(words) > 1 {
		name = words[len(words)-1]
	}
	r.put(name, pages, all*page, n, into)
	return lines.Used, nil
}

func (r *reader) put(name string, pages, size float64, n int, into lines.Values) {
	h := fnv.New64a()
	h.Write([]byte(name))
	id := sample.FileID{Dev: 2, Ino: h.Sum64() | 1}
	into.At(n)
	into.State()
	into.File(id, sample.File{Path: name, Size: int64(min(size, math.MaxInt64/2))})
	into.Put(sample.CacheResident, sample.Entity{File: id}, pages)
	if r.files++; r.files <= 8 && size > 0 {
		into.Note(fmt.Sprintf("%s: %.0f %% of it is in the page cache", name, min(100, 100*pages*page/size)))
	}
}

// Close implements lines.Reader.
func (r *reader) Close(lines.Values) {}
