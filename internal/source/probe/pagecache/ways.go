package pagecache

import (
	"cmp"
	"strings"

	"iocause/internal/bpf"
)

// counting are the programs that keep the account of pages on every kernel,
// without those that tell who waited.
func counting() []bpf.Program {
	return []bpf.Program{
		{Name: "on_add", Tracepoint: "mm_filemap_add_to_page_cache", Events: event("event_add", "filemap/mm_filemap_add_to_page_cache", "on_add")},
		{Name: "on_delete", Tracepoint: "mm_filemap_delete_from_page_cache"},
		{Name: "on_dirty", Tracepoint: "writeback_dirty_folio", Former: "writeback_dirty_page"},
		{Name: "on_exit", Tracepoint: "sched_process_exit", Events: event("event_exit", "sched/sched_process_exit", "")},
		{Name: "settle"},
	}
}

// Plan is what the probe loads.
func Plan() *bpf.Plan {
	return &bpf.Plan{Object: _PagecacheBytes, Programs: append(counting(),
		bpf.Program{Name: "on_balance", Tracepoint: "balance_dirty_pages", Arguments: 8},
		bpf.Program{Name: "on_balance_old", Tracepoint: "balance_dirty_pages", Arguments: 12},
		bpf.Program{Name: "on_switch", Tracepoint: "sched_switch"},
	), Capabilities: append(reading(), passing())}
}

// Names of what can be counted in several ways.
const (
	reads  = "reads"
	mapped = "mapped"
	demand = "demand"
	direct = "direct"
)

// afterwards is what the end of a read does not tell: whether a page was read from disk
// that is no longer there. What the reading thread itself took back it counts.
const afterwards = "a page that another thread drops before the call that read it ends is not a miss"

// reading is what there are several ways to see of the account of pages: at
// tracepoints, which kernels have since 6.12 and later, and at the functions that
// these were put into.
func reading() []bpf.Capability {
	return []bpf.Capability{
		{Name: reads, Prove: proveReads, Ways: []bpf.Way{
			{By: bpf.ByTracepoint, Programs: []bpf.Program{{
				Name: "on_get_pages", Tracepoint: "mm_filemap_get_pages", Events: event("event_get_pages", "filemap/mm_filemap_get_pages", "on_get_pages"),
			}}},
			{By: bpf.ByFunction, Programs: []bpf.Program{{Name: "got_pages", Exit: "filemap_get_pages", Arguments: 4}}},
			{By: bpf.ByFunction, Programs: []bpf.Program{{Name: "got_pages_iter", Exit: "filemap_get_pages", Arguments: 3}}},
			{
				By: bpf.ByFunction, Grade: "exact; " + afterwards,
				Programs: []bpf.Program{
					{Name: "was_read", Exit: "generic_file_buffered_read", Arguments: 3}, {Name: "will_read", Entry: "generic_file_buffered_read", Arguments: 3},
				},
			},
			byKprobe("", pair("get_pages_called", "get_pages_returned", "filemap_get_pages", 4)...),
			byKprobe("", pair("get_pages_called", "get_pages_iter_returned", "filemap_get_pages", 3)...),
			byKprobe("; "+afterwards,
				pair("buffered_read_called", "buffered_read_returned", "generic_file_buffered_read", 3)...),
		}},
		{Name: mapped, Prove: proveMapped, Ways: []bpf.Way{
			{By: bpf.ByTracepoint, Programs: []bpf.Program{
				{Name: "on_fault", Tracepoint: "mm_filemap_fault", Events: event("event_fault", "filemap/mm_filemap_fault", "on_fault")},
				{Name: "on_map_pages", Tracepoint: "mm_filemap_map_pages", Events: event("event_map_pages", "filemap/mm_filemap_map_pages", "on_map_pages")},
			}},
			{By: bpf.ByFunction, Programs: []bpf.Program{
				{Name: "fault", Entry: "filemap_fault", Arguments: 1}, {Name: "map_pages", Exit: "filemap_map_pages", Arguments: 3},
			}},
			byKprobe("", append([]bpf.Program{{Name: "fault_called", Call: "filemap_fault", Arguments: 1}},
				pair("map_pages_called", "map_pages_returned", "filemap_map_pages", 3)...)...),
		}},
		{Name: demand, Optional: true, Ways: []bpf.Way{
			{By: bpf.ByTracepoint, Programs: []bpf.Program{
				{Name: "on_sync_readahead", Tracepoint: "page_cache_sync_ra", Events: event("event_sync_readahead", "readahead/page_cache_sync_ra", "")},
				{Name: "on_async_readahead", Tracepoint: "page_cache_async_ra", Events: event("event_async_readahead", "readahead/page_cache_async_ra", "")},
			}},
			{By: bpf.ByFunction, Programs: []bpf.Program{
				{Name: "sync_readahead", Entry: "page_cache_sync_ra", Arguments: 2}, {Name: "async_readahead", Entry: "page_cache_async_ra", Arguments: 3},
			}},
			{By: bpf.ByFunction, Programs: []bpf.Program{{Name: "sync_readahead_old", Entry: "page_cache_sync_ra", Arguments: 3}}},
			byKprobe("", bpf.Program{Name: "sync_readahead_called", Call: "page_cache_sync_ra", Arguments: 2},
				bpf.Program{Name: "async_readahead_called", Call: "page_cache_async_ra", Arguments: 3}),
			byKprobe("", bpf.Program{Name: "sync_readahead_old_called", Call: "page_cache_sync_ra", Arguments: 3}),
		}},
	}
}

// event is what is at a tracepoint's event, and at the tracepoint the program that notes
// the inode for that.
func event(name, event, note string) []bpf.Program {
	all := []bpf.Program{{Name: name, Event: event}}
	if note != "" {
		_, tracepoint, _ := strings.Cut(event, "/")
		all = append(all, bpf.Program{Name: note, Tracepoint: tracepoint, Spare: true})
	}
	return all
}

// passing is I/O past the page cache.
func passing() bpf.Capability {
	return bpf.Capability{Name: direct, Optional: true, Prove: proveDirect, Ways: []bpf.Way{
		{By: bpf.ByTracepoint, Programs: []bpf.Program{
			{Name: "on_direct", Tracepoint: "iomap_dio_rw_begin"}, {Name: "on_direct_done", Tracepoint: "iomap_dio_complete"},
		}},
		// before iomap_iter: 5.10 has that, too, and does not use it for this
		{By: bpf.ByFunction, Programs: []bpf.Program{
			{Name: "direct_begins", Entry: "__iomap_dio_rw", Arguments: 5}, {Name: "direct_done", Entry: "iomap_dio_complete", Arguments: 1},
		}},
		{By: bpf.ByFunction, Programs: []bpf.Program{
			{Name: "direct_begins", Entry: "__iomap_dio_rw", Arguments: 6}, {Name: "direct_done", Entry: "iomap_dio_complete", Arguments: 1},
		}},
		{By: bpf.ByFunction, Programs: []bpf.Program{
			{Name: "direct_iter", Entry: "iomap_iter", Arguments: 2}, {Name: "direct_done", Entry: "iomap_dio_complete", Arguments: 1},
		}},
		byKprobe("", bpf.Program{Name: "direct_called", Call: "__iomap_dio_rw"}, bpf.Program{Name: "direct_done_called", Call: "iomap_dio_complete", Arguments: 1}),
	}}
}

// byKprobe is the way by kprobes, which have programs read the kernel's memory
// without knowing its types.
func byKprobe(but string, programs ...bpf.Program) bpf.Way {
	w := bpf.Way{By: bpf.ByKprobe, Programs: programs, Constants: map[string]any{"untyped": uint32(1)}, Grade: "exact" + but}
	for i := range programs {
		if programs[i].Return != "" {
			w.Grade = "exact but for calls of which the kernel does not tell the end; these are counted as lost" + but
		}
	}
	return w
}

// pair are programs at a function's beginning and at its return, attached in the
// order in which no begin is seen without its end.
func pair(called, returned, function string, arguments int) []bpf.Program {
	return []bpf.Program{{Name: returned, Return: function, Arguments: arguments}, {Name: called, Call: function, Arguments: arguments}}
}

// from are the source strings of what is counted in one of several ways.
type from struct{ reads, faults, direct, dirty, inserts string }

func fromWays(p *bpf.Probe) from {
	f := from{dirty: p.Hook("on_dirty"), inserts: cmp.Or(p.Hook("event_add"), p.Hook("on_add"))}
	for _, w := range p.Ways() {
		if w.By == "" {
			continue
		}
		switch w.What {
		case reads:
			f.reads = w.Hooks[0]
		case mapped:
			f.faults = w.Hooks[0]
		case direct:
			f.direct = w.Hooks[0]
		}
	}
	return f
}
