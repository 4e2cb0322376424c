// Package folded writes profiles as text: one stack a line, its
// functions from the outermost to the innermost with semicolons between, and a
// number. It is the input of most flame graph tools.
//
//	postgres;[fsync];main;...;fsync;do_syscall_64_[k];[filesystem] 48231
//
// The first function is the process. Functions of the kernel end in "_[k]". The
// last one is the state, in brackets, where there are states. The number is
// microseconds, or samples or events where these were counted.
package folded

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/sample"
)

const kernelMark = "_[k]"

// Write writes a profile. Lines that come out alike are added up.
func Write(w io.Writer, p *sample.Profile) error {
	sums := map[string]int64{}
	var line []byte
	for i := range p.Stacks {
		s := &p.Stacks[i]
		line = append(line[:0], clean(cmp.Or(s.Process, "?"))...)
		for _, f := range s.Frames {
			line = append(append(line, ';'), clean(f.Name)...)
			if f.Kernel {
				line = append(line, kernelMark...)
			}
		}
		if s.State != "" {
			line = append(append(append(line, ";["...), clean(s.State)...), ']')
		}
		n := s.Time.Nanoseconds()
		if p.Counts == samples || p.Unit != "" {
			n = int64(s.Count)
		}
		sums[string(line)] += n
	}
	return write(w, sums, p.Counts != samples && p.Unit == "")
}

// write writes sums by stack; inTime are nanoseconds, and written as microseconds.
func write(w io.Writer, sums map[string]int64, inTime bool) error {
	out := bufio.NewWriter(w)
	var number []byte
	for _, line := range slices.Sorted(maps.Keys(sums)) {
		n := sums[line]
		if inTime {
			n = max(1, (n+500)/1000)
		}
		number = append(strconv.AppendInt(append(number[:0], ' '), n, 10), '\n')
		out.WriteString(line) // errors are told by Flush
		out.Write(number)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing folded stacks: %w", err)
	}
	return nil
}

const samples = "samples"

// Collapse writes a profile as stackcollapse-perf.pl of FlameGraph does: the
// command with its spaces as underscores and the functions, without states and
// marks. Numbers are the sums of the samples' periods; waits are microseconds.
func Collapse(w io.Writer, p *sample.Profile) error {
	sums := map[string]int64{}
	var line []byte
	for i := range p.Stacks {
		s := &p.Stacks[i]
		line = append(line[:0], strings.ReplaceAll(clean(s.Process), " ", "_")...)
		for _, f := range s.Frames {
			name := " " // where perf prints none
			if f.Name != "" {
				name = clean(f.Name)
			}
			line = append(append(line, ';'), name...)
		}
		sums[string(line)] += p.Weight(s)
	}
	return write(w, sums, p.Counts == "waits")
}

// clean takes what separates out of a name; all else that is no text is
// written as an escape.
func clean(name string) string {
	if name == "" {
		return "?"
	}
	if !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' || r == ';' }) {
		return name
	}
	var b strings.Builder
	for _, r := range name {
		switch {
		case r == ';':
			b.WriteByte(':')
		case r < ' ' || r == 0x7f || r == 0x2028 || r == 0x2029 || r == '\ufffd':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
