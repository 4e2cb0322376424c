package view

import (
	"iocause/internal/sample"
	"iocause/internal/table"
)

// Tool is a view that is an observation command of its own: what it reads, and which
// rows there are to choose from.
type Tool struct {
	Name, What string
	Sources    []string // of source.List
	By         []string // rows to choose from, the first by default; nil for no choice
	Slow       bool     // counts accesses that waited long
	Probes     []string // of the sources: when none of them opens, rows have nothing to say
	ProbesBy   string   // ... of rows by this; "" for all
	ByFile     bool     // rows are by file when a file is asked for, and nobody says by what; names are the page cache's
	Refuses    []Refusal
	View       func(*sample.Window, *Query) []table.Table
}

// Refusal is a filter that a tool has no answer for: to show everything as though it
// had been narrowed would be wrong.
type Refusal struct {
	By      string   // with rows by this, "" with any
	Flags   []string // of pid, comm, cgroup, device, file
	Why     string
	Instead string
}

// List is all tools.
func List() []Tool {
	return []Tool{
		{
			Name: "use", What: "Utilisation, saturation, errors of every resource",
			Sources: UseSources(), View: Use,
			Refuses: []Refusal{{Flags: []string{"pid", "comm", "cgroup", "file"}, Why: "use shows resources of the whole host",
				Instead: "see 'iocause threads' for processes, 'iocause disk' and 'iocause files' for their I/O"}},
		},
		{
			Name: "cache", What: "Page cache: hits, misses, waste, evictions, re-reads",
			Sources: CacheSources(), By: CacheBy(), View: Cache, Probes: []string{"pagecache"},
		},
		{
			Name: "disk", What: "Block devices: rates, latency, depth, sizes, users",
			Sources: DiskSources(), By: DiskBy(), View: Disk, ByFile: true,
			Probes: []string{"blockio"}, ProbesBy: "heat",
			Refuses: []Refusal{
				{By: "process", Flags: []string{"file"}, Why: "rows by process have no files", Instead: "use --by file, or 'iocause files --by process'"},
				{By: "cgroup", Flags: []string{"pid", "comm", "file"}, Why: "rows by cgroup have neither processes nor files", Instead: "use --by process or --by file"},
				{By: "file", Flags: []string{"pid", "comm", "cgroup"}, Why: "rows by file have neither processes nor cgroups", Instead: "use --by process, or 'iocause files --by process'"},
				{By: "latency", Flags: []string{"pid", "comm", "cgroup", "file"}, Why: "latencies are kept by device and operation", Instead: "use --device, or 'iocause trace'"},
				{By: "size", Flags: []string{"file"}, Why: "sizes are kept by process", Instead: "use --pid, --comm or --cgroup"},
				{By: "heat", Flags: []string{"pid", "comm", "cgroup", "file"}, Why: "a heat map is of whole devices", Instead: "use --device, or --by latency"},
				{By: "forecast", Flags: []string{"pid", "comm", "cgroup", "file"}, Why: "limits are of whole devices", Instead: "use --device"},
				{By: "health", Flags: []string{"pid", "comm", "cgroup", "file"}, Why: "settings and health are of whole devices", Instead: "use --device"},
				{By: "stack", Flags: []string{"pid", "comm", "cgroup", "file"}, Why: "layers are of whole devices", Instead: "use --device, or 'iocause trace'"},
			},
		},
		{
			Name: "files", What: "Files: read, written, from disk, waited for",
			Sources: FilesSources(), By: FilesBy(), View: Files, Slow: true,
			Probes: []string{"pagecache", "blockio", "writeback"},
		},
		{
			Name: "mounts", What: "File systems of servers and daemons: NFS, FUSE, others",
			Sources: MountsSources(), View: Mounts,
			Refuses: []Refusal{{Flags: []string{"device"}, Why: "servers and daemons have no device on this machine", Instead: "use --file with a mount point"}},
		},
		{
			Name: "evictions", What: "Who pushed whose pages out of the cache, and who read them back",
			Sources: EvictionsSources(), View: Evictions, Probes: []string{"pagecache", "reclaim"},
		},
		{
			Name: "writeback", What: "Dirty pages, their limits, writers that are paused",
			Sources: WritebackSources(), View: Writeback,
		},
	}
}
