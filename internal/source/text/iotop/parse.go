// Package iotop reads what iotop prints with -b: the I/O of processes or
// threads, and the share of their time that they wait for it.
package iotop

import (
	"fmt"
	"strconv"
	"strings"

	"iocause/internal/sample"
	"iocause/internal/source/text/lines"
)

// Find says where in a line a report begins.
func Find(line string) int {
	if at := strings.Index(line, "Total DISK READ"); at >= 0 && strings.Contains(line, "Total DISK WRITE") {
		return at
	}
	if !strings.Contains(line, "PRIO ") {
		return -1
	}
	if f := strings.Fields(line); len(f) > 8 && (f[0] == "TID" || f[0] == "PID") && f[1] == "PRIO" && f[3] == "DISK" {
		return strings.Index(line, f[0])
	}
	return -1
}

type reader struct {
	every float64
	said  bool
	rows  int
	begun bool
	waits bool // some share of waiting was above 0
}

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	r := &reader{every: 1}
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
	switch {
	case text == "":
		return lines.Skipped, nil
	case strings.HasPrefix(text, "Total DISK READ"):
		if r.begun {
			into.Tick(r.every)
		}
		r.begun = true
		return lines.Used, nil
	case strings.HasPrefix(text, "Actual DISK READ"), strings.HasPrefix(text, "Current DISK READ"), strings.HasPrefix(text, "CONFIG_TASK_DELAY_ACCT"):
		return lines.Skipped, nil
	case Find(text) == 0:
		r.begun = true
		return lines.Used, nil
	}
	// 1234 be/4 root 12.34 M/s 0.00 B/s 0.00 % 99.99 % command; from iotop-c
	// the two shares may be missing
	f := strings.Fields(text)
	pid, err := strconv.Atoi(f[0])
	if err != nil || pid < 1 || pid > 1<<22 || len(f) < 3 || !strings.Contains(f[1], "/") {
		return lines.Foreign, nil
	}
	if len(f) < 8 {
		return lines.Broken, fmt.Errorf("the line is cut off")
	}
	read, ok1 := rate(f[3], f[4])
	written, ok2 := rate(f[5], f[6])
	if !ok1 || !ok2 {
		return lines.Broken, fmt.Errorf("%.10q %.10q and %.10q %.10q are no rates", f[3], f[4], f[5], f[6])
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
	name := f[at][strings.LastIndexByte(f[at], '/')+1:]
	into.Process(pid, sample.Process{Comm: name})
	into.Put(sample.ProcReadBytes, e, read*r.every)
	into.Put(sample.ProcWriteBytes, e, written*r.every)
	r.rows++
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
	if r.rows > 0 && !r.waits {
		into.Note("iotop shows no waiting at all: on kernels since 5.14 it does so unless kernel.task_delayacct is 1")
	}
}
