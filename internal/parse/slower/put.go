package slower

import (
	"fmt"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	if r.rows == 0 {
		return
	}
	seconds := max(r.last-r.first, 1e-3)
	if r.layout.clock {
		seconds = max(seconds, 1)
	}
	for pid, by := range r.procs {
		r.process(sample.Entity{PID: pid}, by, into)
	}
	if r.all {
		into.Process(0, sample.Process{Comm: "all processes"})
		r.process(sample.Entity{}, r.ops, into)
	}
	var most sample.Entity
	for e, s := range r.files {
		into.File(e.File, sample.File{Path: r.names[e.File], Size: -1, Partial: true})
		into.Put(sample.CacheWait, e, s.seconds)
		into.Put(sample.CacheSlow, e, s.slow)
		into.Put(sample.CacheLongest, e, s.longest)
		if m := r.files[most]; m == nil || s.seconds > m.seconds || s.seconds == m.seconds && r.names[e.File] < r.names[most.File] {
			most = e
		}
	}
	into.Tick(seconds)
	r.notes(seconds, most, into)
}

// process hands over what a process did, 0 for all of them. How often it
// called, and for how long, is only known where every access is shown.
func (r *reader) process(e sample.Entity, by map[string]*sums, into lines.Values) {
	waited, slow := 0.0, 0.0
	for kind, s := range by {
		waited, slow = waited+s.seconds, slow+s.slow
		if !r.all || kind != "read" && kind != "write" {
			continue
		}
		calls, chars := sample.ProcReadCalls, sample.ProcReadChars
		if kind == "write" {
			calls, chars = sample.ProcWriteCalls, sample.ProcWriteChars
		}
		into.Put(calls, e, s.n)
		into.Put(chars, e, s.bytes)
		into.Put(sample.CallTime, sample.Entity{PID: e.PID, Class: kind}, s.seconds)
	}
	if e.PID > 0 {
		into.Put(sample.CacheWait, e, waited)
		into.Put(sample.CacheSlow, e, slow)
	}
}

// notes say what the accesses come to.
func (r *reader) notes(seconds float64, most sample.Entity, into lines.Values) {
	var parts []string
	all := sums{}
	for _, kind := range []string{"read", "write", "sync", "open", "getattr"} {
		if s := r.ops[kind]; s != nil {
			parts = append(parts, fmt.Sprintf("%.0f %ss of %.3g ms on average, %.3g ms at most", s.n, kind, 1e3*s.seconds/s.n, 1e3*s.longest))
			all.add(*s)
		}
	}
	what := "accesses to files slower than an unknown limit"
	switch {
	case r.all:
		what = "all accesses to files"
	case r.limit != "":
		what = "accesses to files slower than " + r.limit
	}
	into.Note(fmt.Sprintf("%s, in %.3g s: %s", what, seconds, strings.Join(parts, "; ")))
	if s := r.files[most]; s != nil && all.seconds > 0 {
		into.Note(fmt.Sprintf("%.0f %% of their time is of %s, by process %d", 100*s.seconds/all.seconds, r.names[most.File], most.PID))
	}
	if !r.all {
		into.Note("faster accesses are not in the table: their number and the mean time are unknown")
	}
	into.Note("the time of an access is that of the whole call, with file-system locks and waiting for a processor")
	if r.left > 0 {
		into.Note(fmt.Sprintf("%s of more than %d processes and files in the sums only", sample.Counted(r.left, "access"), maxEntries))
	}
}
