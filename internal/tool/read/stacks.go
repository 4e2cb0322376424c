package read

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"iocause/internal/parse"
	"iocause/internal/sample"
	"iocause/internal/source/probe/stacks"
)

// StacksAsk is what is wanted of a file of stacks.
type StacksAsk struct {
	Name      string // of the file; "-" is stdin
	Event     string // one of those in it; "" for the first
	ByCount   bool   // weigh switches by their number, not by their time
	NamesOnly bool   // of functions; not whose they are
}

// Stacks reads a file of stacks that iocause or another tool has written. note is told
// what became of the lines of a text.
func Stacks(stdin io.Reader, ask StacksAsk, note func(string)) (*sample.Profile, error) {
	in, name := stdin, ask.Name
	if name != "-" {
		f, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("reading folded stacks: %w; record some with 'iocause offcpu -o %s'", err, name)
		}
		if err != nil {
			return nil, fmt.Errorf("reading folded stacks: %w", err)
		}
		defer f.Close()
		in = f
	}
	var states []string
	for _, state := range stacks.States() {
		states = append(states, string(state))
	}
	return parse.Stacks(in, &parse.StacksAsk{Name: name, Of: ask.Event, Count: ask.ByCount, NamesOnly: ask.NamesOnly, States: states, Lines: func(used, skipped, unknown int, bad []string) {
		for _, line := range bad {
			note(line)
		}
		note(fmt.Sprintf("%s: %s used, %d skipped, %d not understood", name, sample.Counted(used, "line"), skipped, unknown))
	}})
}

// Beside makes after what is drawn beside before: its title and its notes say of what
// both are. Stacks that are weighed differently cannot be compared.
func Beside(before, after *sample.Profile, nameBefore, nameAfter string) error {
	unit := func(p *sample.Profile) string { return cmp.Or(p.Unit, "time") }
	if unit(before) != unit(after) {
		return fmt.Errorf("comparing %s with %s: one is %s, the other %s", nameBefore, nameAfter, unit(before), unit(after))
	}
	for _, note := range before.Notes {
		after.Notes = append(after.Notes, "before: "+note)
	}
	after.Title = "What changed"
	after.Notes = append(after.Notes, fmt.Sprintf("before: %s, after: %s", nameBefore, nameAfter))
	return nil
}
