package pid

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/sample"
)

// Programs of a pipeline go as fast as the slowest of them. Where one computes all the
// time, its neighbours may wait for a disk meanwhile without holding anything up: who
// writes to whom through a pipe is told wherever such a program is at one end of it.

const (
	// A process that takes so much of one processor may be the slowest.
	slowest = 0.70
	// mostFiles bounds how many open files of each process are looked at.
	mostFiles = 1024

	fromPipes = "/proc/PID/fd"
)

// pipes are the pipes of processes: who has the writing end open, and who reads it as
// its standard input. Other files for reading tell little: a shell's jobs inherit them.
type pipes struct {
	writers, readers map[string][]int
}

// emitPipes tells who writes to whom, of all pipelines that a process is in which keeps a
// processor busy.
func (s *source) emitPipes(found []outcome, into sample.Sink) {
	busy, movers := s.atWork(found)
	if !slices.ContainsFunc(busy, s.piped) {
		return
	}
	p := pipes{writers: map[string][]int{}, readers: map[string][]int{}}
	for _, pid := range movers {
		s.addPipes(pid, &p)
	}
	feeds := p.feeds()
	next := map[int][]int{} // by process: to whom it writes, and who writes to it
	for e := range feeds {
		next[e.from], next[e.to] = append(next[e.from], e.to), append(next[e.to], e.from)
	}
	reached := map[int]bool{}
	for todo := busy; len(todo) > 0; {
		pid := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !reached[pid] {
			reached[pid] = true
			todo = append(todo, next[pid]...)
		}
	}
	for e := range feeds {
		if reached[e.from] {
			into.Put(sample.ProcFeeds, sample.Entity{PID: e.from, Class: strconv.Itoa(e.to)}, 1, fromPipes)
		}
	}
}

// atWork are the processes that kept a processor busy since the last pass, and those that
// read or wrote anything.
func (s *source) atWork(found []outcome) (busy, movers []int) {
	past, known := s.past()
	if !known {
		return nil, nil
	}
	for i := range found {
		o := &found[i]
		if o.same || o.error != nil || o.look.stat.Kernel {
			continue
		}
		old := s.before[o.pid]
		if old.stat.Start != o.look.stat.Start {
			old = look{}
		}
		if ticks := o.look.stat.User + o.look.stat.System - old.stat.User - old.stat.System; float64(ticks) >= slowest*past {
			busy = append(busy, o.pid)
		}
		if o.look.io.ReadChars != old.io.ReadChars || o.look.io.WriteChars != old.io.WriteChars {
			movers = append(movers, o.pid)
		}
	}
	return busy, movers
}

// feed is a pipe, or several, from one process to another.
type feed struct{ from, to int }

// feeds are all of them.
func (p *pipes) feeds() map[feed]bool {
	out := map[feed]bool{}
	for pipe, readers := range p.readers {
		for _, w := range p.writers[pipe] {
			for _, r := range readers {
				if w != r {
					out[feed{w, r}] = true
				}
			}
		}
	}
	return out
}

// piped tells whether a process reads from a pipe, or writes to one.
func (s *source) piped(pid int) bool {
	_, in := s.pipe(pid, "0")
	_, out := s.pipe(pid, "1")
	return in || out
}

// pipe is the name of the pipe that an open file of a process is.
func (s *source) pipe(pid int, fd string) (string, bool) {
	name, err := os.Readlink(s.host.Proc(strconv.Itoa(pid), "fd", fd))
	return name, err == nil && strings.HasPrefix(name, "pipe:")
}

// addPipes adds the pipes of a process, none where its files may not be seen.
func (s *source) addPipes(pid int, to *pipes) {
	dir, err := os.Open(s.host.Proc(strconv.Itoa(pid), "fd"))
	if err != nil {
		return // it has ended, or is another user's
	}
	defer dir.Close()
	names, err := dir.Readdirnames(mostFiles)
	if err != nil {
		return
	}
	for _, fd := range names {
		name, ok := s.pipe(pid, fd)
		if !ok {
			continue
		}
		// The permissions of the link are those that the file is open with.
		info, err := os.Lstat(s.host.Proc(strconv.Itoa(pid), "fd", fd))
		switch {
		case err != nil:
		case fd == "0" && info.Mode()&0o400 != 0:
			to.readers[name] = append(to.readers[name], pid)
		case info.Mode()&0o200 != 0 && !slices.Contains(to.writers[name], pid):
			to.writers[name] = append(to.writers[name], pid)
		}
	}
}
