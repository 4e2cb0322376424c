// Package folded writes and reads profiles as text: one stack a line, its
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
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"iocause/internal/sample"
)

const kernelMark = "_[k]"

// Write writes a profile. Lines that come out alike are added up.
func Write(w io.Writer, p *sample.Profile) error {
	sums := map[string]int64{}
	for i := range p.Stacks {
		s := &p.Stacks[i]
		parts := []string{clean(cmp.Or(s.Process, "?"))}
		for _, f := range s.Frames {
			name := clean(f.Name)
			if f.Kernel {
				name += kernelMark
			}
			parts = append(parts, name)
		}
		if s.State != "" {
			parts = append(parts, "["+clean(s.State)+"]")
		}
		n := s.Time.Nanoseconds()
		if p.Counts == samples || p.Unit != "" {
			n = int64(s.Count)
		}
		sums[strings.Join(parts, ";")] += n
	}
	lines := make([]string, 0, len(sums))
	for line := range sums {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	out := bufio.NewWriter(w)
	for _, line := range lines {
		n := sums[line]
		if p.Counts != samples && p.Unit == "" {
			n = max(1, (n+500)/1000)
		}
		fmt.Fprintf(out, "%s %d\n", line, n)
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
	for i := range p.Stacks {
		s := &p.Stacks[i]
		parts := []string{strings.ReplaceAll(clean(s.Process), " ", "_")}
		for _, f := range s.Frames {
			name := " " // where perf prints none
			if f.Name != "" {
				name = clean(f.Name)
			}
			parts = append(parts, name)
		}
		sums[strings.Join(parts, ";")] += p.Weight(s)
	}
	out := bufio.NewWriter(w)
	for _, line := range slices.Sorted(maps.Keys(sums)) {
		n := sums[line]
		if p.Counts == "waits" {
			n = max(1, (n+500)/1000)
		}
		fmt.Fprintf(out, "%s %d\n", line, n)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing folded stacks: %w", err)
	}
	return nil
}

// clean takes what separates out of a name; all else that is no text is
// written as an escape.
func clean(name string) string {
	if name == "" {
		return "?"
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

// longestLine bounds what is read of one line, in bytes.
const longestLine = 1 << 20

// Read reads folded stacks, whoever wrote them. Numbers are taken for
// microseconds. states are the names that mark a state when they come last, in
// brackets; stacks without one get the state "".
func Read(r io.Reader, states []string) (*sample.Profile, error) {
	p := &sample.Profile{Counts: "lines"}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestLine)
	seen := map[string]bool{}
	n := 0
	for lines.Scan() {
		n++
		line := strings.TrimRight(lines.Text(), " \t\r")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		if at < 0 {
			return nil, fmt.Errorf("line %d has no number at its end: %.60q", n, line)
		}
		value, err := strconv.ParseFloat(line[at+1:], 64)
		const most = 9e12 // microseconds that fit
		if err != nil || !(value >= 0 && value < most) {
			return nil, fmt.Errorf("line %d does not end in a number: %.60q", n, line)
		}
		s := sample.Stack{Time: time.Duration(value * 1000), Count: 1}
		parts := strings.Split(line[:at], ";")
		s.Process, parts = parts[0], parts[1:]
		if len(parts) > 0 {
			last := parts[len(parts)-1]
			if state := strings.Trim(last, "[]"); "["+state+"]" == last && slices.Contains(states, state) {
				s.State, parts = state, parts[:len(parts)-1]
			}
		}
		seen[s.State] = true
		for _, part := range parts {
			name, kernel := strings.CutSuffix(part, kernelMark)
			s.Frames = append(s.Frames, &sample.Frame{Name: name, Kernel: kernel})
		}
		p.Stacks = append(p.Stacks, s)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	if len(p.Stacks) == 0 {
		return nil, errors.New("it holds no stacks")
	}
	for _, state := range append(slices.Clone(states), "") {
		if seen[state] {
			p.States = append(p.States, state)
		}
	}
	return p, nil
}
