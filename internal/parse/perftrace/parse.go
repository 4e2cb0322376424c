// Package perftrace reads the summary that 'perf trace -s' prints: the time of
// system calls by thread.
package perftrace

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Find says where in a line the summary begins: at its title, or at a thread.
func Find(line string) int {
	text := strings.TrimSpace(line)
	_, _, _, ok := threadOf(text)
	if text == "Summary of events:" || ok {
		return len(line) - len(strings.TrimLeft(line, " \t"))
	}
	return -1
}

// threadOf reads "dd (9208), 538 events, 43.8%", with "total, " before it in
// the summary of all threads together (--summary-mode=total).
func threadOf(text string) (name string, tid int, events float64, ok bool) {
	f := strings.Split(text, ", ")
	if n := len(f); n < 2 || n > 8 || !strings.HasSuffix(f[n-1], "%") && !strings.HasSuffix(f[n-1], " msec") {
		return "", 0, 0, false
	}
	for i, part := range f[1:] {
		count, found := strings.CutSuffix(part, " events")
		if !found {
			continue
		}
		events, ok = lines.Number(count)
		who := strings.Join(f[:i+1], ", ")
		open := strings.LastIndex(who, " (")
		if who == "total" {
			return "all threads", 0, events, ok
		}
		if !ok || open < 1 || !strings.HasSuffix(who, ")") {
			return "", 0, 0, false
		}
		tid, err := strconv.Atoi(who[open+2 : len(who)-1])
		return who[:open], tid, events, err == nil && tid >= 0 && tid <= 1<<22
	}
	return "", 0, 0, false
}

// call is one row.
type call struct {
	name, thread       string
	tid                int
	n, errors          float64
	total, mean, worst float64 // seconds
}

// Bounds on what is kept: the rows with the most time.
const (
	kept = 8
	most = 1 << 12
)

type reader struct {
	thread  string
	tid     int
	threads int
	events  float64
	calls   []call
	rows    int
	total   float64
	waits   float64 // of that, in calls that wait for work by their nature
	old     bool    // without a column for errors
}

// New makes a reader.
func New(string) lines.Reader { return &reader{} }

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, into lines.Values) (lines.Use, error) {
	text := strings.TrimSpace(l.Text)
	switch {
	case text == "", strings.Trim(text, "- ") == "", strings.HasPrefix(text, "(msec)"):
		return lines.Skipped, nil
	case text == "Summary of events:":
		if r.threads > 0 {
			return lines.Another, nil
		}
		return lines.Skipped, nil
	case strings.HasPrefix(text, "syscall ") && strings.Contains(text, " calls "):
		r.old = !strings.Contains(text, " errors ")
		return lines.Skipped, nil
	}
	if name, tid, events, ok := threadOf(text); ok {
		r.thread, r.tid = strings.Clone(name), tid
		r.threads++
		r.events += events
		if tid > 0 && r.threads < most {
			into.Process(tid, sample.Process{Comm: r.thread})
		}
		return lines.Used, nil
	}
	return r.row(text)
}

// row reads "write 63 0 14.681 0.015 0.233 0.326 3.05%".
func (r *reader) row(text string) (lines.Use, error) {
	f := strings.Fields(text)
	if r.threads == 0 || len(f) < 2 || !isName(f[0]) {
		return lines.Foreign, nil
	}
	v := lines.Numbers(f[1:])
	figures := 6
	if r.old {
		figures = 5
	}
	if len(v) == 0 {
		return lines.Foreign, nil
	}
	if len(v) < figures || slices.Max(v) > 1e15 {
		return lines.Broken, fmt.Errorf("%d figures of %.20q, not %d: the line is cut off", len(v), f[0], figures)
	}
	c := call{name: strings.Clone(f[0]), thread: r.thread, tid: r.tid, n: v[0]}
	if !r.old {
		c.errors = v[1]
	}
	times := v[figures-4 : figures]
	c.total, c.mean, c.worst = times[0]/1e3, times[2]/1e3, times[3]/1e3
	r.rows++
	r.total += c.total
	if resting(c.name) {
		r.waits += c.total
	}
	r.calls = append(r.calls, c)
	if len(r.calls) >= most {
		r.cut()
	}
	return lines.Used, nil
}

func isName(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && c != '_' && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// resting tells calls in which threads wait for work, for each other or for
// time to pass.
func resting(name string) bool {
	switch name {
	case "poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2", "wait4", "waitid", "nanosleep", "clock_nanosleep",
		"rt_sigsuspend", "rt_sigtimedwait", "pause", "futex", "futex_wait", "io_getevents", "restart_syscall", "accept", "accept4", "vfork":
		return true
	}
	return false
}

// cut keeps the rows with the most time.
func (r *reader) cut() {
	slices.SortStableFunc(r.calls, func(a, b call) int { return cmp.Compare(b.total, a.total) })
	r.calls = r.calls[:min(kept, len(r.calls))]
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	if r.rows == 0 {
		return
	}
	r.calls = slices.DeleteFunc(r.calls, func(c call) bool { return resting(c.name) })
	r.cut()
	into.Note(fmt.Sprintf("perf trace: %.3g s in system calls of %s, %.3g s of it in calls that wait for work, for other threads or for time to pass", r.total, sample.Counted(r.threads, "thread"), r.waits))
	for _, c := range r.calls[:min(5, len(r.calls))] {
		who := c.thread
		if c.tid > 0 {
			who = fmt.Sprintf("%s (%d)", c.thread, c.tid)
		}
		into.Note(fmt.Sprintf("perf trace: %s spent %.3g s in %.0f calls of %s, %.3g ms each, at most %.3g ms", who, c.total, c.n, c.name, 1e3*c.mean, 1e3*c.worst))
	}
	into.Note("perf trace -s shows neither files nor its duration, so not whether these calls wait for a disk; iocause latency divides their time")
}
