package parse

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"iocause/internal/parse/bpfstacks"
	"iocause/internal/parse/folded"
	"iocause/internal/parse/perfscript"
	"iocause/internal/parse/pprof"
	"iocause/internal/sample"
)

// StacksAsk is what is wanted of a file of stacks.
type StacksAsk struct {
	Name   string   // of the file, for errors
	Of     string   // event of perf's text, map of bpftrace, value of pprof; "" for the first, or pprof's own
	Count  bool     // switches weigh one each, not their time
	States []string // what may stand for a state at the end of folded stacks
	// NamesOnly says that of functions only the names are needed. Of text with many
	// functions less is kept then: those of one name are one, of no module.
	NamesOnly bool
	// Lines is told what became of the lines of a tool's text.
	Lines func(used, skipped, unknown int, bad []string)
}

// Stacks reads what is told by its content: a profile of pprof, what perf script
// prints, the stacks of tools of bcc and bpftrace, or folded stacks.
func Stacks(in io.Reader, ask *StacksAsk) (p *sample.Profile, err error) {
	const enough = 64 << 10 // bytes, to tell whose text it is
	buffered := bufio.NewReaderSize(in, enough)
	head, err := buffered.Peek(enough)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading stacks of %s: %w", ask.Name, err)
	}
	switch {
	case pprof.Looks(head):
		if p, err = pprof.Read(buffered, ask.Of); err != nil {
			return nil, fmt.Errorf("reading the pprof profile %s: %w", ask.Name, err)
		}
	case perfscript.Looks(head):
		res, err := perfscript.Read(buffered, perfscript.Options{Name: ask.Name, Event: ask.Of, Count: ask.Count, NamesOnly: ask.NamesOnly})
		if res != nil {
			ask.Lines(res.Used, res.Skipped, res.Unknown, res.Bad)
		}
		if err != nil {
			return nil, fmt.Errorf("reading perf script's text of %s: %w", ask.Name, err)
		}
		return res.Profile, nil
	case bpfstacks.Looks(head):
		res, err := bpfstacks.Read(buffered, bpfstacks.Options{Name: ask.Name, Map: ask.Of})
		if res != nil {
			ask.Lines(res.Used, res.Skipped, res.Unknown, res.Bad)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the stacks of %s: %w", ask.Name, err)
		}
		return res.Profile, nil
	default:
		if p, err = folded.Read(buffered, ask.States); err != nil {
			return nil, fmt.Errorf("reading folded stacks of %s: %w; each line is FUNCTION;FUNCTION NUMBER", ask.Name, err)
		}
	}
	p.Title = ask.Name
	return p, nil
}
