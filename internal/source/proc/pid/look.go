package pid

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"

	"iocause/internal/host"
	"iocause/internal/procfile"
)

// look is what one process had counted at one time.
type look struct {
	stat      Stat
	io        host.IO
	sched     procfile.Schedstat // first thread
	hasIO     bool
	hasSched  bool
	denied    bool              // io may not be read
	threads   map[int]threadSum // all threads, when there are several
	truncated bool              // threads were not read
}

// threadSum is what is counted for each thread alone.
type threadSum struct{ delay, blkio uint64 }

// maxThreads bounds how many threads are read in a pass, over all processes.
const maxThreads = 4096

// reader reads the files of processes with one buffer, in one goroutine.
type reader struct {
	proc    string // with a slash behind it
	path    []byte
	buf     []byte
	threads *atomic.Int64 // may still be read in this pass, by all readers
	delays  bool          // the kernel accounts delays: threads' stat files are needed
}

func newReader(h *host.Host) *reader {
	return &reader{proc: h.Proc() + "/", buf: make([]byte, 16<<10)}
}

// read reads /proc/PID/name. One read takes it all: these files are made in
// one piece, and the buffer holds the longest.
func (r *reader) read(pid int, name string) ([]byte, error) {
	r.path = append(strconv.AppendInt(append(r.path[:0], r.proc...), int64(pid), 10), name...)
	return r.once()
}

func (r *reader) readThread(pid, tid int, name string) ([]byte, error) {
	r.path = append(strconv.AppendInt(append(r.path[:0], r.proc...), int64(pid), 10), "/task/"...)
	r.path = append(strconv.AppendInt(r.path, int64(tid), 10), name...)
	return r.once()
}

func (r *reader) once() ([]byte, error) {
	fd, err := syscall.Open(string(r.path), syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	for err == syscall.EINTR {
		fd, err = syscall.Open(string(r.path), syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, err
	}
	n, err := syscall.Read(fd, r.buf)
	for err == syscall.EINTR {
		n, err = syscall.Read(fd, r.buf)
	}
	syscall.Close(fd)
	if err != nil {
		return nil, err
	}
	return r.buf[:max(n, 0)], nil
}

// gone tells a process that has ended from other failures.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

// look reads one process. The error is of its stat file; without the others
// the look lacks figures, and without one of them because the process ended,
// it is gone.
func (r *reader) look(pid int) (look, error) {
	var l look
	b, err := r.read(pid, "/stat")
	if err != nil {
		return l, err
	}
	if l.stat, err = parseStat(b); err != nil {
		return l, host.In(string(r.path), err)
	}
	b, err = r.read(pid, "/io")
	switch {
	case err == nil:
		if l.io, err = procfile.ParseIO(b); err == nil {
			l.hasIO = true
		} else if len(b) > 0 {
			return l, host.In(string(r.path), err)
		}
	case errors.Is(err, fs.ErrPermission):
		l.denied = true
	}
	l.sched, l.hasSched = r.sched(pid)
	if l.stat.Threads > 1 {
		r.lookThreads(pid, &l)
	}
	return l, nil
}

// sched reads the first thread's schedstat.
func (r *reader) sched(pid int) (procfile.Schedstat, bool) {
	b, err := r.read(pid, "/schedstat")
	if err != nil {
		return procfile.Schedstat{}, false
	}
	s, err := procfile.ParseSchedstat(b)
	return s, err == nil
}

// lookThreads reads what the kernel counts for each thread alone.
func (r *reader) lookThreads(pid int, l *look) {
	n := int(min(l.stat.Threads, maxThreads+1))
	if l.truncated = !r.take(n); l.truncated {
		return
	}
	ids, err := numbers(r.proc + strconv.Itoa(pid) + "/task")
	if err != nil || len(ids) > n && !r.take(len(ids)-n) { // there were fewer a moment ago
		l.truncated = true
		return
	}
	l.threads = make(map[int]threadSum, len(ids))
	for _, tid := range ids {
		var t threadSum
		b, err := r.readThread(pid, tid, "/schedstat")
		if err != nil {
			continue // ended
		}
		if s, err := procfile.ParseSchedstat(b); err == nil {
			t.delay = s.Delay
		}
		if r.delays {
			if b, err = r.readThread(pid, tid, "/stat"); err != nil {
				continue
			}
			if s, err := parseStat(b); err == nil {
				t.blkio = s.BlkioDelay
			}
		}
		l.threads[tid] = t
	}
}

// take takes so many of the threads that may still be read, or none.
func (r *reader) take(n int) bool {
	if r.threads.Add(-int64(n)) >= 0 {
		return true
	}
	r.threads.Add(int64(n))
	return false
}

// numbers lists the entries of a directory that are numbers.
func numbers(dir string) ([]int, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	ids := make([]int, 0, len(names))
	for _, name := range names {
		if n, ok := host.Uint([]byte(name)); ok && n > 0 && n < 1<<31 {
			ids = append(ids, int(n))
		}
	}
	if len(ids) > 0 {
		err = nil
	}
	return ids, err
}
