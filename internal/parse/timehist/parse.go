// Package timehist reads what 'perf sched timehist' prints: every turn of a
// thread on a processor, with the wait before it, and the summary of -s.
package timehist

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

// Find says where in a line the output begins: at the names of the columns, or
// at the summary.
func Find(line string) int {
	text := strings.TrimLeft(line, " ")
	if isHead(text) || text == "Runtime summary" {
		return len(line) - len(text)
	}
	return -1
}

func isHead(text string) bool {
	return strings.HasPrefix(text, "time ") && strings.Contains(text, "task name") && strings.Contains(text, "sch delay")
}

// thread is what is known of one thread, in seconds.
type thread struct {
	name             string
	tid, pid         int
	turns            int
	run, delay, wait float64
	blocked          float64 // of the waits, those that began uninterruptible
	left             byte    // state in which it left the processor, 0 not shown
	longest          float64 // wait
	longDelay        float64
}

// maxThreads bounds how many threads are told apart.
const maxThreads = 1 << 16

type reader struct {
	state    bool // a column of states is shown
	summary  bool
	threads  map[int]*thread
	rows     int
	first    float64
	last     float64
	full     int
	total    float64 // run time that the summary ends with, in seconds
	switches float64
}

// New makes a reader.
func New(string) lines.Reader { return &reader{threads: map[int]*thread{}} }

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, into lines.Values) (lines.Use, error) {
	text := strings.TrimSpace(l.Text)
	switch {
	case text == "", strings.Trim(text, "- ") == "", strings.HasPrefix(text, "[tid/pid]"):
		return lines.Skipped, nil
	case isHead(text):
		if r.rows > 0 {
			return lines.Another, nil
		}
		r.state = strings.HasSuffix(text, "state")
		return lines.Skipped, nil
	case text == "Runtime summary":
		if r.summary {
			return lines.Another, nil
		}
		r.summary = true
		return lines.Skipped, nil
	case strings.HasPrefix(text, "Samples ") || strings.Contains(text, " lost ") && strings.Contains(text, " events on cpu "):
		return lines.Skipped, nil
	case r.summary:
		return r.sums(text)
	}
	into.At(l.N)
	return r.turn(text, l.N)
}

// turn reads "38481.320159 [0000] name[tid/pid] 0.000 0.020 0.043 D  a <- b".
func (r *reader) turn(text string, n int) (lines.Use, error) {
	f := strings.Fields(text)
	at, ok := lines.Number(f[0])
	if !ok || len(f) < 3 || !strings.Contains(f[0], ".") || at > 1e10 || f[1][0] != '[' || f[1][len(f[1])-1] != ']' {
		return lines.Foreign, nil
	}
	t, after, ok := r.thread(text)
	if !ok {
		return lines.Broken, fmt.Errorf("no thread in %.40q", text)
	}
	if strings.HasPrefix(after, "awakened:") || strings.HasPrefix(after, "migrated:") {
		return lines.Skipped, nil
	}
	values := lines.Numbers(strings.Fields(after))
	if len(values) < 3 || values[0] > 1e12 || values[1] > 1e12 || values[2] > 1e12 {
		return lines.Broken, fmt.Errorf("%d of the three times of %.40q: the line is cut off", len(values), text)
	}
	if r.rows++; r.rows == 1 {
		r.first = at
	}
	r.first, r.last = min(r.first, at), max(r.last, at)
	if t == nil {
		r.full++
		return lines.Used, nil
	}
	wait, delay, run := values[0]/1e3, values[1]/1e3, values[2]/1e3
	t.turns++
	t.run, t.delay, t.wait = t.run+run, t.delay+delay, t.wait+wait
	t.longest, t.longDelay = max(t.longest, wait), max(t.longDelay, delay)
	if t.left == 'D' {
		t.blocked += max(0, wait-delay)
	}
	if t.left = 0; r.state {
		if f := strings.Fields(after); len(f) > 3 {
			t.left = f[3][0]
		}
	}
	return lines.Used, nil
}

// thread finds "name[tid/pid]" in a row, whose name may hold blanks; nil when
// there is no room for another.
func (r *reader) thread(text string) (t *thread, after string, ok bool) {
	_, rest, _ := strings.Cut(text, "]") // of the processor
	open, shut := strings.IndexByte(rest, '['), strings.IndexByte(rest, ']')
	for open >= 0 && shut > open {
		tid, pid, isID := idOf(rest[open+1 : shut])
		if isID {
			name := strings.TrimSpace(rest[:open])
			if f := strings.Fields(name); len(f) > 1 && strings.Trim(f[0], "sim-") == "" { // -V, -I
				name = strings.TrimSpace(strings.TrimPrefix(name, f[0]))
			}
			return r.of(tid, pid, name), strings.TrimSpace(rest[shut+1:]), true
		}
		next := strings.IndexByte(rest[open+1:], '[')
		if next < 0 {
			break
		}
		open += 1 + next
		if end := strings.IndexByte(rest[open:], ']'); end >= 0 {
			shut = open + end
		} else {
			break
		}
	}
	if after, found := strings.CutPrefix(strings.TrimSpace(rest), "<idle>"); found {
		return r.of(0, 0, "<idle>"), strings.TrimSpace(after), true
	}
	return nil, "", false
}

// idOf reads "tid" or "tid/pid".
func idOf(s string) (tid, pid int, ok bool) {
	a, b, both := strings.Cut(s, "/")
	tid, err := strconv.Atoi(a)
	pid = tid
	if both && err == nil {
		pid, err = strconv.Atoi(b)
	}
	return tid, pid, err == nil && tid >= -1 && tid <= 1<<22 && pid >= -1 && pid <= 1<<22
}

func (r *reader) of(tid, pid int, name string) *thread {
	t := r.threads[tid]
	if t == nil && len(r.threads) < maxThreads {
		t = &thread{name: strings.Clone(name), tid: tid, pid: pid}
		r.threads[tid] = t
	}
	return t
}

// sums reads a row of the summary: "name[tid/pid] parent count run ...".
func (r *reader) sums(text string) (lines.Use, error) {
	if strings.HasPrefix(text, "comm ") || strings.HasPrefix(text, "(count)") || strings.HasPrefix(text, "Terminated tasks") ||
		strings.HasPrefix(text, "Idle stats") || strings.HasPrefix(text, "CPU ") || strings.HasPrefix(text, "<no ") || strings.HasPrefix(text, "<idle> ") ||
		strings.HasPrefix(text, "Total number of unique tasks") || strings.HasPrefix(text, "Total scheduling time") {
		return lines.Skipped, nil
	}
	if rest, ok := strings.CutPrefix(text, "Total number of context switches:"); ok {
		r.switches, _ = lines.Number(strings.TrimSpace(rest))
		return lines.Used, nil
	}
	if rest, ok := strings.CutPrefix(text, "Total run time (msec):"); ok {
		v, _ := lines.Number(strings.TrimSpace(rest))
		r.total = v / 1e3
		return lines.Used, nil
	}
	t, after, ok := r.thread("]" + text)
	if !ok {
		return lines.Foreign, nil
	}
	f := strings.Fields(after)
	if len(f) < 3 {
		return lines.Broken, fmt.Errorf("%d figures of %.40q: the line is cut off", len(f), text)
	}
	turns, ok1 := lines.Number(f[1])
	run, ok2 := lines.Number(f[2])
	if !ok1 || !ok2 || turns > 1e15 || run > 1e15 {
		return lines.Broken, fmt.Errorf("no count and time in %.40q", text)
	}
	if t != nil && t.turns == 0 {
		t.turns, t.run = int(turns), run/1e3
	}
	return lines.Used, nil
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	if r.rows > 0 {
		r.turns(into)
	} else {
		r.running(into)
	}
	if r.full > 0 {
		into.Note(fmt.Sprintf("perf sched: %d turns of more than %d threads are left out", r.full, maxThreads))
	}
}

// most is how many threads a note names.
const most = 5

// turns tells who waited, and for whom it is known for what.
func (r *reader) turns(into lines.Values) {
	seconds := r.last - r.first
	delays := map[int]float64{}
	for _, t := range r.threads {
		if t.pid > 0 {
			delays[t.pid] += t.delay
		}
	}
	for tid, t := range r.threads {
		if tid > 0 && t.pid == tid {
			into.Process(t.pid, sample.Process{Comm: t.name})
		}
	}
	for pid, d := range delays {
		into.Put(sample.ProcRunDelay, sample.Entity{PID: pid}, d)
	}
	into.Tick(max(seconds, 1e-3))
	into.Note(fmt.Sprintf("perf sched: %s of %s in %.3g s", sample.Counted(r.rows, "turn"), sample.Counted(len(r.threads), "thread"), seconds))
	by := func(what string, get, longest func(*thread) float64) {
		if s := r.top(get, longest); s != "" {
			into.Note("perf sched: " + what + ": " + s)
		}
	}
	by("waited longest for a processor", func(t *thread) float64 { return t.delay }, func(t *thread) float64 { return t.longDelay })
	if r.state {
		by("waited longest uninterruptibly (disk, locks of the kernel)", func(t *thread) float64 { return t.blocked }, nil)
	} else {
		into.Note("perf sched: the state of waiting threads is not in the text (use --state); waits include sleep as well as I/O")
		by("waited longest, for anything", func(t *thread) float64 { return t.wait }, func(t *thread) float64 { return t.longest })
	}
}

// running tells what the summary says of threads that ran.
func (r *reader) running(into lines.Values) {
	if s := r.top(func(t *thread) float64 { return t.run }, nil); s != "" {
		into.Note(fmt.Sprintf("perf sched: %s; ran longest: %s", sample.Counted(len(r.threads), "thread"), s))
	}
	if r.total > 0 {
		into.Note(fmt.Sprintf("perf sched: %.3g s run in %.0f switches; what threads waited for is not in the summary", r.total, r.switches))
	}
}

// top names the threads with the most of something.
func (r *reader) top(get, longest func(*thread) float64) string {
	all := slices.DeleteFunc(slices.Collect(maps.Values(r.threads)), func(t *thread) bool { return get(t) <= 0 || t.tid == 0 })
	slices.SortFunc(all, func(a, b *thread) int { return cmp.Or(cmp.Compare(get(b), get(a)), a.tid-b.tid) })
	var out []string
	for _, t := range all[:min(most, len(all))] {
		s := fmt.Sprintf("%s (%d) %.3g s in %s", t.name, t.tid, get(t), sample.Counted(t.turns, "turn"))
		if longest != nil {
			s += fmt.Sprintf(", at most %.3g ms", 1e3*longest(t))
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}
