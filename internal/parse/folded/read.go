// Package folded reads stacks that present/folded, or any tool of that format, wrote.
package folded

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"iocause/internal/sample"
)

// kernelMark ends the functions of the kernel.
const kernelMark = "_[k]"

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
		return nil, errors.New("it has no stacks")
	}
	for _, state := range append(slices.Clone(states), "") {
		if seen[state] {
			p.States = append(p.States, state)
		}
	}
	return p, nil
}
