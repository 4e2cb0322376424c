package perfscript

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"iocause/internal/sample"
)

// parser adds up the samples of one text.
type parser struct {
	o         Options
	res       Result
	lineNo    int
	event     string // that is added up
	merged    map[string]bool
	others    map[string]int // samples left out, by event
	functions *functions
	comms     map[string]uint32
	names     []string        // of the commands, by their numbers
	sums      map[uint64]*sum // by the hash of command, lists and state
	order     []*sum
	chunk     []sum // where the next sums come from

	open   bool // inside a sample
	keep   bool // and it counts
	java   bool // it is of Java
	lines  int  // of the sample so far
	frames int
	period uint64
	key    []byte // command, state and lists of the sample, innermost first
	timed  bool   // all periods are nanoseconds

	off     bool // switches are added up by time
	leaving *wait
	waits   map[int]*wait
	cut     bool
	noTime  int
	unseen  int // waits whose end was not recorded
	stats   int // events of the scheduler's statistics
	told    int // waits whose length only such an event tells
}

// sum is what is known of one stack.
type sum struct {
	comm   string
	state  string
	lists  string // their numbers
	weight int64
	count  uint64
}

const (
	idSize    = 4 // bytes of a list in a key
	chunkSums = 64
)

func newParser(o Options) *parser {
	return &parser{
		o: o, event: o.Event, timed: true,
		merged: map[string]bool{}, others: map[string]int{},
		functions: newFunctions(o.NamesOnly), comms: map[string]uint32{}, sums: map[uint64]*sum{}, waits: map[int]*wait{},
	}
}

func (p *parser) bad(line []byte, why string) {
	p.res.Unknown++
	if len(p.res.Bad) < mostBad {
		p.res.Bad = append(p.res.Bad, fmt.Sprintf("%s:%d: %s: %.60q", p.o.Name, p.lineNo, why, line))
	}
}

func (p *parser) line(line []byte) {
	switch {
	case len(line) == 0:
		if p.open {
			p.lines++
			p.end()
		} else {
			p.res.Skipped++
		}
	case line[0] == '#':
		p.res.Skipped++
	case space(line[0]) && p.open:
		p.stackLine(line)
	default:
		h, ok := parseHeader(bytes.TrimLeft(line, " \t"))
		if !ok && p.open && framed(line) {
			p.stackLine(line)
			return
		}
		if !ok {
			p.bad(line, "no sample and no function")
			return
		}
		if p.open {
			p.end()
		}
		p.begin(h)
	}
}

// framed tells a function whose indent is lost.
func framed(line []byte) bool {
	_, _, ok := parseFrame(line)
	return ok
}

// stackLine takes a function into the sample.
func (p *parser) stackLine(line []byte) {
	if p.keep && !p.functions.addLine(line, p.java) || !p.keep && !framed(line) {
		p.bad(line, "no function of a stack")
		return
	}
	p.lines++
	p.frames++
	if len(p.functions.waiting) == mostWaiting {
		p.key = p.functions.take(p.key)
	}
}

// begin takes the first line of a sample.
func (p *parser) begin(h header) {
	p.open, p.lines, p.frames, p.leaving = true, 1, 0, nil
	p.period = h.period
	p.java = bytes.HasPrefix(h.comm, []byte("java"))
	if p.event == "" && len(h.event) > 0 && !p.off && len(p.merged) == 0 {
		p.off = !p.o.Count && scheduler(string(h.event))
	} else if p.event != "" && len(p.order) == 0 && len(p.waits) == 0 {
		p.off = !p.o.Count && p.event == switchEvent
	}
	name, module, oneLine := parseFrame(h.payload)
	if p.off {
		p.schedule(h)
	} else {
		p.choose(h, oneLine)
	}
	if !p.keep {
		return
	}
	p.key = binary.LittleEndian.AppendUint32(p.key[:0], p.commID(h.comm))
	if oneLine && !p.off {
		p.functions.add(name, module, p.java)
		p.frames++
		p.end()
	}
}

// choose tells whether a sample is of the event that is added up: the first
// one, and tracepoints that print their fields, which count as one each.
func (p *parser) choose(h header, oneLine bool) {
	p.keep = true
	fields := h.payload != nil && !oneLine
	switch {
	case len(h.event) == 0:
		p.period, p.timed = 1, false
	case p.o.Event != "":
		p.keep = string(h.event) == p.o.Event
	case fields:
		p.period = 1
	case p.event == "":
		p.event = string(h.event)
	default:
		p.keep = string(h.event) == p.event
	}
	if !p.keep {
		p.others[string(h.event)]++
		return
	}
	if !p.merged[string(h.event)] {
		p.merged[string(h.event)] = true
	}
	if p.timed && (fields || !h.counted || !nanoseconds(string(h.event))) {
		p.timed = false
	}
}

// nanoseconds tells whether an event's period is time.
func nanoseconds(event string) bool {
	return strings.HasPrefix(event, "cpu-clock") || strings.HasPrefix(event, "task-clock")
}

func (p *parser) commID(comm []byte) uint32 {
	id, ok := p.comms[string(comm)]
	if !ok {
		id = uint32(len(p.names))
		p.names = append(p.names, string(comm))
		p.comms[p.names[id]] = id
	}
	return id
}

// end takes a whole sample.
func (p *parser) end() {
	p.open = false
	if !p.keep {
		p.res.Skipped += p.lines
		return
	}
	p.res.Used += p.lines
	p.key = p.functions.take(p.key)
	if p.off {
		p.leave()
		return
	}
	const most = 1 << 62
	s := p.sumOf(p.names[binary.LittleEndian.Uint32(p.key)], p.key, "")
	s.weight = int64(min(uint64(s.weight)+min(p.period, most), most))
	s.count++
}

// sumOf is the sum of a stack in a state, made if need be. key begins with the
// command.
func (p *parser) sumOf(comm string, key []byte, state string) *sum {
	p.key = append(append(p.key[:0], key...), state...)
	h := p.functions.hash(p.key, false)
	s := p.sums[h]
	if s == nil {
		if len(p.chunk) == cap(p.chunk) {
			p.chunk = make([]sum, 0, chunkSums)
		}
		p.chunk = append(p.chunk, sum{comm: comm, state: state, lists: string(p.key[idSize : len(p.key)-len(state)])})
		s = &p.chunk[len(p.chunk)-1]
		p.sums[h] = s
		p.order = append(p.order, s)
	}
	return s
}

// number32 is the first number of a key.
func number32(key string) uint32 {
	return uint32(key[0]) | uint32(key[1])<<8 | uint32(key[2])<<16 | uint32(key[3])<<24
}

// result makes the profile.
func (p *parser) result() (*Result, error) {
	if p.open {
		p.cut = p.frames > 0
		p.end()
	}
	for tid, w := range p.waits { // whose length is known all the same
		if p.tell(w) {
			delete(p.waits, tid)
		}
	}
	profile := &sample.Profile{Title: p.o.Name, Counts: "samples"}
	if p.off {
		profile.Counts = "waits"
	} else if !p.timed {
		profile.Unit = p.unit()
	}
	seen := map[string]bool{}
	lists := 0
	for _, s := range p.order {
		lists += len(s.lists) / idSize
	}
	frames := make([]*sample.Frame, 0, lists) // of all stacks; more where functions are inlined
	profile.Stacks = make([]sample.Stack, 0, len(p.order))
	for _, s := range p.order {
		one := sample.Stack{Process: s.comm, State: s.state, Count: s.count}
		if profile.Unit == "" {
			one.Time = time.Duration(s.weight)
		} else {
			one.Count = uint64(s.weight)
		}
		from := len(frames)
		for i := len(s.lists); i > 0; i -= idSize {
			frames = p.functions.list(frames, number32(s.lists[i-idSize:]))
		}
		one.Frames = frames[from:len(frames):len(frames)]
		if !seen[s.state] {
			seen[s.state] = true
			profile.States = append(profile.States, s.state)
		}
		profile.Stacks = append(profile.Stacks, one)
	}
	p.notes(profile)
	p.res.Profile = profile
	if len(profile.Stacks) == 0 {
		if n := len(p.waits) + p.unseen; p.off && n > 0 {
			return &p.res, fmt.Errorf("%d waits have no switch back to the thread: record all processors with 'perf record -a', or draw counts with --by count", n)
		}
		if p.stats > 0 {
			return &p.res, errors.New("it has sched_stat events but no switches, which have the stacks of the waits: record sched:sched_switch as well, or name an event with --event")
		}
		return &p.res, ErrNone
	}
	return &p.res, nil
}

// unit names what is counted: one event, or several that are added together.
func (p *parser) unit() string {
	if len(p.merged) > 1 {
		return "events"
	}
	for e := range p.merged {
		if e != "" {
			return e
		}
	}
	return "samples"
}
