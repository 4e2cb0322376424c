// Package perfscript reads the text that 'perf script' prints: samples with
// their stacks. It adds up the samples of one event, or, where the scheduler's
// switches were recorded, the time that threads spent off the processor.
//
// A sample is a line with command, thread, time and event, the functions below
// it from the innermost to the outermost, and an empty line:
//
//	sh 12748 [001] 30584.339304:     250000 cpu-clock:
//		ffffffff8162f63c kmem_cache_free+0x6c ([kernel.kallsyms])
//		           1ab78 _dl_start_user+0x0 (/usr/lib/x86_64-linux-gnu/ld.so)
//
// Names are shortened as stackcollapse-perf.pl of FlameGraph shortens them.
package perfscript

import (
	"bytes"
	"errors"
	"io"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Options say what is wanted of a text.
type Options struct {
	Name  string // of the file, for messages
	Event string // the event to add up; "" is the first one
	Count bool   // add up switches like any other event, not time
	// NamesOnly leaves modules out: functions of one name are one.
	NamesOnly bool
}

// Result is what was in a text.
type Result struct {
	Profile *sample.Profile
	Used    int // lines that are in the profile
	Skipped int // lines of other events, comments and samples without an end
	Unknown int // lines that were not understood
	Bad     []string
}

// mostBad is how many lines that were not understood are told one by one.
const mostBad = 10

// longestLine bounds what is read of one line, in bytes.
const longestLine = 1 << 20

// ErrNone is returned for a text without any sample.
var ErrNone = errors.New("it has no samples with stacks as printed by 'perf script'")

// Read reads a text to its end. Memory grows with the number of different
// stacks, not with the text.
func Read(r io.Reader, o Options) (*Result, error) {
	p := newParser(o)
	err := lines.Each(r, longestLine, func(line []byte, cut bool) {
		p.lineNo++
		if cut {
			p.bad(line[:min(len(line), 60)], "longer than 1 MiB")
		} else {
			p.line(withoutEnd(line))
		}
	})
	if err != nil {
		return nil, err
	}
	return p.result()
}

// withoutEnd takes the end off a line.
func withoutEnd(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return line
}

// Looks tells whether a text that begins like this is perf script's.
func Looks(head []byte) bool {
	for len(head) > 0 {
		line, rest, whole := bytes.Cut(head, []byte("\n"))
		head = rest
		line = bytes.TrimRight(line, "\r")
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		h, ok := parseHeader(line)
		if ok && len(h.event) > 0 {
			return true
		}
		if ok && whole {
			next, _, _ := bytes.Cut(head, []byte("\n"))
			_, _, framed := parseFrame(next)
			return framed
		}
		if _, _, framed := parseFrame(line); !framed || line[0] != ' ' && line[0] != '\t' {
			return false
		}
	}
	return false
}
