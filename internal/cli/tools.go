package cli

import "iocause/internal/view"

// tools are the observation commands that read the same sources as diagnose.
func tools() []tool {
	return []tool{
		useTool(), cacheTool(), diskTool(), filesTool(), evictionsTool(), writebackTool(),
	}
}

func useTool() tool {
	return tool{
		name: "use", short: "Utilisation, saturation, errors of every resource",
		long: "Use shows for every resource how busy it was, how much had to wait for it, and\n" +
			"its errors. SOME and FULL are the shares of time in which some, or all, threads\n" +
			"stalled for it (/proc/pressure); I/O pressure is the host's, not the device's.\n" +
			"Paging counts faults that had to wait for I/O, and what came back after it was\n" +
			"pushed out. Errors of devices are in 'iocause disk'. It loads no kernel program.\n" +
			"Resources belong to the host: --pid, --comm, --cgroup and --file are refused.",
		example: "  iocause use\n  iocause use 1\n  iocause use 10 6 -t\n  iocause use 1 --device sda --format csv",
		sources: view.UseSources(), view: view.Use,
		refuses: []noAnswer{{flags: []string{"pid", "comm", "cgroup", "file"}, why: "use shows resources of the whole host",
			instead: "see 'iocause threads' for processes, 'iocause disk' and 'iocause files' for their I/O"}},
	}
}

func cacheTool() tool {
	return tool{
		name: "cache", short: "Page cache: hits, misses, waste, evictions, re-reads",
		long: "Cache shows the exact account of the page cache. A page counts as a hit unless\n" +
			"it had come from disk since it was last used: data read once shows 0 %, however\n" +
			"well read-ahead works. READ is what read calls asked for, COLD what of it came\n" +
			"from disk, FILLED what was read into the cache, AMPL how much of that for one\n" +
			"page used, WASTED what was dropped before anybody used it, EVICT what memory\n" +
			"pressure pushed out, REREAD what came back after that, WAIT how many threads\n" +
			"waited for it on average. Hits through mappings leave no trace and are not\n" +
			"counted; MAPPED is what mappings used from disk.",
		example: "  iocause cache\n  iocause cache 1\n  iocause cache 5 12 --by file --sort cold_bytes_per_s\n" +
			"  iocause cache 1 --pid 1234 --format json\n  iocause cache --by cgroup --top 5",
		sources: view.CacheSources(), by: view.CacheBy(), view: view.Cache, probes: []string{"pagecache"},
	}
}

func diskTool() tool {
	return tool{
		name: "disk", short: "Block devices: rates, latency, depth, sizes, users",
		long: "Disk shows the block devices that did something, and who used them. r_await and\n" +
			"w_await are the kernel's own figures from the queue's entry to the end; queue\n" +
			"and device split them where the kernel issued the request. depth is the mean\n" +
			"number of I/Os under way. %util is the share of time with at least one: of a\n" +
			"device that serves many at once it says nothing about how much is left. seq is\n" +
			"the share of I/Os that began where the process's last one ended. --by latency\n" +
			"and --by size show histograms. The devices' rows hold all I/O whatever filter is\n" +
			"given. --file shows rows by file, which name no processes.",
		example: "  iocause disk\n  iocause disk 1 --device nvme0n1\n  iocause disk 5 1 --by latency\n" +
			"  iocause disk 1 10 --by cgroup --format csv\n  iocause disk 10 1 --by file --top 0",
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
		long: "Files shows what was done with each file, by its full path, closed and deleted\n" +
			"ones too. READ is what was read through the cache, whatever the call: read(2),\n" +
			"sendfile(2), splice(2), copy_file_range(2), io_uring or asynchronous I/O; COLD\n" +
			"is what of it came from disk. MAPPED came from disk for a mapping, DIR.R and\n" +
			"DIR.W are O_DIRECT. DIRTIED is what became dirty: a page that is written again\n" +
			"before it is written out counts once. WAIT is how many threads waited for the\n" +
			"file on average, SLOW how many accesses waited for --slow or longer.",
		example: "  iocause files\n  iocause files 1 --top 5\n  iocause files 5 1 --by process --file /var/lib/postgresql\n" +
			"  iocause files 10 --slow 1ms --sort slow_waits\n  iocause files 1 10 --file '*.ibd' --format csv",
		sources: view.FilesSources(), by: view.FilesBy(), view: view.Files, slow: true,
		probes: []string{"pagecache", "blockio", "writeback"},
	}
}

func evictionsTool() tool {
	return tool{
		name: "evictions", short: "Who pushed whose pages out of the cache, and who read them back",
		long: "Evictions shows whose memory demand pushed which files' pages out of the page\n" +
			"cache, how much of that had not even been used, and who had to read it again.\n" +
			"A process evicts when it reclaims memory itself; kswapd does it in the\n" +
			"background for all who fill the cache: the last table has their shares.",
		example: "  iocause evictions\n  iocause evictions 5\n  iocause evictions 10 6 --file /var/lib/mysql\n" +
			"  iocause evictions 1 --comm rsync --format json",
		sources: view.EvictionsSources(), view: view.Evictions, probes: []string{"pagecache", "reclaim"},
	}
}

func writebackTool() tool {
	return tool{
		name: "writeback", short: "Dirty pages, their limits, writers that are paused",
		long: "Writeback shows how much is dirty and how far that is from the point where the\n" +
			"kernel begins to pause writers, which lies half-way between the background\n" +
			"threshold and the limit; who made it dirty and who was paused for how long; and\n" +
			"what went to which device, by memory cgroup and by file. The first table is the\n" +
			"host's whatever filter is given; what is written out belongs to no process.",
		example: "  iocause writeback\n  iocause writeback 1\n  iocause writeback 5 12 --device sda\n" +
			"  iocause writeback 1 --cgroup /system.slice --format json",
		sources: view.WritebackSources(), view: view.Writeback,
	}
}
