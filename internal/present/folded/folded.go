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
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

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

// Is tells from its beginning whether a file holds folded stacks, whoever wrote them.
func Is(first []byte) bool {
	line, _, whole := bytes.Cut(first, []byte("\n"))
	blank := bytes.LastIndexByte(line, ' ')
	_, err := strconv.ParseUint(string(line[blank+1:]), 10, 64)
	return whole && blank > 0 && err == nil
}

const samples = "samples"

// Collapse writes a profile as stackcollapse-perf.pl of FlameGraph does: the
// command with its spaces as underscores and the functions, without states and
// marks. Numbers are the sums of the samples' periods; waits are microseconds.
func Collapse(w io.Writer, p *sample.Profile) error {
	all := make([]stack, len(p.Stacks))
	const part = 4096 // stacks that one processor takes at a time
	var parts sync.WaitGroup
	for from := 0; from < len(all); from += part {
		to := min(from+part, len(all))
		parts.Go(func() { collapse(all[from:to], p.Stacks[from:to], p) })
	}
	parts.Wait()
	return write(w, all, p.Counts == "waits")
}

// collapse makes the lines of some stacks.
func collapse(to []stack, stacks []sample.Stack, p *sample.Profile) {
	var lines *strings.Builder // many of them, one after the other: a string each would be copied once more
	for i := range stacks {
		s := &stacks[i]
		process := strings.ReplaceAll(clean(s.Process), " ", "_")
		length, allPlain := len(process), true // found out for all first: so the processor fetches many names at once
		for _, f := range s.Frames {
			allPlain = allPlain && plain(f.Name)
			length += len(";") + max(len(f.Name), 1)
		}
		if lines == nil || lines.Cap()-lines.Len() < length {
			lines = new(strings.Builder)
			lines.Grow(max(length, blockOfLines))
		}
		from := lines.Len()
		lines.WriteString(process)
		for _, f := range s.Frames {
			name := f.Name
			switch {
			case name == "":
				name = " " // where perf prints none
			case !allPlain:
				name = clean(name)
			}
			lines.WriteByte(';')
			lines.WriteString(name)
		}
		to[i] = stack{lines.String()[from:], p.Weight(s)}
	}
}

// blockOfLines is how many bytes of lines are together.
const blockOfLines = 64 << 10

// plain tells whether a name has none of what clean changes. It may say no where that
// is so.
func plain(name string) bool {
	const (
		ones = 0x0101010101010101
		tops = 0x80 * ones // the sign of each of eight bytes
	)
	for ; len(name) >= 8; name = name[8:] {
		w := uint64(name[0]) | uint64(name[1])<<8 | uint64(name[2])<<16 | uint64(name[3])<<24 |
			uint64(name[4])<<32 | uint64(name[5])<<40 | uint64(name[6])<<48 | uint64(name[7])<<56
		semicolon := w ^ ';'*ones
		if (w|(w+ones)|(w-' '*ones)|(semicolon-ones))&tops != 0 {
			return false
		}
	}
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
