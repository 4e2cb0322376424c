// Package lsof reads what lsof prints: which processes have which files open, and
// what space files hold that have no name any more.
package lsof

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Find says where in a line the list begins: at the names of its columns.
func Find(line string) int {
	f := strings.Fields(line)
	if len(f) >= 8 && f[0] == "COMMAND" && f[1] == "PID" && slices.Contains(f, "FD") && slices.Contains(f, "TYPE") && f[len(f)-1] == "NAME" {
		return strings.Index(line, "COMMAND")
	}
	return -1
}

// maxFiles bounds what is kept.
const maxFiles = 1 << 16

// file is one that is open; a process may have it open several times.
type file struct{ device, node string }

type reader struct {
	links   bool // there is a column for the number of names (+L)
	files   map[file]bool
	deleted map[file]float64 // bytes
	holders map[string]map[file]float64
	comms   map[string]int // open regular files by process
	seen    bool
}

// New makes a reader.
func New(string) lines.Reader {
	return lines.Trim(&reader{files: map[file]bool{}, deleted: map[file]float64{}, holders: map[string]map[file]float64{}, comms: map[string]int{}})
}

// Text implements lines.Trimmed.
func (r *reader) Text(text string, _ lines.Line, _ lines.Values) (lines.Use, error) {
	if Find(text) == 0 {
		if r.seen {
			return lines.Another, nil
		}
		r.seen, r.links = true, slices.Contains(strings.Fields(text), "NLINK")
		return lines.Used, nil
	}
	f := strings.Fields(text)
	if strings.HasPrefix(text, "lsof: WARNING") || strings.HasPrefix(text, "Output information may be incomplete") {
		return lines.Skipped, nil
	}
	if len(f) < 6 {
		return lines.Foreign, nil
	}
	if _, err := strconv.Atoi(f[1]); err != nil {
		return lines.Foreign, nil
	}
	at := slices.Index(f[:min(len(f), 8)], "REG")
	if at < 0 {
		return lines.Skipped, nil // a folder, a socket, a device, ...
	}
	node := at + 3
	if r.links {
		node++
	}
	if len(f) <= node+1 {
		return lines.Broken, fmt.Errorf("%d columns: the line is cut off", len(f))
	}
	size, ok := lines.Number(f[at+2])
	if !ok && !strings.HasPrefix(f[at+2], "0t") { // where it stands in the file, in place of a size
		return lines.Broken, fmt.Errorf("the size is %.20q, not a number", f[at+2])
	}
	if len(r.files) >= maxFiles {
		return lines.Skipped, nil
	}
	id, who := file{f[at+1], f[node]}, fmt.Sprintf("%.32s (%s)", f[0], f[1])
	r.files[id] = true
	r.comms[who]++
	if strings.HasSuffix(text, "(deleted)") || r.links && f[node-1] == "0" {
		r.deleted[id] = size
		if r.holders[who] == nil {
			r.holders[who] = map[file]float64{}
		}
		r.holders[who][id] = size
	}
	return lines.Used, nil
}

// worthSaying is the space, in bytes, that deleted files hold from which on it is said.
const worthSaying = 64 << 20

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	into.State()
	if !r.seen {
		return
	}
	into.Note(fmt.Sprintf("%s open by %s", sample.Counted(len(r.files), "regular file"), sample.Counted(len(r.comms), "process")))
	total := sum(r.deleted)
	if total < worthSaying {
		return
	}
	who := slices.MaxFunc(slices.Sorted(maps.Keys(r.holders)), func(a, b string) int { return cmp.Compare(sum(r.holders[a]), sum(r.holders[b])) })
	into.Note(fmt.Sprintf("%s without a name hold %.3g GB until whoever has them open closes them or ends; %s holds %.3g GB: df counts that space as used, and du does not find it",
		sample.Counted(len(r.deleted), "deleted file"), total/1e9, who, sum(r.holders[who])/1e9))
}

func sum(of map[file]float64) (t float64) {
	for _, size := range of {
		t += size
	}
	return t
}
