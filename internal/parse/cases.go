package parse

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"iocause/internal/sample"
)

// Case is what belongs together: outputs of different tools that show one
// situation. A tool that shows something again begins the next.
type Case struct {
	Blocks    []*Block
	inherited *Block // a state that was said before
	Window    *sample.Window
	Notes     []string
	Seconds   float64
	Host      string // whose it is, where the text tells it
}

// maxCases bounds how many situations of one call are judged.
const maxCases = 500

// Cases sorts the outputs of texts into situations. Texts that show one
// situation each, and each with other tools, are one situation together; all makes everything one. left is
// how many there was no room for.
func Cases(texts []*Text, all bool) (cases []*Case, left int) {
	single := !anew(texts)
	var per [][]*Case
	for _, t := range texts {
		named := byHost(t.Blocks)
		single = single && len(named) <= 1
		for _, blocks := range named {
			c := split(blocks)
			single = single && len(c) <= 1
			per = append(per, c)
		}
	}
	if all || single {
		one := &Case{}
		for _, t := range texts {
			for _, b := range t.Blocks {
				if b.Repeats == 0 && b.says() {
					one.Blocks = append(one.Blocks, b)
				}
			}
		}
		if len(one.Blocks) > 0 {
			cases = append(cases, one)
		}
	} else {
		for _, c := range per {
			cases = append(cases, c...)
		}
	}
	if len(cases) > maxCases {
		left = len(cases) - maxCases
		cases = cases[:maxCases]
	}
	constants := constantsOf(texts)
	for _, c := range cases {
		c.build(constants)
	}
	return cases, left
}

// byHost parts the outputs of a text by the machine that they are of. Those of
// which it is not told go with the only machine that is named, or by themselves.
func byHost(blocks []*Block) [][]*Block {
	var names []string
	for _, b := range blocks {
		if b.Host != "" && !slices.Contains(names, b.Host) {
			names = append(names, b.Host)
		}
	}
	if len(names) < 2 {
		return [][]*Block{blocks}
	}
	var out [][]*Block
	for _, name := range append(names, "") {
		var of []*Block
		for _, b := range blocks {
			if b.Host == name {
				of = append(of, b)
			}
		}
		if len(of) > 0 {
			out = append(out, of)
		}
	}
	return out
}

// anew tells whether a text shows what a text before it has shown, with the same
// tool: then each is a situation of its own.
func anew(texts []*Text) bool {
	for i, t := range texts {
		for _, b := range t.Blocks {
			if b.state || b.Repeats > 0 {
				continue
			}
			for _, before := range texts[:i] {
				if before.File != t.File && slices.ContainsFunc(before.Blocks, func(old *Block) bool { return old.Repeats == 0 && old.Tool == b.Tool && again(old, b) }) {
					return true
				}
			}
		}
	}
	return false
}

// says tells whether anything was read out of an output.
func (b *Block) says() bool { return len(b.series) > 0 || len(b.hists) > 0 || len(b.Notes) > 0 }

// split sorts the outputs of one text.
func split(blocks []*Block) []*Case {
	var out []*Case
	now := &Case{}
	ended := 0 // the line that the last run ended in
	flush := func() {
		if slices.ContainsFunc(now.Blocks, func(b *Block) bool { return !b.state }) {
			out = append(out, now)
		}
		now = &Case{}
	}
	for _, b := range blocks {
		switch {
		case b.Repeats > 0:
			ended = b.Last
			continue
		case !b.says():
			continue
		}
		if slices.ContainsFunc(now.Blocks, func(old *Block) bool { return again(old, b) }) {
			next := now.giveUp(b, ended)
			flush()
			now.Blocks = next
		}
		now.Blocks = append(now.Blocks, b)
		if !b.state {
			ended = b.Last
		}
	}
	if len(out) == 0 && len(now.Blocks) > 0 {
		return []*Case{now} // the state of a machine is all there is
	}
	flush()
	for _, c := range out {
		c.inherit(blocks)
	}
	return out
}

// giveUp takes the states at the end of a case off it that stand nearer to the
// run that follows than to its own, which ended in a line.
func (c *Case) giveUp(run *Block, ended int) []*Block {
	at := len(c.Blocks)
	for at > 0 && !run.state && c.Blocks[at-1].state && run.First-c.Blocks[at-1].Last < c.Blocks[at-1].First-ended {
		at--
	}
	next := slices.Clone(c.Blocks[at:])
	c.Blocks = c.Blocks[:at]
	return next
}

// near is how many lines before a run a state may stand that holds for it too.
const near = 80

// inherit adds the last state of the memory before a case that has none.
func (c *Case) inherit(blocks []*Block) {
	memory := key{metric: sample.MemAvailable}
	for _, b := range c.Blocks {
		if b.series[memory] != nil {
			return
		}
	}
	first := c.Blocks[0].First
	for _, b := range slices.Backward(blocks) {
		if b.state && b.Last < first && b.Last >= first-near && b.series[memory] != nil {
			c.inherited = b
			c.Notes = append(c.Notes, fmt.Sprintf("the available memory is from line %d, before an earlier run: the text has nothing nearer", b.First))
			return
		}
	}
}

// again tells whether a block shows anew what an earlier one has shown: the
// same tool, the same kind of figures, and, of a state, another one.
func again(old, b *Block) bool {
	if b.state != old.state {
		return false
	}
	if old.Tool == b.Tool && b.identity != "" {
		return true
	}
	for k := range b.hists {
		if old.hists[k] != nil {
			return true
		}
	}
	for k, s := range b.series {
		before := old.series[k]
		switch {
		case before == nil, b.Tool == "dmesg": // what a log counts adds up
		case !b.state && old.Tool == b.Tool:
			return true
		case b.state && before.points[0].Value != s.points[0].Value:
			return true
		}
	}
	return false
}

// constantsOf are settings, which hold for all of a text unless a situation
// has its own, and the size of the memory.
func constantsOf(texts []*Text) map[key]*series {
	out := map[key]*series{}
	for _, t := range texts {
		for _, b := range t.Blocks {
			for k, s := range b.series {
				if k.metric != sample.Sysctl && k.metric != sample.MemTotal {
					continue
				}
				if old := out[k]; old != nil && old.points[0].Value != s.points[0].Value {
					s = nil // not the same everywhere
				}
				out[k] = s
			}
		}
	}
	return out
}

// build makes the window: each kind of figure was watched for a time of its own, and what
// was counted is carried over to the longest of them at the same rate.
func (c *Case) build(constants map[key]*series) {
	blocks := c.Blocks
	if c.inherited != nil {
		blocks = append(slices.Clone(blocks), c.inherited)
	}
	best := map[key]*joined{}
	for _, t := range join(blocks) {
		c.Seconds = max(c.Seconds, t.seconds)
		for k, s := range t.series {
			if old := best[k]; old == nil || len(s.points) > len(old.points) {
				s.seconds, s.counted = t.watched[k.kind()], t.series[key{metric: sample.CPUCount}] != nil
				best[k] = s
			}
		}
	}
	if c.Seconds == 0 {
		c.Seconds = 1
	}
	r := sample.NewRecorder(time.Unix(0, 0).UTC())
	of := kinds()
	cpus := 1.0
	if n := best[key{metric: sample.CPUCount}]; n != nil {
		cpus = n.points[len(n.points)-1].Value
	}
	for _, k := range slices.SortedFunc(maps.Keys(best), compareKeys) {
		s := best[k]
		scale := 1.0
		if s.seconds > 0 {
			scale = c.Seconds / s.seconds
		}
		if ofProcessors(k.metric) && !s.counted {
			for i := range s.points { // shares of all, of a tool that does not know how many they are
				s.points[i].Value *= cpus
			}
		}
		for _, p := range s.points {
			v := p.Value
			if of[k.metric] == sample.Counter {
				v *= scale
			}
			r.PutAt(time.Unix(0, 0).Add(time.Duration(float64(p.At)*scale)), k.metric, k.entity, v, source(s.file, s.first, s.last))
		}
	}
	for _, b := range c.Blocks {
		for k, h := range b.hists {
			r.PutHistogram(k.metric, k.entity, *h, source(b.File, b.First, b.Last))
		}
		for pid, p := range b.procs {
			r.PutProcess(pid, p)
		}
		for id, f := range b.files {
			r.PutFile(id, f)
		}
		if b.Host != "" && c.Host == "" {
			c.Host = b.Host
		}
		for _, n := range b.Notes {
			if !slices.Contains(c.Notes, n) {
				c.Notes = append(c.Notes, n)
			}
		}
	}
	for k, s := range constants {
		if _, ok := best[k]; !ok && s != nil {
			r.Put(k.metric, k.entity, s.points[0].Value, source(fileOf(c.Blocks), s.first, s.last))
		}
	}
	c.Window = r.Window(time.Unix(0, 0).Add(time.Duration(c.Seconds * 1e9)))
	c.Window.Told = true
	c.derive(r)
	c.explain(r)
}

// ofProcessors tells the times of processors.
func ofProcessors(m sample.Metric) bool {
	switch m {
	case sample.CPUUser, sample.CPUSystem, sample.CPUIdle, sample.CPUIOWait, sample.CPUSteal:
		return true
	}
	return false
}

// tool is all outputs of one tool in a case, one after the other.
type tool struct {
	name    string
	seconds float64         // that it watched, at most
	watched map[key]float64 // and each kind of figure: mpstat and pidstat are one tool
	series  map[key]*joined
}

// joined is one metric of one entity over all outputs of a tool.
type joined struct {
	file        string // of the first
	first, last int    // lines, of that file
	points      []sample.Point
	seconds     float64 // that the tool watched it
	counted     bool    // the tool tells how many processors there are
}

// join puts the outputs of each tool one after the other.
func join(blocks []*Block) []*tool {
	var out []*tool
	for _, b := range blocks {
		at := slices.IndexFunc(out, func(t *tool) bool { return t.name == b.Tool })
		if at < 0 {
			at = len(out)
			out = append(out, &tool{name: b.Tool, watched: map[key]float64{}, series: map[key]*joined{}})
		}
		t := out[at]
		for k, s := range b.series {
			begun := time.Duration(t.watched[k.kind()] * 1e9)
			x := t.series[k]
			if x == nil {
				x = &joined{file: b.File, first: s.first}
				t.series[k] = x
			}
			if b.File == x.file {
				x.first, x.last = min(x.first, s.first), max(x.last, s.last)
			}
			for _, p := range s.points {
				x.points = append(x.points, sample.Point{At: p.At + begun, Value: p.Value})
			}
		}
		t.watch(b)
	}
	return out
}

// watch counts the time of an output for each kind of figure that is in it.
func (t *tool) watch(b *Block) {
	t.seconds = max(t.seconds, b.Seconds)
	for k := range b.shown() {
		t.watched[k] += b.Seconds
		t.seconds = max(t.seconds, t.watched[k])
	}
}

// shown are the kinds of figures in an output.
func (b *Block) shown() map[key]bool {
	out := map[key]bool{}
	for k := range b.series {
		out[k.kind()] = true
	}
	for k := range b.hists {
		out[k.kind()] = true
	}
	return out
}

// kind is the metric, whatever process or device it is of: where one is missing
// it did nothing. The host's classes are watched each by itself, as the pressure
// on memory and on I/O is.
func (k key) kind() key {
	if k.entity.PID != 0 || k.entity.Device != "" {
		return key{metric: k.metric}
	}
	return key{metric: k.metric, entity: sample.Entity{Class: k.entity.Class}}
}

func fileOf(blocks []*Block) string { return blocks[0].File }

// source is where figures stand.
func source(file string, first, last int) string {
	return file + ":" + span(first, last)
}

func span(first, last int) string {
	if first == last {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.metric, b.metric), cmp.Compare(a.entity.Device, b.entity.Device),
		cmp.Compare(a.entity.PID, b.entity.PID), cmp.Compare(a.entity.Cgroup, b.entity.Cgroup),
		cmp.Compare(a.entity.Class, b.entity.Class), cmp.Compare(a.entity.File.Ino, b.entity.File.Ino))
}
