package cli

import "iocause/internal/view"

// tools are the observation commands that read the same sources as diagnose.
func tools() []tool {
	return []tool{
		useTool(), cacheTool(), diskTool(), filesTool(), mountsTool(), evictionsTool(), writebackTool(),
	}
}

func useTool() tool {
	return tool{
		name: "use", short: "Utilisation, saturation, errors of every resource",
		sources: view.UseSources(), view: view.Use,
		refuses: []noAnswer{{flags: []string{"pid", "comm", "cgroup", "file"}, why: "use shows resources of the whole host",
			instead: "see 'iocause threads' for processes, 'iocause disk' and 'iocause files' for their I/O"}},
	}
}

func cacheTool() tool {
	return tool{
		name: "cache", short: "Page cache: hits, misses, waste, evictions, re-reads",
		sources: view.CacheSources(), by: view.CacheBy(), view: view.Cache, probes: []string{"pagecache"},
	}
}

func diskTool() tool {
	return tool{
		name: "disk", short: "Block devices: rates, latency, depth, sizes, users",
		sources: view.DiskSources(), by: view.DiskBy(), view: view.Disk, byFile: true,
		probes: []string{"blockio"}, probesBy: "heat",
		refuses: []noAnswer{
			{by: "process", flags: []string{"file"}, why: "rows by process know no files", instead: "use --by file, or 'iocause files --by process'"},
			{by: "cgroup", flags: []string{"pid", "comm", "file"}, why: "rows by cgroup know neither processes nor files", instead: "use --by process or --by file"},
			{by: "file", flags: []string{"pid", "comm", "cgroup"}, why: "rows by file know neither processes nor cgroups", instead: "use --by process, or 'iocause files --by process'"},
			{by: "latency", flags: []string{"pid", "comm", "cgroup", "file"}, why: "latencies are kept by device and operation", instead: "use --device, or 'iocause trace'"},
			{by: "size", flags: []string{"file"}, why: "sizes are kept by process", instead: "use --pid, --comm or --cgroup"},
			{by: "heat", flags: []string{"pid", "comm", "cgroup", "file"}, why: "a heat map is of whole devices", instead: "use --device, or --by latency"},
		},
	}
}

func filesTool() tool {
	return tool{
		name: "files", short: "Files: read, written, from disk, waited for",
		sources: view.FilesSources(), by: view.FilesBy(), view: view.Files, slow: true,
		probes: []string{"pagecache", "blockio", "writeback"},
	}
}

func mountsTool() tool {
	return tool{
		name: "mounts", short: "File systems of servers and daemons: NFS, FUSE and their kin",
		sources: view.MountsSources(), view: view.Mounts,
		refuses: []noAnswer{{flags: []string{"device"}, why: "servers and daemons have no device of this machine", instead: "use --file with a mount point"}},
	}
}

func evictionsTool() tool {
	return tool{
		name: "evictions", short: "Who pushed whose pages out of the cache, and who read them back",
		sources: view.EvictionsSources(), view: view.Evictions, probes: []string{"pagecache", "reclaim"},
	}
}

func writebackTool() tool {
	return tool{
		name: "writeback", short: "Dirty pages, their limits, writers that are paused",
		sources: view.WritebackSources(), view: view.Writeback,
	}
}
