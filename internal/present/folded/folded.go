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
	"slices"
	"strconv"
	"strings"

	"iocause/internal/sample"
)

const kernelMark = "_[k]"

// Write writes a profile. Lines that come out alike are added up.
func Write(w io.Writer, p *sample.Profile) error {
	all := make([]stack, 0, len(p.Stacks))
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
		all = append(all, stack{string(line), n})
	}
	return write(w, all, p.Counts != samples && p.Unit == "")
}

// stack is a line, and what it weighs.
type stack struct {
	line string
	n    int64
}

// write writes stacks in order, those that are alike as one; inTime are nanoseconds,
// and written as microseconds.
func write(w io.Writer, all []stack, inTime bool) error {
	slices.SortFunc(all, func(a, b stack) int { return strings.Compare(a.line, b.line) })
	out := bufio.NewWriter(w)
	var number []byte
	for len(all) > 0 {
		line, n := all[0].line, int64(0)
		for ; len(all) > 0 && all[0].line == line; all = all[1:] {
			n += all[0].n
		}
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
	all := make([]stack, 0, len(p.Stacks))
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
		all = append(all, stack{string(line), p.Weight(s)})
	}
	return write(w, all, p.Counts == "waits")
}

// plain tells whether a name has none of what clean changes.
func plain(name string) bool {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c > '~' || c == ';' {
			return false
		}
	}
	return true
}

// clean takes what separates out of a name; all else that is no text is
// written as an escape.
func clean(name string) string {
	if name == "" {
		return "?"
	}
	if plain(name) {
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
