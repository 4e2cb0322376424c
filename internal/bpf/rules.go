package bpf

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"iocause/internal/host"
)

// Rule is struct rule of include/rules.bpf.h: a thread that sleeps in a kernel
// function, which begins and ends at these addresses, is of a class.
type Rule struct {
	Start, End uint64
	Class      uint32
	_          uint32
}

// MaxRules is RULES there.
const MaxRules = 128

// ErrHidden is kallsyms without its addresses.
var ErrHidden = errors.New("the kernel's addresses are hidden (kernel.kptr_restrict)")

// ReadRules looks kernel functions up, each with the class of who sleeps in it:
// /proc/kallsyms.
func ReadRules(h *host.Host, classes map[string]uint32) ([]Rule, error) {
	f, err := os.Open(h.Proc("kallsyms"))
	if err != nil {
		return nil, fmt.Errorf("looking for kernel functions: %w", err)
	}
	defer f.Close()
	rules, err := parseRules(f, classes)
	if err != nil {
		return nil, fmt.Errorf("looking for kernel functions in %s: %w", f.Name(), err)
	}
	return rules, nil
}

// parseRules finds where functions begin and end, in order of their addresses.
// A function ends where the next symbol begins; the parts that the compiler
// split off (".cold", ".part.0") count as the function.
func parseRules(r io.Reader, classes map[string]uint32) ([]Rule, error) {
	var starts []uint64
	var rules []Rule
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		hex, rest, _ := bytes.Cut(lines.Bytes(), []byte(" "))
		kind, name, ok := bytes.Cut(rest, []byte(" "))
		at, err := strconv.ParseUint(string(hex), 16, 64)
		if err != nil || !ok || len(kind) != 1 {
			return nil, &host.LineError{Line: n, What: fmt.Sprintf("%.40q is no symbol", lines.Bytes())}
		}
		if at == 0 {
			continue
		}
		starts = append(starts, at)
		name, _, _ = bytes.Cut(name, []byte("\t"))
		name, _, _ = bytes.Cut(name, []byte("."))
		if c, ok := classes[string(name)]; ok && (kind[0]|0x20 == 't' || kind[0]|0x20 == 'w') {
			rules = append(rules, Rule{Start: at, Class: c})
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(starts) == 0 {
		return nil, ErrHidden
	}
	slices.Sort(starts)
	slices.SortFunc(rules, func(a, b Rule) int { return cmp.Compare(a.Start, b.Start) })
	for i := range rules {
		at, _ := slices.BinarySearch(starts, rules[i].Start+1)
		rules[i].End = rules[i].Start + 1<<12 // of the last symbol of all
		if at < len(starts) {
			rules[i].End = starts[at]
		}
	}
	return rules, nil
}

// RuleConstants are the constants of include/rules.bpf.h; what is left out for
// want of room is said.
func RuleConstants(rules []Rule) (constants map[string]any, left int) {
	var all [MaxRules]Rule
	n := copy(all[:], rules)
	return map[string]any{"rules": all, "rule_count": uint32(n)}, len(rules) - n
}
