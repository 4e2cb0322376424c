package strace

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// file is the sums of a process and a file.
func (r *reader) file(pid int, name string) *sums {
	h := fnv.New64a()
	h.Write([]byte(name))
	e := sample.Entity{PID: pid, File: sample.FileID{Dev: 5, Ino: h.Sum64() | 1}}
	s := r.files[e]
	if s == nil {
		s = &sums{}
		if len(r.files) < maxFiles {
			r.files[e], r.paths[e.File] = s, name
		}
	}
	return s
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	if r.summary != nil {
		r.summary.close(into)
		return
	}
	if r.rows == 0 {
		return
	}
	seconds := r.last - r.first
	known := r.started && seconds > 0
	switch {
	case known && r.timeds > 0 && r.unknown.seconds >= openShare*seconds && r.waited() < openShare*seconds:
		into.Note("whether anybody waits for I/O is unknown: most of the time in reads and writes is on descriptors without a known file (use -y)")
	case known && r.timeds > 0:
		r.put(into)
		into.Tick(seconds)
	case known:
		into.Note("strace shows no times of calls (use -T), so not how long they waited")
	default:
		into.Note("strace shows no times of day (use -tt), so not which share of the time the calls take")
	}
	into.Note(fmt.Sprintf("system calls by their time: %s", top(r.names)))
	if r.unknown.n > 0 {
		into.Note(fmt.Sprintf("%.0f reads and writes of %.3g s together are of descriptors that were opened before the trace or by a call that is not in it: files, pipes, sockets or terminals; they do not count as I/O", r.unknown.n, r.unknown.seconds))
	}
	if r.missing > 0 && r.timeds > 0 {
		into.Note(sample.Counted(r.missing, "call") + " without a time")
	}
	if r.started {
		r.stuck(into)
	}
	if r.lost > 0 {
		into.Note(sample.Counted(r.lost, "call") + " began before the text: the file is not known")
	}
	into.Note("strace stops a program at every call, so short calls take longer and their rate is lower than without it")
}

// openShare is the share of the time that, spent in calls of which it is not
// known whether they are I/O, leaves open whether anybody waits.
const openShare = 0.1

// waited is the time in calls that are I/O.
func (r *reader) waited() float64 {
	total := 0.0
	for _, by := range r.by {
		for _, s := range by {
			total += s.seconds
		}
	}
	return total
}

// stuck names the calls that are not over when the text ends.
func (r *reader) stuck(into lines.Values) {
	const most = 4
	pids := slices.SortedFunc(maps.Keys(r.pending), func(a, b int) int {
		return cmp.Or(cmp.Compare(r.pending[a].at, r.pending[b].at), a-b)
	})
	for _, pid := range pids[:min(most, len(pids))] {
		c := r.pending[pid]
		into.Note(fmt.Sprintf("process %d is in %s for %.3g s when the text ends", pid, c.name, max(0, r.last-c.at)))
	}
}

// put hands over what processes did with files.
func (r *reader) put(into lines.Values) {
	for pid, by := range r.by {
		e := sample.Entity{PID: pid}
		for class, s := range by {
			switch class {
			case "read":
				into.Put(sample.ProcReadCalls, e, s.n)
				into.Put(sample.ProcReadChars, e, s.bytes)
			case "write":
				into.Put(sample.ProcWriteCalls, e, s.n)
				into.Put(sample.ProcWriteChars, e, s.bytes)
			case "sync":
				into.Put(sample.WaitIO, sample.Entity{PID: pid, Class: class}, s.seconds)
				continue
			}
			into.Put(sample.CallTime, sample.Entity{PID: pid, Class: class}, s.seconds)
		}
	}
	for e, s := range r.files {
		into.File(e.File, sample.File{Path: r.paths[e.File], Size: -1, Partial: true})
		into.Put(sample.CacheWait, e, s.slowTime)
		into.Put(sample.CacheSlow, e, s.slow)
		into.Put(sample.CacheLongest, e, s.longest)
	}
}

// top says which calls take most of the time.
func top(names map[string]*sums) string {
	const most = 5
	var out []string
	order := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(names[b].seconds, names[a].seconds), cmp.Compare(names[b].n, names[a].n), strings.Compare(a, b))
	})
	for _, n := range order[:min(most, len(order))] {
		s := names[n]
		out = append(out, fmt.Sprintf("%s %.3g s in %.0f (longest %.3g ms)", n, s.seconds, s.n, 1e3*s.longest))
	}
	return strings.Join(out, ", ")
}

// summary is the table of -c.
type summary struct {
	rows  int
	calls float64
	total float64
	top   []string // the first rows: it is sorted by time
	ended bool
}

// line reads a row of it: "72.62 0.206642 2583 80 40 wait4".
func (s *summary) line(text string) (lines.Use, error) {
	f := strings.Fields(text)
	if s.ended {
		return lines.Foreign, nil
	}
	if strings.Trim(text, "- ") == "" {
		return lines.Skipped, nil
	}
	v := lines.Numbers(f)
	if len(v) < 2 {
		return lines.Foreign, nil
	}
	name := f[len(f)-1]
	if name == "total" {
		s.ended = true
		return lines.Skipped, nil
	}
	if len(v) < 4 || len(v) != len(f)-1 || !isName(name) {
		return lines.Broken, fmt.Errorf("%d figures and %.20q are not a row of the summary", len(v), name)
	}
	s.rows++
	s.total += v[1]
	s.calls += v[3]
	if len(s.top) < 5 {
		s.top = append(s.top, fmt.Sprintf("%s %.3g s in %.0f", name, v[1], v[3]))
	}
	return lines.Used, nil
}

func (s *summary) close(into lines.Values) {
	if s.rows == 0 {
		return
	}
	into.Note(fmt.Sprintf("strace -c: %.0f system calls, %.3g s together; most time: %s", s.calls, s.total, strings.Join(s.top, ", ")))
	into.Note("the seconds of strace -c are processor time unless it ran with -w, without waiting for I/O: use strace -f -T -tt")
}
