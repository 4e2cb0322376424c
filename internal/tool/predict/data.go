// Package predict says what more or less memory would do for what is read
// through the page cache now.
package predict

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"iocause/internal/predict"
	"iocause/internal/source/probe/access"
)

// Prediction is what was observed, what is shown and what JSON has.
type Prediction struct {
	Version int            `json:"version"`
	Start   time.Time      `json:"time"`
	Seconds float64        `json:"seconds"`
	Of      string         `json:"of"`     // whose reads are in question, in words
	Place   *Place         `json:"place"`  // what bounds the cache that they use
	Curve   *predict.Curve `json:"curve"`  // null where nothing can be told
	Advice  []string       `json:"advice"` // what it says, in sentences; why nothing can be told where Curve is null
	Notes   []string       `json:"notes"`  // what a reader must know of the figures
	Reading *Reading       `json:"reading"`
	Files   []HeldFile     `json:"files"`   // the largest in the cache, with what other sizes hold of them
	Options []Option       `json:"options"` // other ways to keep in the cache what is read from disk now
}

// version is the version of its JSON.
const version = 1

// Ask is a size of memory that is asked for: bytes, or a part of what there is
// now; more than now where Beside is set.
type Ask struct {
	Bytes  float64
	Share  float64 // of what there is; 0: Bytes is meant
	Beside bool    // is added to what there is
}

// size is the memory that is meant.
func (a Ask) size(now int64) int64 {
	n := a.Bytes + a.Share*float64(now)
	if a.Beside {
		n += float64(now)
	}
	return int64(n)
}

// Predict ends the watch and works the prediction out.
func (o *Observer) Predict(asks []Ask) (*Prediction, error) {
	length := time.Since(o.began)
	if err := o.probe.Stop(); err != nil {
		return nil, err
	}
	o.polled = time.Time{}
	o.measured = time.Now()
	if err := o.Poll(); err != nil {
		return nil, err
	}
	losses, err := o.probe.Losses()
	if err != nil {
		return nil, err
	}
	lists, err := listsOf(o.host, knowTiers)
	if err != nil {
		return nil, err
	}
	p := &Prediction{Version: version, Start: o.began, Seconds: length.Seconds(), Of: o.filter.words(), Notes: o.notes(losses, lists)}
	chosen := o.choose()
	top := o.cgroup()
	if top == "" {
		top = o.busiest(chosen)
	}
	if p.Place, err = placeOf(o.host, top); err != nil {
		return nil, err
	}
	p.Place.lists = lists
	o.open = o.known(chosen)
	trace, pages := o.trace(p.Place, o.selection(chosen), length)
	if o.filter.given() || p.Place.Cgroup != "" {
		p.Reading = o.reading(chosen)
	}
	if r := p.Reading; r != nil && r.Threads > 0 && r.Own == 0 {
		p.Notes = append(p.Notes, "what watching took of the programs' time is not known, and is part of how much faster they get: it takes CAP_SYS_ADMIN to measure it")
	}
	machine, err := hostPlace(o.host)
	if err != nil {
		return nil, err
	}
	if r := p.Reading; r != nil && r.ended > mostEnded {
		p.Notes = append(p.Notes, fmt.Sprintf("how much faster reading gets is not known: %s of the waiting was of processes that have ended, and what they ran is not known", percent(r.ended)))
	}
	asked := p.targets(asks, machine.Memory)
	if seen := uint64(len(o.events)); losses.Events*10 > seen {
		p.Advice = []string{fmt.Sprintf("Cannot tell: %d of %d accesses to watched pages were lost, because iocause got no CPU. Try again while the machine is less busy.", losses.Events, losses.Events+seen)}
		return p, nil
	}
	p.Curve, err = predict.Work(trace, p.Place.setting(), predict.Sizes(p.Place.Memory, asked))
	if err != nil {
		p.Advice = []string{p.cannot(err)}
		return p, nil
	}
	if p.elsewhere() {
		return p, nil
	}
	if p.Reading != nil && o.filter.File.Ino == 0 {
		p.Curve.AddTimes(p.times())
	}
	p.Advice = append(p.advise(asked), p.caveats(trace)...)
	w := &whole{o, p, chosen, trace, pages}
	p.Files = w.files()
	p.Options = w.options()
	return p, nil
}

// targets are the sizes that are asked for and possible, in bytes; the notes say which
// are not, and which are more than the machine has.
func (p *Prediction) targets(asks []Ask, machine int64) (asked []int64) {
	for _, a := range asks {
		n := a.size(p.Place.Memory)
		switch {
		case n <= p.Place.Memory-p.Place.Room:
			p.Notes = append(p.Notes, fmt.Sprintf("%s is too small: memory that is not cache needs %s", bytes(float64(n)), bytes(float64(p.Place.Memory-p.Place.Room))))
			continue
		case n > machine:
			p.Notes = append(p.Notes, fmt.Sprintf("%s is more than the machine has (%s): it is predicted as if it had as much", bytes(float64(n)), bytes(float64(machine))))
		}
		asked = append(asked, n)
	}
	return asked
}

// choose tells whose events are in question: by process and cgroup.
func (o *Observer) choose() func(pid int, cgroup string) bool {
	f := &o.filter
	return func(pid int, cgroup string) bool {
		return (len(f.PIDs) == 0 || slices.Contains(f.PIDs, pid)) && (f.Comm == "" || o.comm(pid) == f.Comm) && below(cgroup, f.Cgroup)
	}
}

// busiest is the cgroup of which most comes from disk.
func (o *Observer) busiest(chosen func(int, string) bool) string {
	count := map[uint16]int{}
	for i := range o.events {
		if e := &o.events[i]; e.Kind == predict.Added && chosen(int(e.pid), o.cgroups[e.cgroup]) {
			count[e.cgroup]++
		}
	}
	best, most := "", 0
	for g, n := range count {
		if n > most || n == most && o.cgroups[g] < best {
			best, most = o.cgroups[g], n
		}
	}
	return best
}

// selection is which events are in question, of which pages.
type selection struct {
	asks  func(e *event) bool    // whose accesses are in question
	skip  func(page uint32) bool // pages that are left out; nil: none
	exact bool                   // all that these processes ask for is in question
}

// selection is that of the filter.
func (o *Observer) selection(chosen func(int, string) bool) selection {
	return selection{asks: func(e *event) bool { return e.Asked && chosen(int(e.pid), o.cgroups[e.cgroup]) }, exact: o.filter.File.Ino == 0}
}

// trace is what happened to the pages of a place, and which of the observer's pages
// each of them is.
func (o *Observer) trace(p *Place, of selection, length time.Duration) (t *predict.Trace, pages []uint32) {
	t = &predict.Trace{Scale: o.scale, Length: length}
	in := make([]bool, len(o.cgroups))
	for i, g := range o.cgroups {
		in[i] = p.Cgroup == "" || below(g, p.Cgroup)
	}
	number := make([]uint32, len(o.hashes))
	readers := map[int32]bool{}
	for i := range o.events {
		e := o.events[i]
		if number[e.Page] == 0 && !in[e.cgroup] || of.skip != nil && of.skip(e.Page) {
			continue
		}
		if number[e.Page] == 0 {
			pages = append(pages, e.Page)
			number[e.Page] = uint32(len(pages))
		}
		e.Asked = in[e.cgroup] && of.asks(&o.events[i])
		e.Page = number[e.Page] - 1
		if e.Kind == predict.Read && e.Asked {
			readers[e.pid] = true
		}
		t.Events = append(t.Events, e.Event)
	}
	t.Places, t.Sizes = o.places(pages)
	t.Ahead = o.readAhead()
	if t.Pages = len(pages); of.exact {
		t.Asked = o.totals(readers)
	}
	return t, pages
}

// totals adds up what processes asked for.
func (o *Observer) totals(readers map[int32]bool) (all []predict.Total) {
	more := map[uint32]uint64{} // by time
	for pid := range readers {
		before := uint64(0)
		for _, x := range o.asked[int(pid)] {
			more[x.At] += x.Pages - before
			before = x.Pages
		}
	}
	sum := uint64(0)
	for _, at := range slices.Sorted(maps.Keys(more)) {
		sum += more[at]
		all = append(all, predict.Total{At: at, Pages: sum})
	}
	return all
}

// lost says what is missing of the figures.
func lost(l access.Losses) (notes []string) {
	say := func(n uint64, format string) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(format, n))
		}
	}
	say(l.Events, "%d accesses to watched pages were lost: iocause got no CPU")
	say(l.Tasks, "reads of %d threads were not seen: there was no memory for them")
	say(l.Processes, "%d times there were too many processes: their reads are in no sum")
	say(l.Waits, "of %d calls it is not known how long they waited for the disk: too many processes")
	say(l.Returns, "of %d calls the kernel did not tell the end: they are in no sum")
	say(l.Inodes, "of %d events the file was not known: they are in no sum")
	say(l.Passed, "%d events were passed over by the kernel: they are in no sum")
	say(l.Long, "of %d calls only the first part was counted")
	return notes
}

// notes are what is missing of the figures, and of this kernel.
func (o *Observer) notes(l access.Losses, lists predict.Lists) []string {
	notes := lost(l)
	for _, point := range o.probe.Missing() {
		notes = append(notes, "this kernel has no tracepoint "+point)
	}
	if lists != predict.TwoLists {
		notes = append(notes, "this kernel keeps its cache by generations (MGLRU), which are simulated as they are for pages that calls read, without swap")
	}
	return notes
}
