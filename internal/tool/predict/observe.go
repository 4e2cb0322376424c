package predict

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/predict"
	"iocause/internal/procfile"
	"iocause/internal/sample"
	"iocause/internal/source/probe/access"
)

// Filter says whose reads are in question. The cache is of all, in any case.
type Filter struct {
	PIDs   []int
	Comm   string
	Cgroup string
	File   sample.FileID // the zero value for any
}

func (f *Filter) given() bool { return len(f.PIDs) > 0 || f.Comm != "" || f.Cgroup != "" }

// Poll is the time from one Poll to the next: often enough for the kernel's room.
const Poll = 50 * time.Millisecond

const (
	mostEvents = 1 << 22 // that are kept; then half of the pages are let go
	mostPages  = 1 << 20
	wanted     = 1 << 14 // watched pages in the cache, about
)

// pageKey is a page of a file.
type pageKey struct {
	file sample.FileID
	page uint64
}

// event is one of the trace, with whose it is.
type event struct {
	predict.Event
	cgroup uint16 // place in Observer.cgroups
	pid    int32
}

// Observer watches accesses. It is used by one goroutine.
type Observer struct {
	host   *host.Host
	filter Filter
	probe  *access.Probe
	lookup *host.Lookup

	began    time.Time
	epoch    time.Duration // of the first event, on the monotonic clock
	scale    int
	thin     uint32
	events   []event
	pages    map[pageKey]uint32
	hashes   []uint32 // by page
	cgroups  []string
	groupAt  map[uint64]uint16
	asked    map[int][]predict.Total // by process
	comms    map[int]string
	before   map[int]work // what processes had done when they were first seen
	polled   time.Time
	open     map[sample.FileID]host.OpenFile // by those in question, at the end
	measured time.Time                       // when it last was what the programs take
	hits     hitCost                         // before they were there
}

// Open begins to watch.
func Open(h *host.Host, f Filter) (*Observer, error) {
	o := &Observer{host: h, filter: f, lookup: host.NewLookup(h), pages: map[pageKey]uint32{}, groupAt: map[uint64]uint16{},
		asked: map[int][]predict.Total{}, comms: map[int]string{}, before: map[int]work{}}
	place, err := placeOf(h, o.cgroup())
	if err != nil {
		return nil, err
	}
	const least, most = 3, 8 // powers of two
	shift := least
	for pages := place.Room / int64(os.Getpagesize()); shift < most && pages>>(shift+1) >= wanted; {
		shift++
	}
	o.scale = access.PerPage() << shift
	o.hits = costOfHits()
	if o.probe, err = access.Open(h, shift); err != nil {
		return nil, unseen(err)
	}
	o.began = time.Now()
	return o, nil
}

// unseen says what a kernel that does not tell of reads means for a prediction.
func unseen(err error) error {
	if !errors.Is(err, bpf.ErrNotSupported) {
		return err
	}
	return fmt.Errorf("nothing can be predicted here, since the kernel does not tell of every read; 'iocause check' lists what it tells of: %w", err)
}

// cgroup is the memory cgroup that the filter asks about, "" where it names none.
func (o *Observer) cgroup() string {
	if o.filter.Cgroup != "" {
		return o.filter.Cgroup
	}
	if len(o.filter.PIDs) == 0 {
		return ""
	}
	own, _ := procfile.ReadCgroups(o.host.Proc(strconv.Itoa(o.filter.PIDs[0]), "cgroup"))
	return own.Memory() // "" for a process that has ended
}

// Close ends the watch.
func (o *Observer) Close() error { return o.probe.Close() }

// Seen is how many accesses of watched pages are kept so far.
func (o *Observer) Seen() int { return len(o.events) }

// Poll takes what has arrived.
func (o *Observer) Poll() error {
	err := o.probe.Each(o.take)
	if now := time.Now(); now.Sub(o.polled) >= time.Second/4 {
		o.polled = now
		err = errors.Join(err, o.readers())
	}
	if now := time.Now(); now.Sub(o.measured) >= 5*time.Second {
		o.measured = now
		err = errors.Join(err, o.probe.Measure())
	}
	return err
}

// readers keeps how much processes have asked for so far.
func (o *Observer) readers() error {
	all, err := o.probe.Processes()
	at := uint32(time.Since(o.began).Milliseconds())
	for pid, p := range all {
		if _, ok := o.before[pid]; !ok {
			o.before[pid] = workOf(o.host, pid)
			o.comm(pid)
			o.asked[pid] = []predict.Total{{}}
		}
		o.asked[pid] = keepTotal(o.asked[pid], predict.Total{At: at, Pages: p.Asked})
	}
	return err
}

// mostTotals are kept of each process; a block of the window has dozens of them.
const mostTotals = 1024

// keepTotal adds what a process has asked for. While it asks for nothing, only the first
// and the last total say anything; of very many, each second one says enough.
func keepTotal(l []predict.Total, x predict.Total) []predict.Total {
	if n := len(l); n > 1 && l[n-1].Pages == x.Pages && l[n-2].Pages == x.Pages {
		l[n-1].At = x.At
		return l
	}
	if len(l) >= mostTotals {
		for i := range len(l) / 2 {
			l[i] = l[2*i]
		}
		l = l[:len(l)/2]
	}
	return append(l, x)
}

// take keeps an event.
func (o *Observer) take(e access.Event) {
	if e.Hash&o.thin != 0 { // was on its way when half of the pages were let go
		return
	}
	if o.epoch == 0 {
		o.epoch = e.At - time.Since(o.began)
	}
	key := pageKey{e.File, e.Page}
	page, ok := o.pages[key]
	if !ok {
		page = uint32(len(o.hashes))
		o.pages[key] = page
		o.hashes = append(o.hashes, e.Hash)
	}
	group, ok := o.groupAt[e.Cgroup]
	if !ok {
		path := o.lookup.MemoryCgroup(e.Cgroup)
		group = uint16(max(0, slices.Index(o.cgroups, path)))
		if !slices.Contains(o.cgroups, path) && len(o.cgroups) < 1<<16 {
			group = uint16(len(o.cgroups))
			o.cgroups = append(o.cgroups, path)
		}
		o.groupAt[e.Cgroup] = group
	}
	asked := o.filter.File == (sample.FileID{}) || o.filter.File == e.File
	at := uint32(max(0, (e.At - o.epoch).Milliseconds()))
	o.events = append(o.events, event{predict.Event{Page: page, At: at, Kind: predict.Kind(e.Kind), Asked: asked}, group, int32(e.PID)})
	if len(o.events) >= mostEvents || len(o.hashes) >= mostPages {
		o.halve(func(bits uint32) { _ = o.probe.Thin(bits) }) // until it does, take leaves them out
	}
}

// halve lets half of the watched pages go; thin tells the kernel which.
func (o *Observer) halve(thin func(bits uint32)) {
	bit := o.thin + 1
	o.thin |= bit
	o.scale *= 2
	thin(o.thin)
	number := make([]uint32, len(o.hashes))
	var hashes []uint32
	for page, hash := range o.hashes {
		if hash&o.thin == 0 {
			hashes = append(hashes, hash)
			number[page] = uint32(len(hashes))
		}
	}
	for key, page := range o.pages {
		if number[page] == 0 {
			delete(o.pages, key)
		} else {
			o.pages[key] = number[page] - 1
		}
	}
	kept := o.events[:0]
	for _, e := range o.events {
		if n := number[e.Page]; n > 0 {
			e.Page = n - 1
			kept = append(kept, e)
		}
	}
	o.events, o.hashes = kept, hashes
}

// comm is a process's name when it was seen first.
func (o *Observer) comm(pid int) string {
	name, ok := o.comms[pid]
	if !ok {
		name, _ = o.host.CommOf(pid) // "" where it has ended
		o.comms[pid] = name
	}
	return name
}

// below tells whether a cgroup is one or lies below it.
func below(cgroup, top string) bool {
	return top == "" || top == "/" || cgroup == top || strings.HasPrefix(cgroup, path.Clean(top)+"/")
}
