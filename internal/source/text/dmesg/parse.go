// Package dmesg reads lines of the kernel's log that tell why I/O is slow or
// fails: errors and time-outs of devices, tasks that hang, memory that ran out.
package dmesg

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"iocause/internal/sample"
	"iocause/internal/source/text/lines"
)

var (
	ioError = regexp.MustCompile(`(?:I/O|critical medium|critical target|protection|timeout|lost|EIO) error(?: on|,)? dev (\S+?),? (?:sector|logical block) (\d+)(?: op 0x[0-9a-f]+:\((\w+)\))?`)
	nvme    = regexp.MustCompile(`\b(nvme\d+)(?:n\d+)?: I/O .*timeout`)
	ataBus  = regexp.MustCompile(`\b(ata\d+)(?:\.\d+)?: (?:exception|failed command|hard resetting|SError)`)
	hung    = regexp.MustCompile(`task (\S+?):(\d+) blocked for more than (\d+) seconds`)
	oom     = regexp.MustCompile(`(?:Out of memory|Memory cgroup out of memory): Kill(?:ed)? process (\d+) \(([^)]*)\)`)
	fsError = regexp.MustCompile(`\b(EXT4-fs|XFS|BTRFS|F2FS-fs)(?: error \((?:device )?([^):]+)\)|(?: warning)? \((?:device )?([^):]+)\):.*(?:error|orruption|shut(?:ting)? ?down))`)
)

// Find says where in a line a message begins.
func Find(line string) int {
	for _, word := range []string{" error", "timeout", "blocked for more", "ut of memory", "exception", "-fs", "XFS", "BTRFS"} {
		if strings.Contains(line, word) {
			if kindOf(line) != "" {
				return 0
			}
			return -1
		}
	}
	return -1
}

// kindOf is what a message tells, "" when it is none of these.
func kindOf(line string) string {
	switch {
	case ioError.MatchString(line):
		return "I/O error"
	case nvme.MatchString(line):
		return "time-out"
	case ataBus.MatchString(line):
		return "error of the link"
	case hung.MatchString(line):
		return "hung"
	case oom.MatchString(line):
		return "out of memory"
	case fsError.MatchString(line):
		return "file system error"
	}
	return ""
}

type reader struct {
	count map[string]int
	order []string
}

// New makes a reader.
func New(string) lines.Reader { return &reader{count: map[string]int{}} }

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, into lines.Values) (lines.Use, error) {
	text := l.Text
	if strings.TrimSpace(text) == "" {
		return lines.Skipped, nil
	}
	into.At(l.N)
	switch kind := kindOf(text); kind {
	case "":
		return lines.Foreign, nil
	case "I/O error":
		m := ioError.FindStringSubmatch(text)
		class := "other"
		if op := strings.ToLower(m[3]); op == "read" || op == "write" || op == "flush" {
			class = op
		}
		into.Put(sample.BlockErrors, sample.Entity{Device: strings.TrimSuffix(m[1], ","), Class: class}, 1)
		r.add("I/O errors of device " + strings.TrimSuffix(m[1], ","))
	case "time-out":
		r.add("time-outs of " + nvme.FindStringSubmatch(text)[1])
	case "error of the link":
		r.add("errors of the link " + ataBus.FindStringSubmatch(text)[1])
	case "hung":
		m := hung.FindStringSubmatch(text)
		r.add(fmt.Sprintf("reports that %s (pid %s) hung for %s s", m[1], m[2], m[3]))
	case "out of memory":
		m := oom.FindStringSubmatch(text)
		r.add(fmt.Sprintf("times that %s was killed for want of memory", m[2]))
	default:
		m := fsError.FindStringSubmatch(text)
		r.add("errors of " + m[1] + " on " + m[2] + m[3])
	}
	return lines.Used, nil
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
	for _, what := range r.order {
		into.Note(fmt.Sprintf("kernel log: %d %s; look into that before anything else", r.count[what], what))
	}
}
