package bpf

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"

	"iocause/internal/host"
	"iocause/internal/procfile"
)

// Rule is struct rule of include/rules.bpf.h: a thread that sleeps in a kernel
// function, which begins and ends at these addresses, is of a class.
type Rule struct {
	Start, End uint64
	Class      uint32
	_          uint32
}

// MaxRules is RULES there.
const MaxRules = 256

// Inner and Outer are added to a class. The innermost function of a stack counts,
// except that a class that is Inner gives way to one further out that is Outer.
const (
	Inner = 0x10000
	Outer = 0x20000
)

// None is the class of functions that tell what a thread does not wait for. Any other
// class further out in the stack takes its place.
const None = 0xffff | Inner

// ReadRules looks kernel functions up, each with the class of who sleeps in it: by the
// kernel's iterator over its symbols, or in /proc/kallsyms, which has the same.
func ReadRules(h *host.Host, classes map[string]uint32) ([]Rule, error) {
	if rules, err := iterateRules(h, classes); err == nil {
		return rules, nil
	}
	f, err := os.Open(h.Proc("kallsyms"))
	if err != nil {
		return nil, fmt.Errorf("looking for kernel functions: %w", err)
	}
	defer f.Close()
	rules, err := rulesOf(procfile.Symbols(f), classes)
	if err != nil {
		return nil, fmt.Errorf("looking for kernel functions in %s: %w", f.Name(), err)
	}
	return rules, nil
}

func iterateRules(h *host.Host, classes map[string]uint32) ([]Rule, error) {
	if h.Proc() != "/proc" {
		return nil, fmt.Errorf("%w: %s is of another machine", ErrNotSupported, h.Proc())
	}
	types, err := LoadTypes()
	if err != nil {
		return nil, err
	}
	symbols, err := symbolsLike(types, maps.Keys(classes))
	if err != nil {
		return nil, err
	}
	return rulesOf(symbols, classes)
}

// rulesOf finds where functions begin and end, in order of their addresses.
// A function ends where the next symbol begins; the parts that the compiler
// split off (".cold", ".part.0") count as the function.
func rulesOf(symbols iter.Seq2[procfile.Symbol, error], classes map[string]uint32) ([]Rule, error) {
	var starts []uint64
	var rules []Rule
	for symbol, err := range symbols {
		if err != nil {
			return nil, err
		}
		starts = append(starts, symbol.Start)
		if !symbol.Text {
			continue
		}
		name, _, _ := bytes.Cut(symbol.Name, []byte("."))
		if c, ok := classes[string(name)]; ok {
			rules = append(rules, Rule{Start: symbol.Start, End: symbol.Start + 1<<12, Class: c}) // of the last symbol of all
		}
	}
	slices.SortFunc(rules, func(a, b Rule) int { return cmp.Compare(a.Start, b.Start) })
	// Each start may be the end of the last rule before it: that is quicker than
	// to sort them all, of which a few are out of order.
	ends := make([]uint64, len(rules))
	for _, start := range starts {
		at, _ := slices.BinarySearchFunc(rules, start, func(r Rule, start uint64) int { return cmp.Compare(r.Start, start) })
		if at > 0 && (ends[at-1] == 0 || start < ends[at-1]) {
			ends[at-1] = start
		}
	}
	for i := len(rules) - 1; i >= 0; i-- {
		switch {
		case i+1 < len(rules) && rules[i+1].Start == rules[i].Start: // two names of one function
			rules[i].End = rules[i+1].End
		case ends[i] != 0:
			rules[i].End = ends[i]
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
