// Package dmesg reads lines of the kernel's log that tell why I/O is slow or
// fails: errors and time-outs of devices, tasks that hang, memory that ran out.
package dmesg

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// message is what one line tells.
type message struct {
	rule   *rule // nil for hung tasks and kills
	device string
	op     string // of the request, where the kernel names it
	note   string
}

// compiled are the rules, which take a while to compile and never change.
var compiled = sync.OnceValue(rules)

// Find says where in a line a message begins.
func Find(line string) int {
	if _, ok := parse(line); ok {
		return 0
	}
	return -1
}

// maxMessage bounds how much of a line is looked at: the kernel's own lines are
// shorter (LOG_LINE_MAX is 1024).
const maxMessage = 2048

// parse reads one line of the log, whatever stands before the message.
func parse(line string) (message, bool) {
	line = line[:min(len(line), maxMessage)]
	if !maybe(line, words()) || harmless.MatchString(line) {
		return message{}, false
	}
	if m := hung.FindStringSubmatch(line); m != nil {
		return message{note: fmt.Sprintf("reports that %s (pid %s) hung for %s s", m[1], m[2], m[3]), op: "hung"}, true
	}
	if m := oom.FindStringSubmatch(line); m != nil {
		return message{note: fmt.Sprintf("times that %s was killed by the OOM killer", m[2])}, true
	}
	if m := silent.FindStringSubmatch(line); m != nil {
		return message{note: "times without an answer from NFS server " + m[1], device: m[1], op: "nfs"}, true
	}
	if m := cache.FindStringSubmatch(line); m != nil {
		return message{device: m[1], op: "cache " + m[2]}, true
	}
	all := compiled()
	for i := range all {
		r := &all[i]
		m := r.is.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		out := message{rule: r, device: strings.TrimRight(m[1], ",.:")}
		if len(m) > 3 {
			out.op = strings.ToLower(m[3])
		}
		out.note = strings.TrimSpace(r.what + " " + out.device)
		return out, true
	}
	return message{}, false
}

// told is what the log tells of one device in one class.
type told struct {
	device, class string
	layer         layer
	n             float64
	first, last   int // lines
}

type reader struct {
	count map[string]int
	order []string
	all   []*told
	hung  map[string]int // the line of each task's first report
	stack string         // the task whose stack the next lines may show, "" for none
	waits map[string]string
	state []state
}

// state is what the log says of a disk or a server, and in which line.
type state struct {
	metric sample.Metric
	of     sample.Entity
	value  float64
	line   int
}

// New makes a reader.
func New(string) lines.Reader {
	return &reader{count: map[string]int{}, hung: map[string]int{}, waits: map[string]string{}}
}

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, _ lines.Values) (lines.Use, error) {
	if strings.TrimSpace(l.Text) == "" {
		return lines.Skipped, nil
	}
	m, ok := parse(l.Text)
	if !ok {
		return r.frame(l.Text), nil
	}
	if r.stack = ""; m.op == "hung" {
		r.stack = m.note
	}
	if of, is, ok := strings.Cut(m.op, " "); ok && of == "cache" {
		r.writeCache(m.device, is == "enabled", l.N)
		return lines.Used, nil
	}
	r.add(m.note)
	if m.op == "nfs" {
		r.unanswered(m.device, l.N)
	}
	if m.op == "hung" && len(r.hung) < maxDevices && r.hung[m.note] == 0 {
		r.hung[m.note] = l.N
	}
	if m.rule != nil && m.rule.class != "" {
		class := m.rule.class
		if m.op == "read" || m.op == "write" || m.op == "flush" {
			class = strings.Replace(class, "request", m.op, 1)
		}
		r.fail(cmp.Or(m.device, "of no name"), class, m.rule.layer, l.N)
	}
	return lines.Used, nil
}

// maxDevices bounds what is told apart.
const maxDevices = 256

func (r *reader) fail(device, class string, of layer, n int) {
	for _, t := range r.all {
		if t.device == device && t.class == class && t.layer == of {
			t.n++
			t.last = n
			return
		}
	}
	if len(r.all) < maxDevices {
		r.all = append(r.all, &told{device, class, of, 1, n, n})
	}
}

func (r *reader) add(what string) {
	if !slices.Contains(r.order, what) {
		if len(r.order) >= 16 {
			what = "other messages"
			if !slices.Contains(r.order, what) {
				r.order = append(r.order, what)
			}
		} else {
			r.order = append(r.order, what)
		}
	}
	r.count[what]++
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	into.State()
	for _, t := range r.all {
		if r.above(t) {
			continue
		}
		e := sample.Entity{Device: t.device, Class: t.class}
		into.At(t.last)
		into.Put(sample.BlockFailures, e, t.n)
		into.At(t.first) // it is said where they stand, from the first to the last
		into.Put(sample.BlockFailures, e, 0)
	}
	for task, n := range r.hung {
		into.At(n)
		into.Put(sample.TasksHung, sample.Entity{}, 1)
		if class := r.waits[task]; class != "" {
			into.Put(sample.TasksHung, sample.Entity{Class: class}, 1)
		}
	}
	for _, x := range r.state {
		into.At(x.line)
		into.Put(x.metric, x.of, x.value)
	}
	for _, what := range r.order {
		into.Note(fmt.Sprintf("kernel log: %d %s; investigate this first", r.count[what], what))
	}
}

// above tells whether another layer has told of the same failures under a better
// name: the port of a disk (ata1) and its SCSI address cannot be matched with
// the disk's name for sure, so that they count only where no disk is named.
func (r *reader) above(t *told) bool {
	return slices.ContainsFunc(r.all, func(better *told) bool {
		if better.layer >= t.layer {
			return false
		}
		same := strings.HasPrefix(t.device, better.device) || strings.HasPrefix(better.device, t.device)
		disk := strings.HasPrefix(better.device, "sd") || strings.HasPrefix(better.device, "hd")
		return same || disk && (t.layer == link && isPort(t.device) || t.layer == scsi && strings.Contains(t.device, ":"))
	})
}

// isPort tells ports and adapters of SCSI and ATA disks.
func isPort(device string) bool {
	for _, of := range []string{"ata", "scsi", "mega", "mpt", "hpsa", "aac", "usb"} {
		if strings.HasPrefix(device, of) {
			return true
		}
	}
	return false
}
