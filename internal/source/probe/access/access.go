// Package access hands over what happens to a sample of the page cache's pages,
// one by one: they are put in, asked for, written, evicted. docs/predict.md says
// what is made of it.
package access

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// Kind is what happened to a page; it is enum kind of the program.
type Kind uint32

// The kinds.
const (
	Read    Kind = iota + 1 // asked for by a read call
	Added                   // put into the cache
	Evicted                 // taken out by reclaim
	Dropped                 // taken out by truncation, or since somebody asked for it
	Written                 // became dirty
	Faulted                 // asked for through a mapping; hits of a mapping leave no trace
)

// Event is something that happened to a watched page.
type Event struct {
	At     time.Duration // on the monotonic clock
	File   sample.FileID
	Page   uint64 // the first of 4 KiB, within the file, of the page that is watched
	Cgroup uint64 // number of the memory controller's cgroup: the page's where it was put in or taken out, else the thread's
	PID    int
	Hash   uint32 // of the page: chooses fewer of them without a bias
	Kind   Kind
}

// Process is what the threads of a process that read files did.
type Process struct {
	Asked   uint64        // pages of 4 KiB that they asked for, watched or not; up to 63 of the kernel's for each thread that lives are not told yet
	Calls   uint64        // that asked for them, likewise; before Linux 6.12 a call is one of at most 15 folios
	Worked  time.Duration // that they ran, in the kernel, for pages that were missed, likewise
	Blocked time.Duration // that they waited for I/O, added up
	Threads int
}

// Losses are events that are missing.
type Losses struct {
	Events    uint64 // the ring buffer was full
	Tasks     uint64 // of threads for which there was no memory
	Processes uint64 // that are not in Processes
	Waits     uint64 // of calls, that are not in Waits
	Long      uint64 // calls and folios of which only the first part was looked at
	Returns   uint64 // calls of which the kernel did not tell that they returned
	Inodes    uint64 // events of which the file was not known
	Passed    uint64 // events that the kernel passed over, as a program was preempted or interrupted by its own
}

// Probe is the attached probe. It is used by one goroutine.
type Probe struct {
	probe *bpf.Probe
	ring  *bpf.Ring
	costs *sample.Recorder // what the programs take
}

// reads are the accesses of read calls: at the tracepoint, or at the function that it
// was put into (6.12); before that function (5.12) where a read ends.
func reads() bpf.Capability {
	const function, former = "filemap_get_pages", "generic_file_buffered_read"
	by := func(called, returned, function string, arguments int) bpf.Way {
		return bpf.Way{
			By: bpf.ByKprobe, Grade: "exact but for calls of which the kernel does not tell the end; these are counted as lost",
			Constants: untyped(),
			Programs: []bpf.Program{
				{Name: returned, Return: function, Arguments: arguments}, {Name: called, Call: function, Arguments: arguments},
			},
		}
	}
	return bpf.Capability{Name: "reads", Ways: []bpf.Way{
		{By: bpf.ByTracepoint, Programs: []bpf.Program{{Name: "on_get_pages", Tracepoint: "mm_filemap_get_pages", Events: []bpf.Program{
			{Name: "event_get_pages", Event: "filemap/mm_filemap_get_pages"}, {Name: "on_get_pages", Tracepoint: "mm_filemap_get_pages", Spare: true},
		}}}},
		{By: bpf.ByFunction, Programs: []bpf.Program{{Name: "got_pages", Exit: function, Arguments: 4}}},
		{By: bpf.ByFunction, Programs: []bpf.Program{{Name: "got_pages_iter", Exit: function, Arguments: 3}}},
		{By: bpf.ByFunction, Programs: []bpf.Program{{Name: "was_read", Exit: former, Arguments: 3}}},
		by("get_pages_called", "get_pages_returned", function, 4),
		by("get_pages_called", "get_pages_iter_returned", function, 3),
		by("buffered_read_called", "buffered_read_returned", former, 3),
	}}
}

// mapped are the faults of mappings.
func mapped() bpf.Capability {
	const function = "filemap_fault"
	return bpf.Capability{Name: "mapped", Optional: true, Ways: []bpf.Way{
		{By: bpf.ByTracepoint, Programs: []bpf.Program{{
			Name: "on_fault", Tracepoint: "mm_" + function, Events: []bpf.Program{{Name: "event_fault", Event: "filemap/mm_" + function}},
		}}},
		{By: bpf.ByFunction, Programs: []bpf.Program{{Name: "fault", Entry: function, Arguments: 1}}},
		{By: bpf.ByKprobe, Constants: untyped(), Programs: []bpf.Program{{Name: "fault_called", Call: function, Arguments: 1}}},
	}}
}

// demand is what a read had to have: where a call begins of which the kernel tells only
// the rest. Without it calls that miss more than one page are told of in part at the
// tracepoint.
func demand() bpf.Capability {
	const function = "page_cache_sync_ra"
	return bpf.Capability{Name: "demand", Optional: true, Ways: []bpf.Way{
		{By: bpf.ByTracepoint, Programs: []bpf.Program{{
			Name: "on_sync_readahead", Tracepoint: function, Events: []bpf.Program{{Name: "event_sync_readahead", Event: "readahead/" + function}},
		}}},
		{By: bpf.ByFunction, Programs: []bpf.Program{{Name: "sync_readahead", Entry: function, Arguments: 2}}},
		{By: bpf.ByFunction, Programs: []bpf.Program{{Name: "sync_readahead_old", Entry: function, Arguments: 3}}},
		{By: bpf.ByKprobe, Constants: untyped(), Programs: []bpf.Program{{Name: "sync_readahead_called", Call: function, Arguments: 2}}},
		{By: bpf.ByKprobe, Constants: untyped(), Programs: []bpf.Program{{Name: "sync_readahead_old_called", Call: function, Arguments: 3}}},
	}}
}

// untyped has an object read the kernel's memory by copying, as programs at kprobes must.
func untyped() map[string]any { return map[string]any{"untyped": uint32(1)} }

// PerPage is how many pages of 4 KiB one of the kernel's has: in these all pages are told.
func PerPage() int { return os.Getpagesize() / 4096 }

// Open loads the probe: one of the kernel's pages in 1<<shift is watched. It needs root
// or CAP_BPF and CAP_PERFMON.
func Open(h *host.Host, shift int) (p *Probe, err error) {
	spec, err := loadAccess()
	if err != nil {
		return nil, fmt.Errorf("reading the access object: %w", err)
	}
	loaded, err := bpf.OpenWays(spec, []bpf.Program{
		{Name: "on_add", Tracepoint: "mm_filemap_add_to_page_cache", Events: []bpf.Program{
			{Name: "event_add", Event: "filemap/mm_filemap_add_to_page_cache"},
		}},
		{Name: "on_delete", Tracepoint: "mm_filemap_delete_from_page_cache"},
		{Name: "on_dirty", Tracepoint: "writeback_dirty_folio", Former: "writeback_dirty_page"},
		{Name: "on_switch", Tracepoint: "sched_switch"},
		{Name: "on_end", Tracepoint: "sched_process_exit"},
	}, []bpf.Capability{reads(), mapped(), demand()}, map[string]any{"shift": uint32(shift)})
	if err != nil {
		return nil, fmt.Errorf("opening the access probe: %w", err)
	}
	now := time.Now()
	p = &Probe{probe: loaded, costs: sample.NewRecorder(now)}
	if p.ring, err = bpf.OpenRing(loaded.Map("events"), "accesses"); err != nil {
		return nil, errors.Join(err, loaded.Close())
	}
	if err := p.probe.Phase(sample.First, now, p.costs); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Missing names what the kernel does not tell.
func (p *Probe) Missing() []string {
	all := p.probe.Missing()
	for _, w := range p.probe.Ways() {
		if w.By != "" {
			continue
		}
		switch w.What {
		case mapped().Name:
			all = append(all, "mm_filemap_fault")
		case demand().Name:
			all = append(all, "page_cache_sync_ra")
		}
	}
	return all
}

// Stop lets the programs hand over nothing more.
func (p *Probe) Stop() error { return p.probe.Phase(sample.Last, time.Now(), p.costs) }

// Measure has the kernel measure for a twentieth of a second what the programs take.
func (p *Probe) Measure() error { return p.probe.Phase(sample.Tick, time.Now(), p.costs) }

// Cost is how long the programs ran until Stop, in seconds, and how often, scaled from the
// slices in which that was measured. ok is false where it could not be, as without
// CAP_SYS_ADMIN. The measuring itself is part of each run's time.
func (p *Probe) Cost() (seconds, runs float64, ok bool) {
	w := p.costs.Window(time.Now())
	for metric, to := range map[sample.Metric]*float64{sample.CostBPFTime: &seconds, sample.CostBPFRuns: &runs} {
		w.Each(metric, func(_ sample.Entity, s *sample.Series) { *to += s.Sum() })
	}
	return seconds, runs, runs > 0
}

// Thin leaves only those pages watched whose hash has none of these bits.
func (p *Probe) Thin(bits uint32) error { return p.probe.SetVariable("thin", bits) }

// Each calls f for every event that is in the buffer and returns without
// waiting. It must be called several times a second.
func (p *Probe) Each(f func(Event)) error {
	return p.ring.Each(func(raw []byte) error {
		if len(raw) < binary.Size(accessEvent{}) {
			return nil
		}
		le := binary.LittleEndian
		f(Event{At: time.Duration(le.Uint64(raw)), File: sample.FileID{Ino: le.Uint64(raw[8:]), Dev: le.Uint32(raw[32:])},
			Page: le.Uint64(raw[16:]) * uint64(PerPage()), Cgroup: le.Uint64(raw[24:]), PID: int(le.Uint32(raw[36:])),
			Hash: le.Uint32(raw[40:]), Kind: Kind(le.Uint32(raw[44:]))})
		return nil
	})
}

// Processes are those that have read so far, by their number.
func (p *Probe) Processes() (map[int]Process, error) {
	all := map[int]Process{}
	err := bpf.Each(p.probe.Map("processes"), func(tgid uint32, x accessProcess) {
		all[int(tgid)] = Process{Asked: x.Asked * uint64(PerPage()), Calls: x.Calls, Worked: time.Duration(x.Worked), Blocked: time.Duration(x.Ns), Threads: int(x.Threads)}
	})
	if err != nil {
		return nil, fmt.Errorf("reading what processes read: %w", err)
	}
	return all, nil
}

// Wait is how many calls of a process had to wait so long for pages that were not in
// the cache: from where they were missed, the work of the kernel for them included, and
// for the processor if they lost it afterwards. Of calls that missed none (Hit) those are
// here that lost it, with that time alone. Of each 61st that did neither (Cycle) it is the
// time to the thread's next one, with all that the program did between them.
type Wait struct {
	PID   int
	Hit   bool
	Cycle bool
	From  time.Duration // of the class, which ends at To
	To    time.Duration
	Calls uint64
}

// Waits are the read calls so far that had to wait, but for the last of each thread that lives.
func (p *Probe) Waits() (all []Wait, err error) {
	err = bpf.Each(p.probe.Map("waits"), func(key accessWaitKey, n uint64) {
		const hit, cycle = 0x8000, 0x4000 // HIT and CYCLE of the program
		slot := key.Slot &^ (hit | cycle)
		w := Wait{PID: int(key.Tgid), Hit: key.Slot&hit != 0, Cycle: key.Slot&cycle != 0, From: waitSlot(slot), To: waitSlot(slot + 1), Calls: n}
		if w.Cycle {
			w.From, w.To = w.From/32, w.To/32
		}
		all = append(all, w)
	})
	if err != nil {
		return nil, fmt.Errorf("reading how long calls waited: %w", err)
	}
	return all, nil
}

// waitSlot is where a class of the program's begins.
func waitSlot(slot uint32) time.Duration {
	if slot < 8 {
		return time.Duration(slot) << 10
	}
	return time.Duration(8+slot%8) << (slot/8 - 1 + 10)
}

// Losses reads the counters.
func (p *Probe) Losses() (l Losses, err error) {
	for name, to := range map[string]*uint64{"lost_events": &l.Events, "lost_tasks": &l.Tasks, "lost_processes": &l.Processes, "lost_waits": &l.Waits, "long_ranges": &l.Long, "lost_returns": &l.Returns, "lost_inodes": &l.Inodes} {
		if *to, err = p.probe.Counter(name); err != nil {
			return l, err
		}
	}
	l.Passed, err = p.probe.Missed()
	return l, err
}

// Close detaches the probe.
func (p *Probe) Close() error {
	return errors.Join(p.ring.Close(), p.probe.Close())
}
