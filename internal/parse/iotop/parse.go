// Package iotop reads what iotop prints with -b: the I/O of processes or
// threads, and the share of their time that they wait for it.
package iotop

import (
	"fmt"
	"strconv"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Find says where in a line a report begins.
func Find(line string) int {
	if at := strings.Index(line, "Total DISK READ"); at >= 0 && strings.Contains(line, "Total DISK WRITE") {
		return at
	}
	if !strings.Contains(line, "PRIO ") {
		if isRow(line) { // -qqq
			return 0
		}
		return -1
	}
	f := strings.Fields(line)
	if len(f) > 8 && f[0] == "TIME" { // -t
		f = f[1:]
	}
	if len(f) > 8 && (f[0] == "TID" || f[0] == "PID") && f[1] == "PRIO" && f[3] == "DISK" {
		return strings.Index(line, f[0])
	}
	return -1
}

// isRow tells a row from other text: a process, its priority, and two rates.
func isRow(line string) bool {
	if !strings.Contains(line, "e/") && !strings.Contains(line, "t/") && !strings.Contains(line, " idle ") {
		return false
	}
	f := strings.Fields(line)
	if len(f) > 8 && isTime(f[0]) {
		f = f[1:]
	}
	if len(f) < 8 || !isPriority(f[1]) {
		return false
	}
	_, err := strconv.Atoi(f[0])
	_, ok1 := rate(f[3], f[4])
	_, ok2 := rate(f[5], f[6])
	return err == nil && ok1 && ok2
}

// isPriority tells the class of I/O and its level: be/4, rt/0, idle, ?dif.
func isPriority(s string) bool {
	switch class, level, ok := strings.Cut(s, "/"); class {
	case "be", "rt":
		return ok && len(level) == 1
	case "idle", "?dif", "?err":
		return !ok
	}
	return false
}

// isTime tells the time that -t puts before a row.
func isTime(s string) bool { return len(s) == 8 && s[2] == ':' && s[5] == ':' }

type reader struct {
	every float64
	said  bool
	rows  int
	begun bool
	first bool               // the report under way is the first
	sums  map[int][2]float64 // of -a: bytes so far, by process
	bare  map[int]bool       // of -qqq: the processes of this report
	waits bool               // some share of waiting was above 0
}

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	r := &reader{every: 1, first: true}
	command := lines.Command(before, "iotop")
	if s, ok := lines.Option(command, 'd'); ok {
		if v, ok := lines.Number(s); ok && v > 0 {
			r.every = v
		}
	}
	r.said = command != ""
	return r
}

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, into lines.Values) (lines.Use, error) {
	text := strings.TrimSpace(l.Text)
	if time, rest, _ := strings.Cut(text, " "); isTime(time) {
		text = strings.TrimSpace(rest)
	}
	switch {
	case text == "":
		return lines.Skipped, nil
	case strings.HasPrefix(text, "Total DISK READ"):
		if r.begun {
			r.tick(into)
		}
		r.begun, r.bare = true, nil
		return lines.Used, nil
	case strings.HasPrefix(text, "TIME ") && Find(text) > 0:
		return lines.Used, nil
	case strings.HasPrefix(text, "Actual DISK READ"), strings.HasPrefix(text, "Current DISK READ"), strings.HasPrefix(text, "CONFIG_TASK_DELAY_ACCT"):
		return lines.Skipped, nil
	case Find(text) == 0 && !isRow(text):
		r.begun, r.bare = true, nil
		return lines.Used, nil
	}
	// 1234 be/4 root 12.34 M/s 0.00 B/s 0.00 % 99.99 % command; from iotop-c
	// the two shares may be missing
	f := strings.Fields(text)
	pid, err := strconv.Atoi(f[0])
	if err != nil || pid < 1 || pid > 1<<22 || len(f) < 3 || !isPriority(f[1]) {
		return lines.Foreign, nil
	}
	if len(f) < 8 {
		return lines.Broken, fmt.Errorf("the line is cut off")
	}
	read, ok1 := rate(f[3], f[4])
	written, ok2 := rate(f[5], f[6])
	if !ok1 || !ok2 {
		return r.accumulated(pid, f, l.N, into)
	}
	if !r.begun { // -qqq, without any head
		r.begun, r.bare = true, map[int]bool{}
	}
	if r.bare != nil {
		if r.bare[pid] {
			r.tick(into)
			clear(r.bare)
		}
		if len(r.bare) < 1<<16 {
			r.bare[pid] = true
		}
	}
	into.At(l.N)
	e := sample.Entity{PID: pid}
	at := 7
	if len(f) > 11 && f[8] == "%" && f[10] == "%" {
		if v, ok := lines.Percent(f[9]); ok && v > 0 {
			into.Put(sample.ProcBlkioDelay, e, min(v, 1)*r.every)
			r.waits = true
		}
		at = 11
	}
	into.Process(pid, process(f[at:]))
	into.Put(sample.ProcReadBytes, e, read*r.every)
	into.Put(sample.ProcWriteBytes, e, written*r.every)
	r.rows++
	return lines.Used, nil
}

// tick ends a report.
func (r *reader) tick(into lines.Values) {
	into.Tick(r.every)
	r.first = false
}

// name is the program of a command, or what stands for its shares of time where
// there is nothing else.
func name(command []string) string {
	if len(command) > 1 && strings.HasPrefix(command[0], "?") {
		command = command[1:]
	}
	if strings.HasPrefix(command[0], "[") { // a thread of the kernel: [jbd2/sda1-8], [kworker/u8:2-flush-8:0]
		return command[0]
	}
	return command[0][strings.LastIndexByte(command[0], '/')+1:]
}

// process is who a row is of.
func process(command []string) sample.Process {
	p := sample.Process{Comm: name(command)}
	p.Kernel = strings.HasPrefix(p.Comm, "[")
	return p
}

// accumulated reads a row of -a, which has what a process read and wrote since
// iotop began. What the first report has is not of an interval that is known.
func (r *reader) accumulated(pid int, f []string, n int, into lines.Values) (lines.Use, error) {
	read, ok1 := lines.Binary(f[3]+f[4], 1)
	written, ok2 := lines.Binary(f[5]+f[6], 1)
	if !ok1 || !ok2 {
		return lines.Broken, fmt.Errorf("%.10q %.10q and %.10q %.10q are not amounts", f[3], f[4], f[5], f[6])
	}
	if r.sums == nil {
		r.sums = map[int][2]float64{}
	}
	if old, ok := r.sums[pid]; ok || !r.first {
		into.At(n)
		into.Put(sample.ProcReadBytes, sample.Entity{PID: pid}, max(0, read-old[0]))
		into.Put(sample.ProcWriteBytes, sample.Entity{PID: pid}, max(0, written-old[1]))
		r.rows++
	}
	if _, ok := r.sums[pid]; ok || len(r.sums) < 1<<16 {
		r.sums[pid] = [2]float64{read, written}
	}
	into.Process(pid, process(f[7:]))
	return lines.Used, nil
}

// rate reads "12.34 M/s" as bytes a second.
func rate(number, unit string) (float64, bool) {
	unit, ok := strings.CutSuffix(unit, "/s")
	if !ok {
		return 0, false
	}
	return lines.Binary(number+unit, 1)
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	if !r.begun {
		return
	}
	into.Tick(r.every)
	if r.sums != nil {
		into.Note("iotop -a shows totals: differences between reports are used, the first report is not")
	}
	if r.rows > 0 && !r.waits {
		into.Note("iotop shows no waiting: since Linux 5.14 it needs kernel.task_delayacct=1")
	}
}
