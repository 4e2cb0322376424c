package perfscript

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"iocause/internal/sample"
)

const switchEvent = "sched:sched_switch"

// scheduler tells the events that waits are made of.
func scheduler(event string) bool {
	return event == switchEvent || wakeUp(event) || statistic(event)
}

// statistic tells the events with which the scheduler says, when a thread is
// woken or runs again, how long it had slept, been blocked or waited for a
// processor. They need kernel.sched_schedstats.
func statistic(event string) bool {
	switch event {
	case "sched:sched_stat_sleep", "sched:sched_stat_blocked", "sched:sched_stat_iowait", "sched:sched_stat_wait":
		return true
	}
	return false
}

func wakeUp(event string) bool {
	return event == "sched:sched_wakeup" || event == "sched:sched_waking" || event == "sched:sched_wakeup_new"
}

// wait is a thread off the processor.
type wait struct {
	tid   int
	comm  string
	key   []byte // command and stack
	state string
	from  int64 // ns
	woken int64 // ns, 0 if it was not seen

	told    int64 // ns that it slept or was blocked, as a statistic says
	delayed int64 // ns that it then waited for a processor, as another one says
}

// stateOf tells what a thread that leaves is in for, by the letter that the
// scheduler prints (kernel: include/trace/events/sched.h). Threads that are
// dead do not come back: they have none.
func stateOf(letters string) string {
	switch letters[:1] {
	case "R":
		return "preempted"
	case "S":
		return "sleeping"
	case "D":
		return "uninterruptible"
	case "T", "t":
		return "stopped"
	case "I":
		return "idle"
	case "X", "x", "Z":
		return ""
	}
	return "other"
}

// switchOf reads the fields of a switch, in the layout of the kernel and in
// that of libtraceevent's plugin:
//
//	prev_comm=sh prev_pid=7 prev_prio=120 prev_state=D ==> next_comm=x next_pid=8 next_prio=120
//	sh:7 [120] D ==> x:8 [120]
func switchOf(fields []byte) (prev, next int, state string, ok bool) {
	at := bytes.LastIndex(fields, []byte(" ==> "))
	if at < 0 {
		return 0, 0, "", false
	}
	left, right := fields[:at], fields[at:]
	prev, ok1 := threadOf(left, "prev_pid=")
	next, ok2 := threadOf(right, "next_pid=")
	i := bytes.LastIndexAny(left, " =")
	if !ok1 || !ok2 || i < 0 || i+1 == len(left) {
		return 0, 0, "", false
	}
	return prev, next, string(left[i+1:]), true
}

// threadOf is the number that follows name, or stands between ":" and " [".
func threadOf(fields []byte, name string) (int, bool) {
	if i := bytes.LastIndex(fields, []byte(name)); i >= 0 {
		word, _ := cutWord(fields[i+len(name):])
		return toID(word)
	}
	end := bytes.LastIndex(fields, []byte(" ["))
	if end < 0 {
		return 0, false
	}
	return toID(fields[bytes.LastIndexByte(fields[:end], ':')+1 : end])
}

// schedule takes the first line of an event of the scheduler.
func (p *parser) schedule(h header) {
	p.keep = false
	event := string(h.event)
	if !scheduler(event) {
		p.others[event]++
		return
	}
	if h.time < 0 {
		p.noTime++
		return
	}
	if statistic(event) {
		p.statistic(event, h)
		return
	}
	if wakeUp(event) {
		if tid, ok := threadOf(h.payload, " pid="); ok && p.waits[tid] != nil && p.waits[tid].woken == 0 {
			p.waits[tid].woken = h.time
		}
		return
	}
	prev, next, letters, ok := switchOf(h.payload)
	if !ok {
		p.bad(h.payload, "a switch without its threads")
		p.lines--
		return
	}
	p.back(next, h.time)
	if w := p.waits[prev]; w != nil {
		if !p.tell(w) {
			p.unseen++
		}
		delete(p.waits, prev)
	}
	state := stateOf(letters)
	p.keep = true
	if prev != 0 && state != "" {
		p.leaving = &wait{tid: prev, comm: string(h.comm), state: state, from: h.time}
	}
}

// statistic takes how long a wait was from the scheduler itself: where only
// one process is recorded, the switches back to it are not in the text.
func (p *parser) statistic(event string, h header) {
	p.stats++
	tid, ok := threadOf(h.payload, " pid=")
	w := p.waits[tid]
	if !ok || w == nil {
		return
	}
	const name = " delay="
	at := bytes.LastIndex(h.payload, []byte(name))
	if at < 0 {
		return
	}
	const most = 1 << 60
	v, n := number(h.payload[at+len(name):])
	if n == 0 {
		return
	}
	ns := int64(min(v, most))
	if event == "sched:sched_stat_wait" {
		w.delayed = ns
		return
	}
	w.told = max(w.told, ns) // of I/O two events say the same
	if w.woken == 0 {
		w.woken = h.time
	}
}

// tell adds a wait up by what statistics say of it, if they do.
func (p *parser) tell(w *wait) bool {
	if w.told > 0 {
		p.waited(w, w.state, w.told)
	}
	if w.delayed > 0 {
		p.waited(w, "runnable", w.delayed)
	}
	if w.told > 0 || w.delayed > 0 {
		p.told++
		return true
	}
	return false
}

// leave keeps a thread that left a processor, now that its stack is known.
func (p *parser) leave() {
	if p.leaving == nil {
		return
	}
	p.leaving.key = slices.Clone(p.key)
	p.waits[p.leaving.tid] = p.leaving
}

// back ends the wait of a thread.
func (p *parser) back(tid int, now int64) {
	w := p.waits[tid]
	if w == nil || now < w.from {
		return
	}
	delete(p.waits, tid)
	blocked := now
	if w.woken >= w.from && w.woken > 0 && w.woken <= now {
		blocked = w.woken
		p.waited(w, "runnable", now-w.woken)
	}
	p.waited(w, w.state, blocked-w.from)
}

func (p *parser) waited(w *wait, state string, ns int64) {
	const most = 1 << 62
	ns = min(ns, most)
	s := p.sumOf(w.comm, w.key, state)
	s.weight = min(s.weight, most-ns) + ns
	s.count++
}

// notes say what a reader must know of the profile.
func (p *parser) notes(to *sample.Profile) {
	add := func(format string, args ...any) { to.Notes = append(to.Notes, fmt.Sprintf(format, args...)) }
	if p.off {
		add("time off the processor, by the state in which the thread left it")
		if p.told > 0 {
			add("%s as long as sched_stat events say: the switch back is not in the text", sample.Counted(p.told, "wait"))
		}
		if len(p.waits) > 0 {
			add("%s off the processor at the end of the recording, without their time", sample.Counted(len(p.waits), "thread"))
		}
	}
	if p.unseen > 0 {
		add("%s left out: the switch back to the thread is not in the text (lost, or recorded without 'perf record -a')", sample.Counted(p.unseen, "wait"))
	}
	if len(p.merged) > 1 {
		add("samples of several events are added together: %s; --event chooses one",
			strings.Join(slices.Sorted(maps.Keys(p.merged)), ", "))
	}
	for _, event := range slices.Sorted(maps.Keys(p.others)) {
		add("%s of %s left out; --event chooses another", sample.Counted(p.others[event], "sample"), event)
	}
	if p.noTime > 0 {
		add("%s without a time left out", sample.Counted(p.noTime, "switch"))
	}
	if p.cut {
		add("the last sample has no empty line after it: if it was cut off, its outermost functions are missing")
	}
}
