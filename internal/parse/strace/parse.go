// Package strace reads what strace(1) prints: each system call with its time,
// of one or several threads, or the summary of -c.
package strace

import (
	"fmt"
	"path"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Find says where in a line a trace or a summary begins.
func Find(line string) int {
	if at := strings.Index(line, "% time "); at >= 0 && isSummary(line[at:]) {
		return at
	}
	if !strings.Contains(line, " = ") && !strings.HasSuffix(line, " <unfinished ...>") {
		return -1
	}
	if c, ok := parse(line); ok && c.name != "" && (c.lasted || c.timed || c.pid > 0) {
		return len(line) - len(strings.TrimLeft(line, " "))
	}
	return -1
}

// isSummary tells the head of the table of -c.
func isSummary(line string) bool {
	return strings.Join(strings.Fields(line), " ") == "% time seconds usecs/call calls errors syscall"
}

// sums are system calls of one kind.
type sums struct{ n, bytes, seconds, longest, slow, slowTime float64 }

func (s *sums) add(seconds, bytes float64) {
	s.n, s.bytes, s.seconds = s.n+1, s.bytes+bytes, s.seconds+seconds
	s.longest = max(s.longest, seconds)
	if seconds >= slow {
		s.slow, s.slowTime = s.slow+1, s.slowTime+seconds
	}
}

// slow is from when on an access is slow, as in sample.CacheSlow.
const slow = 0.01

// Bounds on what is told apart.
const (
	maxPIDs  = 4096
	maxNames = 1024
	maxFiles = 4096
	maxFDs   = 1 << 16
	day      = 24 * 3600
)

type reader struct {
	rows    int
	summary *summary
	started bool // first is set
	clock   bool
	first   float64 // seconds
	now     float64 // when the newest line began
	last    float64 // when the last call ended
	days    float64
	missing int // finished calls without a time of their own
	timeds  int
	pending map[int]call
	fds     map[int]map[int]string   // by process, of those that were opened in the trace
	opened  int                      // of all of them
	by      map[int]map[string]*sums // by process, by class
	names   map[string]*sums         // by system call
	files   map[sample.Entity]*sums  // by process and file
	paths   map[sample.FileID]string
	unknown sums // reads and writes of descriptors whose file is not known
	lost    int  // calls that began before the trace did
}

// New makes a reader.
func New(string) lines.Reader {
	return lines.Trim(&reader{
		pending: map[int]call{}, fds: map[int]map[int]string{}, by: map[int]map[string]*sums{}, names: map[string]*sums{},
		files: map[sample.Entity]*sums{}, paths: map[sample.FileID]string{},
	})
}

// Text implements lines.Trimmed.
func (r *reader) Text(text string, l lines.Line, into lines.Values) (lines.Use, error) {
	switch {
	case isSummary(text):
		if r.summary != nil {
			return lines.Another, nil
		}
		r.summary = &summary{}
		return lines.Used, nil
	}
	c, ok := parse(text)
	switch {
	case ok && r.summary != nil:
		return lines.Another, nil
	case r.summary != nil:
		return r.summary.line(text)
	case !ok && (c.timed || c.pid > 0) && c.name != "" && isName(c.name):
		return lines.Broken, fmt.Errorf("the call of %s has no result: the line is cut off", c.name)
	case !ok:
		return lines.Foreign, nil
	}
	into.At(l.N)
	r.time(c)
	if c.name == "" {
		return lines.Skipped, nil
	}
	r.rows++
	if c.unfinished {
		if c.at = r.now; len(r.pending) < maxPIDs {
			r.pending[c.pid] = c
		}
		return lines.Used, nil
	}
	if c.resumed {
		begun, known := r.pending[c.pid]
		delete(r.pending, c.pid)
		if !known || begun.name != c.name {
			r.lost++
		} else {
			c.args = begun.args + c.args
		}
	}
	r.call(c, into)
	return lines.Used, nil
}

// time carries the clock on: of the whole trace, since -r counts from line to
// line.
func (r *reader) time(c call) {
	if !c.timed {
		return
	}
	at := c.at
	switch {
	case !r.started:
		if r.started, r.clock = true, c.clock; c.relative {
			at = 0
		}
		r.first, r.now, r.last = at, at, at
	case c.relative:
		at = r.now + c.at
	case c.clock:
		if at+r.days < r.now-day/2 {
			r.days += day
		}
		at += r.days
	}
	r.now = at
	r.last = max(r.last, at)
	if c.lasted && !c.resumed { // what follows may be another thread's
		r.last = max(r.last, min(at+c.took, at+day))
	}
}

// classes are the system calls that move data, or wait until it is kept.
func classOf(name string) string {
	switch name {
	case "read", "readv", "pread64", "preadv", "preadv2":
		return "read"
	case "write", "writev", "pwrite64", "pwritev", "pwritev2":
		return "write"
	case "fsync", "fdatasync", "msync", "sync", "syncfs", "sync_file_range":
		return "sync"
	}
	return ""
}

// call takes a call that is over.
func (r *reader) call(c call, into lines.Values) {
	if c.lasted {
		r.timeds++
	} else {
		r.missing++
	}
	r.follow(c, into)
	if s := entry(r.names, c.name, maxNames); s != nil {
		s.add(c.took, 0)
	}
	class := classOf(c.name)
	if class == "" {
		return
	}
	n, file, ok := descriptor(c.args)
	if ok && file == "" {
		file = r.fds[c.pid][n]
	}
	moved := 0.0
	if class != "sync" {
		word, _, _ := strings.Cut(c.result, " ")
		moved, _ = lines.Number(word)
		moved = min(moved, 1<<31)                              // what the kernel moves at once
		switch positioned := strings.HasPrefix(c.name, "p"); { // pread works on files only
		case file == "" && !positioned:
			r.unknown.add(c.took, moved)
			return
		case file != "" && !onDisk(file):
			return
		}
	}
	if r.by[c.pid] == nil && len(r.by) < maxPIDs {
		r.by[c.pid] = map[string]*sums{}
	}
	if by := r.by[c.pid]; by != nil {
		entry(by, class, maxNames).add(c.took, moved)
	}
	if file != "" {
		r.file(c.pid, file).add(c.took, moved)
	}
}

// entry is the sums under a name; nil when there is no room for another.
func entry(by map[string]*sums, name string, most int) *sums {
	s := by[name]
	if s == nil && len(by) < most {
		s = &sums{}
		by[name] = s
	}
	return s
}

// follow learns which file a descriptor is of, and the name of a program.
func (r *reader) follow(c call, into lines.Values) {
	word, _, _ := strings.Cut(c.result, " ")
	result, shown, ok := descriptor(word)
	switch c.name {
	case "open", "openat", "openat2", "creat":
		if ok {
			if shown == "" {
				shown = quoted(c.args)
			}
			r.set(c.pid, result, shown)
		}
	case "dup", "dup2", "dup3":
		if old, known, isOld := descriptor(c.args); ok && isOld {
			if known == "" {
				known = r.fds[c.pid][old]
			}
			r.set(c.pid, result, known)
		}
	case "close":
		if n, _, isOld := descriptor(c.args); isOld {
			r.set(c.pid, n, "")
		}
	case "socket", "accept", "accept4", "eventfd2", "epoll_create1", "memfd_create", "timerfd_create", "signalfd4":
		if ok {
			r.set(c.pid, result, "anon_inode:["+c.name+"]")
		}
	case "pipe", "pipe2", "socketpair":
		_, pair, _ := strings.Cut(c.args, "[")
		pair, _, _ = strings.Cut(pair, "]")
		for _, end := range strings.Split(pair, ", ")[:min(2, strings.Count(pair, ", ")+1)] {
			if n, _, isEnd := descriptor(end); isEnd && ok {
				r.set(c.pid, n, "pipe:["+c.name+"]")
			}
		}
	case "clone", "clone3", "fork", "vfork":
		if ok && result > 0 {
			r.child(c, result)
		}
	case "execve":
		if name := quoted(c.args); ok && name != "" {
			into.Process(c.pid, sample.Process{Comm: path.Base(name)})
		}
	}
}

// child gives a new thread the descriptors of its parent: the same ones, or as
// they are now.
func (r *reader) child(c call, pid int) {
	of := r.fds[c.pid]
	if of == nil {
		of = map[int]string{}
		r.fds[c.pid] = of
	}
	if r.fds[pid] != nil || len(r.fds) >= maxPIDs { // it ran before the call was over
		return
	}
	if !strings.Contains(c.args, "CLONE_FILES") {
		now := map[int]string{}
		for n, p := range of {
			if r.opened++; r.opened > maxFDs {
				break
			}
			now[n] = p
		}
		of = now
	}
	r.fds[pid] = of
}

// set notes the file of a descriptor, "" when it is none.
func (r *reader) set(pid, n int, file string) {
	of := r.fds[pid]
	if file == "" {
		delete(of, n)
		return
	}
	if of == nil {
		if len(r.fds) >= maxPIDs {
			return
		}
		of = map[int]string{}
		r.fds[pid] = of
	}
	if _, had := of[n]; !had {
		if r.opened >= maxFDs {
			return
		}
		r.opened++
	}
	of[n] = file
}
