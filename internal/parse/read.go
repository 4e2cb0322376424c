package parse

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"iocause/internal/parse/bpfstacks"
	"iocause/internal/parse/lines"
	"iocause/internal/parse/perfscript"
	"iocause/internal/sample"
)

// Bounds of one text.
const (
	maxBlocks    = 5000
	maxTotal     = 4 << 20 // points of all outputs
	maxFaults    = 100
	contextLines = 40   // lines before an output that its reader may look at
	contextOf    = 2000 // bytes of each, the last ones
	damage       = 2    // lines that are not of an output, between two that are
	patience     = 12   // foreign lines within an output that is quoted in pieces

	headBytes = 4 << 10 // of a line, in which an output must begin

	enough = 16 << 10 // bytes at the front, to tell stacks
)

// Fault is a line that looked like a tool's but could not be read.
type Fault struct {
	File string
	Line int
	Tool string
	Why  string
}

// Text is what was read of one file.
type Text struct {
	File    string
	Lines   int
	Outside int  // lines that belong to no output
	Long    int  // lines that were too long to be kept whole
	Images  int  // pictures that the text refers to: their figures cannot be read
	Stacks  bool // it begins as a text of stacks does, which is drawn and not judged
	Blocks  []*Block
	Left    int // outputs that there was no room for
	Faults  []Fault
	Faulty  int // how many faults there were in all
}

// Reader reads texts.
type Reader struct {
	Tools []Tool // those to look for
}

// open is an output that is being read.
type open struct {
	block   *Block
	record  *recorder
	reader  lines.Reader
	tool    *Tool
	parked  int  // foreign lines since its last one
	blanks  int  // lines without figures since then
	omitted bool // and among these one that stands for lines that were left out
}

// state is a text while it is being read.
type state struct {
	*Text
	tools  []Tool
	kinds  map[sample.Metric]sample.Kind
	open   *open
	recent [contextLines]string // a ring of the lines before
	points int                  // that are kept, of all outputs
	next   int                  // how many there were
	seen   map[string]*Block
	host   string // whose outputs these are, as far as the text tells
	asked  bool   // a prompt told it
}

// Read reads one text to its end. What it has found until an error is kept.
func (r *Reader) Read(ctx context.Context, name string, from io.Reader) (*Text, error) {
	s := &state{Text: &Text{File: name}, tools: r.Tools, kinds: kinds(), seen: map[string]*Block{}}
	plain, err := unpack(from)
	if err != nil {
		return s.Text, fmt.Errorf("reading %s: %w", name, err)
	}
	if b, ok := plain.(*bufio.Reader); ok {
		head, _ := b.Peek(enough) // an error comes again when it is read
		s.Stacks = perfscript.Looks(head) || bpfstacks.Looks(head)
	}
	in := newScanner(plain)
	of := newHosts(s)
	for {
		text, e := in.next()
		if e != nil {
			if !errors.Is(e, io.EOF) {
				err = fmt.Errorf("reading %s after line %d: %w", name, in.n, e)
			}
			break
		}
		of.prefixes.line(text, in.n)
		if in.n%4096 == 0 && ctx.Err() != nil {
			err = fmt.Errorf("reading %s after line %d: %w", name, in.n, context.Cause(ctx))
			break
		}
	}
	of.close()
	s.Lines, s.Long = in.n, in.long
	return s.Text, err
}

// line gives one line to the output under way, or looks whose it is.
func (s *state) line(l lines.Line) {
	defer s.remember(l.Text)
	s.whose(l.Text)
	if s.open != nil && omitted(l.Text) {
		s.open.blanks++ // of the output, if its rows go on behind it
		s.open.omitted = true
		return
	}
	if s.open != nil && s.take(l) {
		s.rest(l)
		return
	}
	for i := range s.tools {
		t := &s.tools[i]
		at := t.Find(l.Text[:min(len(l.Text), headBytes)])
		if at < 0 {
			continue
		}
		if s.begin(t, lines.Line{Text: l.Text[at:], N: l.N, At: l.At}, l.Text[:at]) {
			return
		}
	}
	if s.open != nil {
		if strings.TrimSpace(l.Text) == "" {
			s.open.blanks++
			return
		}
		s.open.parked++
		switch {
		case s.open.tool.Pieces && s.open.parked <= patience:
		case !s.open.tool.Pieces && s.open.parked <= damage && s.open.blanks == 0 && damaged(l.Text):
		default:
			s.close()
		}
	}
	s.Outside++
	if strings.Contains(l.Text, "![") || strings.Contains(l.Text, "<img ") {
		s.Images++
	}
}

// rest looks for the head of another output behind a prompt, in a line that an
// output ended in.
func (s *state) rest(l lines.Line) {
	if strings.IndexByte(l.Text, '#') < 0 && strings.IndexByte(l.Text, '$') < 0 {
		return
	}
	at := max(strings.LastIndex(l.Text, "# "), strings.LastIndex(l.Text, "$ "))
	if at <= 0 {
		return
	}
	for i := range s.tools {
		t := &s.tools[i]
		if found := t.Find(l.Text[at:]); found >= 0 && t.Name != s.open.tool.Name {
			s.begin(t, lines.Line{Text: l.Text[at+found:], N: l.N}, l.Text[:at+found])
			return
		}
	}
}

// take gives a line to the output under way. It is false when the line is not
// of that.
func (s *state) take(l lines.Line) bool {
	o := s.open
	if o.parked > 0 && !o.tool.Pieces {
		return s.resume(l)
	}
	if o.parked > 0 { // quoted in pieces: only what begins a piece goes on with it
		if at := o.tool.Find(l.Text); at < 0 {
			return false
		} else {
			l.Text = l.Text[at:]
		}
	}
	o.record.At(l.N)
	use, err := o.reader.Line(l, o.record)
	switch use {
	case lines.Used:
		o.block.Used++
	case lines.Skipped:
		if strings.TrimSpace(l.Text) == "" {
			o.blanks++
			return true
		}
		o.block.Skipped++
	case lines.Broken:
		o.block.Broken++
		s.fault(l.N, o.tool.Name, err)
	case lines.Another:
		s.close()
		return false
	default:
		return false
	}
	o.block.Skipped += o.blanks
	o.block.omits = o.block.omits || o.omitted
	o.parked, o.blanks, o.omitted = 0, 0, false
	o.block.Last = l.N
	return true
}

// resume gives a line to an output that a line or two before were not of: where
// its rows go on, those were damaged rows, and not the text behind it.
func (s *state) resume(l lines.Line) bool {
	o := s.open
	if o.tool.Find(l.Text) >= 0 || o.blanks > 0 {
		s.close()
		return false
	}
	o.record.At(l.N)
	if use, _ := o.reader.Line(l, o.record); use != lines.Used {
		return false
	}
	for n := l.N - o.parked; n < l.N; n++ {
		s.fault(n, o.tool.Name, errDamaged())
	}
	s.Outside -= o.parked
	o.block.Broken += o.parked
	o.block.Used++
	o.parked, o.block.Last = 0, l.N
	return true
}

// damaged tells what may be left of a row from a prompt, a command or prose.
func damaged(text string) bool {
	return strings.ContainsAny(text, "0123456789") && !strings.Contains(text, "$ ") && !strings.Contains(text, "# ") && len(strings.Fields(text)) < 40
}

func errDamaged() error { return errors.New("a foreign line in the table") }

func (s *state) fault(n int, tool string, err error) {
	if s.Faulty++; len(s.Faults) < maxFaults {
		why := "not understood"
		if err != nil {
			why = err.Error()
		}
		s.Faults = append(s.Faults, Fault{File: s.File, Line: n, Tool: tool, Why: why})
	}
}

// begin opens an output. It is false when its reader does not want the line
// after all.
func (s *state) begin(t *Tool, l lines.Line, prefix string) bool {
	s.close()
	if len(s.Blocks) >= maxBlocks || s.points > maxTotal {
		s.Left++
		return false
	}
	b := &Block{Tool: t.Name, File: s.File, First: l.N, Last: l.N, Host: s.host}
	o := &open{block: b, record: newRecorder(b, s.kinds), tool: t}
	o.reader = t.New(s.before(prefix))
	s.open = o
	if !s.take(l) {
		s.open = nil
		return false
	}
	return true
}

// close ends the output under way.
func (s *state) close() {
	o := s.open
	if o == nil {
		return
	}
	s.open = nil
	s.Outside += o.blanks
	o.record.At(o.block.Last)
	o.reader.Close(o.record)
	o.record.settle()
	b := o.block
	if b.omits {
		b.Notes = append(b.Notes, "some of its lines were omitted from the text")
	}
	if b.left > 0 {
		b.Notes = append(b.Notes, fmt.Sprintf("%s of more than %d devices and processes left out", sample.Counted(b.left, "value"), maxSeries))
	}
	if b.Merged > 1 {
		b.Notes = append(b.Notes, fmt.Sprintf("%d intervals: merged %d at a time", b.Intervals, b.Merged))
	}
	s.Blocks = append(s.Blocks, b)
	s.points += o.record.points
	if b.identity == "" {
		return
	}
	if old := s.seen[b.Tool+b.identity]; old != nil {
		s.repeat(old, b)
	} else {
		s.seen[b.Tool+b.identity] = b
	}
}

// repeat deals with a run that was shown before: the less damaged of the two
// counts, in the place of the first.
func (s *state) repeat(old, again *Block) {
	if again.Doubts < old.Doubts && len(again.series) >= len(old.series) {
		old.series, again.series = again.series, old.series
		old.hists, old.procs, old.files = again.hists, again.procs, again.files
		old.Notes = append([]string{fmt.Sprintf("replaced by the copy from line %d on, which has no contradictions", again.First)}, again.Notes...)
		old.Doubts, old.Seconds, old.Intervals = again.Doubts, again.Seconds, again.Intervals
	}
	again.Repeats, again.Notes, again.series, again.hists = old.First, nil, nil, nil
}

// remember keeps the text before an output: commands and heads stand there.
func (s *state) remember(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	s.recent[s.next%contextLines] = text[max(0, len(text)-contextOf):]
	s.next++
}

// before is the text before an output, with what precedes it in its own line.
func (s *state) before(prefix string) string {
	var b strings.Builder
	for i := max(0, s.next-contextLines); i < s.next; i++ {
		b.WriteString(s.recent[i%contextLines])
		b.WriteByte('\n')
	}
	b.WriteString(prefix)
	return b.String()
}
