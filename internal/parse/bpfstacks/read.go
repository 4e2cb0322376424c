// Package bpfstacks reads the stacks that tools of bcc and bpftrace print: one
// function a line, the innermost first, then a count or a time.
//
//	schedule                                @[
//	do_nanosleep                                submit_bio+5
//	-                sleep (4711)               ext4_read_bh+85
//	    1000123                             , go]: 17
//
// On the left what offcputime and profile of bcc print, on the right bpftrace.
package bpfstacks

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Options say what is wanted of a text.
type Options struct {
	Name string // of the file, for messages
	Map  string // the map of bpftrace to add up, with its @; "" is the first one
}

// Result is what was in a text.
type Result struct {
	Profile *sample.Profile
	Used    int // lines that are in the profile
	Skipped int // lines of other maps, titles, and stacks without an end
	Unknown int // lines that were not understood
	Bad     []string
}

const (
	mostBad     = 10
	longestLine = 1 << 16
	mostFrames  = 1 << 12 // of one stack
)

// ErrNone is returned for a text without any stack.
var ErrNone = errors.New("it has no stacks as printed by tools of bcc and bpftrace")

// Looks tells whether a text that begins like this holds such stacks.
func Looks(head []byte) bool {
	lines := bytes.Split(head, []byte("\n"))
	lines = lines[:max(len(lines)-1, 0)] // the last one may be cut off
	frames := 0
	for _, raw := range lines {
		line := string(bytes.TrimRight(raw, " \r"))
		_, isMap := mapOf(line)
		_, isNumber := weightOf(line)
		switch {
		case isMap:
			return true
		case isTitle(line):
		case line == "":
			frames = 0
		case isNumber:
			return frames > 1
		case indented(line) && !strings.Contains(line, ";"):
			frames++
		default:
			return false
		}
	}
	return false
}

// indented tells the lines of a stack of bcc.
func indented(line string) bool {
	return strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t")
}

// isTitle tells lines that the tools print before and between the stacks.
func isTitle(line string) bool {
	for _, p := range []string{"Tracing ", "Sampling ", "Attaching ", "^C", "WARNING:", "Detaching", "[...]", "stdin:", "Hit Ctrl-C"} {
		if strings.HasPrefix(strings.TrimLeft(line, " "), p) {
			return true
		}
	}
	return false
}

// mapOf reads the line that a stack of bpftrace begins with: "@io[", with
// other keys before the stack or not.
func mapOf(line string) (name string, ok bool) {
	if !strings.HasPrefix(line, "@") || strings.Contains(line, "]: ") {
		return "", false
	}
	name, _, ok = strings.Cut(line, "[")
	return name, ok && !strings.ContainsAny(name, " :")
}

// weightOf reads the line that ends a stack of bcc.
func weightOf(line string) (uint64, bool) {
	if !indented(line) {
		return 0, false
	}
	v, err := strconv.ParseUint(strings.TrimSpace(line), 10, 63)
	return v, err == nil
}

// Units of what is counted.
const (
	unknown = ""
	micros  = "us"
	nanos   = "ns"
	millis  = "ms"
)

// parser adds up the stacks of one text.
type parser struct {
	o      Options
	res    Result
	lineNo int
	title  string // the last one

	inMap    string // the map of the stack that is open
	keys     []string
	frames   []string
	kernel   int // frames that are the kernel's, as a delimiter tells
	lines    int
	chosen   string
	others   map[string]int
	unit     string
	mixed    bool // units differ
	named    map[string]*sample.Frame
	sums     map[string]*sample.Stack
	order    []*sample.Stack
	unclosed bool
}

// Read reads a text to its end. Memory grows with the number of different
// stacks.
func Read(r io.Reader, o Options) (*Result, error) {
	p := &parser{o: o, chosen: o.Map, others: map[string]int{}, named: map[string]*sample.Frame{}, sums: map[string]*sample.Stack{}}
	err := lines.Each(r, longestLine, func(raw []byte, cut bool) {
		p.lineNo++
		if cut {
			p.bad(string(raw[:60]), "longer than 64 KiB")
		} else {
			p.line(strings.TrimRight(string(raw), " \r\n"))
		}
	})
	if err != nil {
		return nil, err
	}
	return p.result()
}

func (p *parser) bad(line, why string) {
	p.res.Unknown++
	if len(p.res.Bad) < mostBad {
		p.res.Bad = append(p.res.Bad, fmt.Sprintf("%s:%d: %s: %.60q", p.o.Name, p.lineNo, why, line))
	}
}

// drop leaves a stack out that has no end.
func (p *parser) drop() {
	if p.lines > 0 {
		p.unclosed = true
	}
	p.res.Skipped += p.lines
	p.reset()
}

func (p *parser) reset() {
	p.inMap, p.keys, p.frames, p.kernel, p.lines = "", nil, nil, 0, 0
}

func (p *parser) line(line string) {
	if name, ok := mapOf(line); ok {
		p.drop()
		p.inMap, p.lines = name, 1
		p.key(strings.TrimPrefix(line, name+"["))
		return
	}
	if p.inMap != "" {
		p.mapLine(line)
		return
	}
	switch weight, ok := weightOf(line); {
	case line == "":
		p.drop()
		p.res.Skipped++
	case isTitle(line):
		p.drop()
		p.res.Skipped++
		if t := strings.TrimLeft(line, " "); strings.HasPrefix(t, "Tracing ") || strings.HasPrefix(t, "Sampling ") {
			p.title = strings.Clone(t)
		}
	case ok && len(p.frames) > 0:
		p.lines++
		p.endOfBCC(weight)
	case strings.TrimSpace(line) == "--" && p.lines > 0:
		p.lines++
		p.kernel = len(p.frames)
	case indented(line) && len(p.frames) < mostFrames:
		p.lines++
		p.frames = append(p.frames, strings.TrimSpace(line))
	default:
		p.bad(line, "no function of a stack")
	}
}

// mapLine takes a line between "@[" and "]: N".
func (p *parser) mapLine(line string) {
	p.lines++
	at := strings.LastIndex(line, "]: ")
	switch {
	case at >= 0 && !indented(line):
		weight, err := strconv.ParseUint(line[at+3:], 10, 63)
		if err != nil {
			p.lines--
			p.bad(line, "no number at the end of a stack")
			p.drop()
			return
		}
		p.key(line[:at])
		p.endOfMap(weight)
	case strings.HasPrefix(line, ","):
		p.key(line)
	case indented(line) && len(p.frames) < mostFrames:
		p.frames = append(p.frames, strings.TrimSpace(line))
	case line == "":
	default:
		p.lines--
		p.bad(line, "no function of a stack")
		p.drop()
	}
}

// key takes what stands between stacks in a key of bpftrace: a command, a
// number, or nothing.
func (p *parser) key(text string) {
	for _, k := range strings.Split(text, ", ") {
		if k = strings.Trim(k, ", "); k != "" {
			p.keys = append(p.keys, k)
		}
	}
}

func (p *parser) endOfMap(weight uint64) {
	if p.chosen == "" && len(p.frames) > 0 {
		p.chosen = p.inMap
	}
	if p.inMap != p.chosen || len(p.frames) == 0 {
		p.others[p.inMap]++
		p.res.Skipped += p.lines
		p.reset()
		return
	}
	comm, pid := "", 0
	for _, k := range p.keys {
		if n, err := strconv.Atoi(k); err == nil {
			pid = n
		} else {
			comm = k
		}
	}
	unit := unknown
	for _, u := range []string{micros, nanos, millis} {
		if name := strings.TrimLeft(p.inMap, "@"); name == u || strings.HasSuffix(name, "_"+u) || name == u[:1]+"secs" {
			unit = u
		}
	}
	p.add(comm, pid, unit, weight)
}

// endOfBCC takes a stack of bcc: the command comes last, after a dash or, as
// old versions print it, as if it were a function. stackcount prints none.
func (p *parser) endOfBCC(weight uint64) {
	last := p.frames[len(p.frames)-1]
	comm, pid := "", 0
	off := strings.Contains(p.title, "off-CPU time") || strings.Contains(p.title, "blocked time") || p.title == "" && p.leaves()
	if rest, ok := strings.CutPrefix(last, "- "); ok {
		comm = strings.TrimSpace(rest)
		if at := strings.LastIndex(comm, " ("); at > 0 && strings.HasSuffix(comm, ")") {
			if n, err := strconv.Atoi(comm[at+2 : len(comm)-1]); err == nil {
				comm, pid = comm[:at], n
			}
		}
		p.frames = p.frames[:len(p.frames)-1]
	} else if off {
		comm = last
		p.frames = p.frames[:len(p.frames)-1]
	}
	unit := unknown
	switch {
	case strings.Contains(p.title, "(ns)"):
		unit = nanos
	case strings.Contains(p.title, "(ms)"):
		unit = millis
	case off:
		unit = micros
	}
	p.add(comm, pid, unit, weight)
}

// leaves tells whether the stack is that of a thread that leaves its processor.
func (p *parser) leaves() bool {
	const near = 6
	for _, f := range p.frames[:min(near, len(p.frames))] {
		switch name := bare(f); name {
		case "schedule", "__schedule", "finish_task_switch", "finish_task_switch.isra.0", "__traceiter_sched_switch":
			return true
		}
	}
	return false
}

// bare takes the offset off a function: "+41" or "+0x1f".
func bare(name string) string {
	at := strings.LastIndexByte(name, '+')
	if at < 1 {
		return name
	}
	if _, err := strconv.ParseUint(name[at+1:], 0, 63); err != nil {
		return name
	}
	return name[:at]
}

// add adds a stack up with those that are alike.
func (p *parser) add(comm string, pid int, unit string, weight uint64) {
	if len(p.order) == 0 {
		p.unit = unit
	}
	p.mixed = p.mixed || unit != p.unit
	scale := uint64(1)
	switch unit {
	case micros:
		scale = 1e3
	case millis:
		scale = 1e6
	}
	key := fmt.Sprintf("%q %d %q %d", comm, pid, p.frames, p.kernel)
	s := p.sums[key]
	if s == nil {
		s = &sample.Stack{Process: strings.Clone(comm), PID: pid, TID: pid}
		for i := len(p.frames) - 1; i >= 0; i-- {
			s.Frames = append(s.Frames, p.frame(p.frames[i], i < p.kernel))
		}
		p.sums[key] = s
		p.order = append(p.order, s)
	}
	const most = math.MaxInt64 / 2
	if unit == unknown {
		s.Count = min(s.Count+min(weight, most), most)
	} else {
		s.Count++
		s.Time += min(time.Duration(min(weight, most/scale)*scale), most-s.Time)
	}
	p.res.Used += p.lines
	p.reset()
}

func (p *parser) frame(text string, kernel bool) *sample.Frame {
	key := text
	if kernel {
		key += "\x00"
	}
	f := p.named[key]
	if f == nil {
		f = &sample.Frame{Name: strings.Clone(bare(text)), Kernel: kernel}
		p.named[key] = f
	}
	return f
}

func (p *parser) result() (*Result, error) {
	p.drop()
	profile := &sample.Profile{Title: p.o.Name, Counts: "waits", States: []string{""}}
	if p.unit == unknown {
		profile.Counts = "samples"
		profile.Unit = "samples"
		if p.chosen != "" {
			profile.Unit = cmp.Or(strings.TrimLeft(p.chosen, "@"), "events")
		} else if !strings.HasPrefix(p.title, "Sampling") {
			profile.Unit = "events"
		}
	}
	for _, s := range p.order {
		profile.Stacks = append(profile.Stacks, *s)
	}
	p.res.Profile = profile
	note := func(format string, args ...any) { profile.Notes = append(profile.Notes, fmt.Sprintf(format, args...)) }
	names := make([]string, 0, len(p.others))
	for name := range p.others {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		note("%d entries of %s are left out; --event chooses another map", p.others[name], name)
	}
	if p.unclosed {
		note("stacks without a number at their end are left out (cut off)")
	}
	if len(p.order) == 0 {
		return &p.res, ErrNone
	}
	if p.mixed {
		return &p.res, fmt.Errorf("it has stacks in different units: give one tool's output at a time")
	}
	return &p.res, nil
}
