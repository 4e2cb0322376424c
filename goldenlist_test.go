package main

// group is a golden file and the command lines in it.
type group struct {
	name  string
	lines []string
}

// goldenGroups are the commands that answer from files.
func goldenGroups() []group {
	const (
		span  = " --dir agent --from 2026-11-23T02:06:30Z --to 2026-11-23T02:06:50Z"
		early = " --dir agent --from 2026-11-23T02:06:33Z --to 2026-11-23T02:06:36Z"
		one   = " --dir agent --recording 1"
	)
	all := func(name string, lines ...string) group { return group{name, lines} }
	tool := func(name string, lines ...string) group {
		g := group{name: name}
		for _, from := range []string{" --recording host.iocause", one, span, early} {
			for _, format := range []string{"", " --format json", " --format csv"} {
				g.lines = append(g.lines, name+from+format)
			}
		}
		g.lines = append(g.lines,
			name+" 1 --recording host.iocause", name+" 1 2 -t --recording host.iocause --format csv", name+" 1 --recording host.iocause --format json",
			name+" 0.1 --recording host.iocause", name+" 0.5 --recording host.iocause --top 3", name+" 2"+early, name+" --recording host.iocause --device vda", name+" --recording host.iocause --pid 0",
			name+" --recording host.iocause --comm fio", name+" --recording host.iocause --comm nobody", name+" --recording host.iocause --cgroup /db",
			name+" --recording host.iocause --file /var/tmp/golden", name+" --recording host.iocause --from +1s --to +2s", name+" --recording b.iocause --top 0",
			name+early+" --comm fio")
		return group{name, append(g.lines, lines...)}
	}
	by := func(name string, rows ...string) (lines []string) {
		for _, r := range rows {
			for _, from := range []string{" --recording host.iocause", " --recording b.iocause --format csv", one + " --format json", span} {
				lines = append(lines, name+" --by "+r+from)
			}
		}
		return append(lines, name+" --by nothing --recording host.iocause")
	}
	// evidence is a command that answers from an incident.
	evidence := func(name string, lines ...string) group {
		g := group{name: name}
		for _, from := range []string{one, span, " --recording agent/incidents/000001.iocause"} {
			for _, format := range []string{"", " --format json", " --format csv"} {
				g.lines = append(g.lines, name+from+format)
			}
		}
		g.lines = append(g.lines, name+" --top 0"+one, name+early, name+" --recording host.iocause", name+" --recording nothing.iocause", name+one+" --from +1s",
			name+" --recording 7 --dir agent", name+one+" --sort nothing", name+" --recording=")
		for _, l := range lines {
			g.lines = append(g.lines, name+" "+l+one)
		}
		return g
	}
	filters := []string{"--comm fio", "--cgroup /db", "--pid 24465", "--comm nobody"}
	return []group{
		all("diagnose", "diagnose --recording host.iocause", "diagnose --recording host.iocause --format json", "diagnose --recording b.iocause",
			"diagnose"+one, "diagnose --format json"+one, "diagnose"+span, "diagnose --format json"+early, "diagnose --recording b.iocause --against a.iocause",
			"diagnose --recording b.iocause --against a.iocause --format json", "diagnose --recording host.iocause --comm dd", "diagnose --recording host.iocause --pid 1",
			"diagnose --recording host.iocause --cgroup /db", "diagnose --recording host.iocause --comm nobody", "diagnose --recording host.iocause --device vda",
			"--recording host.iocause", "diagnose --recording host.iocause --against host.iocause --against-to +1s", "diagnose --against-to +1s",
			"diagnose --recording host.iocause --against 1 --dir agent", "diagnose --recording host.iocause --against host.iocause --against-from noon"),
		tool("use"),
		tool("cache", by("cache", "process", "comm", "file", "cgroup", "device")...),
		tool("disk", by("disk", "process", "comm", "cgroup", "file", "latency", "size", "heat")...),
		tool("files", by("files", "file", "process", "directory")...),
		tool("mounts"),
		tool("evictions"),
		tool("writeback"),
		all("times", "use --recording host.iocause --from 02:06:29", "use --recording host.iocause --from 02:06 --to 02:06:30", "use --recording host.iocause --from soon",
			"use --recording host.iocause --to +x", "use --recording host.iocause --from +2s --to +1s", "use --recording host.iocause --from 2026-11-23_02:06:30",
			"use --recording host.iocause --from 2026-11-23T03:06:30+01:00", "use --recording host.iocause --to 2026-11-23T02:06:29", "use --recording host.iocause --from @1795399590",
			"use --recording host.iocause --from 2026-11-22", "use --recording host.iocause --from +1h", "use --recording host.iocause --from +10ms --to +20ms",
			"use --dir agent --from +1s", "use --dir agent --from 3_parsecs_ago", "use --dir agent --from @1795399600 --to @1795399590",
			"use --dir agent --from 2020-01-01 --to 2020-01-02", "use --dir agent --to 2020-01-01", "use --recording agent", "use --dir nothing --from 2020-01-01",
			"use --recording agent --from 2026-11-23_02:06:33 --to 2026-11-23_02:06:40", "use --recording texts/dd.txt", "use --recording nothing.iocause", "use --recording 7 --dir agent",
			"use --dir agent --from 2026-11-23_02:06 --to 2026-11-23_04:00", "use --dir agent --from 2026-11-20 --to 2026-11-24", "use --recording="),
		evidence("threads", append(filters, "--by process", "--by comm", "--by cgroup --format json", "--by nothing", "1", "--histogram")...),
		evidence("latency", append(filters, "--slow 0", "--slow 1us", "--slow 2ms", "--syscall read", "--syscall pread64 --format json", "--syscall nothing", "--parts", "1")...),
		evidence("offcpu", append(filters, "-o -", "-o - --comm fio", "-o x.svg", "-o x.pb.gz", "--min 1s", "--state disk", "--wakers", "--duration 1s")...),
		evidence("oncpu", append(filters, "-o -", "-o - --comm fio", "--sort samples", "--hz 9")...),
		all("trace", "trace"+one+" --min 100us", "trace --format json"+one, "trace --format csv --comm dd"+one, "trace --summary"+span, "trace --summary"+early, "trace --recording host.iocause",
			"trace --recording nothing.iocause", "trace --from +1s"+one, "trace --summary --sort nothing"+one, "trace --summary --cgroup /db"+one, "trace --summary --pid 24465"+one,
			"trace --summary --comm nobody"+one, "trace --summary --top 0"+one, "trace --summary --format json"+one, "trace --summary --format csv"+one, "trace --summary --device vda"+one,
			"trace --summary --file /var/tmp/golden"+one, "trace -o -"+one, "trace --ios 5"+one, "trace 1"+one),
		evidence("burst", append(filters, "--device vda", "--file x", "1")...),
		evidence("resident", append(filters, "--file /usr/bin", "--device vda", "--map", "--all", "/usr")...),
		evidence("mem", append(filters, "--exact", "--file /usr", "1")...),
		all("top", "top"+span, "top --format json"+span, "top --format csv"+span, "top"+one, "top --format json"+one, "top --by cgroup"+span, "top --by process --top 3 --sort cpu_s"+span,
			"top --by nothing"+span, "top --sort nothing"+span, "top"+early, "top --dir agent --from 2020-01-01 --to 2020-01-02", "top --dir nothing --from 2020-01-01 --to 2020-01-02",
			"top --recording host.iocause", "top --dir agent --from 2026-11-23_02:06:38 --to 2026-11-23_02:06:39"),
		all("incident", "incident 1 --dir agent", "incident 1 --dir agent --brief", "incident agent/incidents/000001.iocause", "incident 1 --dir agent --format json",
			"incident 1 --dir agent --section offcpu", "incident 1 --dir agent --section nothing",
			"incident 7 --dir agent", "incident host.iocause", "incident nothing.iocause", "incident", "incident 1 --dir agent --format csv"),
		all("incidents", "incidents --dir agent", "incidents --dir agent --format json", "incidents --dir nothing", "incidents --dir agent --top -1", "incidents --dir agent --format csv"),
		all("verify", "verify a.iocause b.iocause", "verify b.iocause a.iocause", "verify a.iocause b.iocause --format json", "verify a.iocause a.iocause",
			"verify 1 host.iocause --dir agent", "verify host.iocause nothing.iocause", "verify host.iocause b.iocause --comm nobody", "verify", "verify a b c",
			"verify a.iocause --pid 1 --comm x"),
		all("diff", "diff a.iocause b.iocause", "diff a.iocause b.iocause --format json", "diff a.iocause b.iocause --all", "diff a.iocause b.iocause --format json --all",
			"diff host.iocause --to +1s --from-b +2s", "diff host.iocause --to +1s --from-b +2s --comm fio", "diff host.iocause --to +1s --from-b +2s --cgroup /db --all", "diff host.iocause 1 --dir agent",
			"diff 1 --dir agent", "diff host.iocause", "diff", "diff a.iocause b.iocause host.iocause", "diff a.iocause texts/dd.txt", "diff texts/dd.txt texts/upload.txt",
			"diff texts/dd.txt texts/upload.txt --format json", "diff texts/threads.txt texts/threads.txt --all", "diff a.iocause nothing.iocause", "diff agent/raw/wal/00000000 a.iocause",
			"diff --dir agent --from 2026-11-23_02:06:33 --to 2026-11-23_02:06:36 --from-b 2026-11-23_02:06:36 --to-b 2026-11-23_02:06:47",
			"diff --dir agent --from 2026-11-23_02:06:33 --to 2026-11-23_02:06:36 --from-b 2026-11-23_02:06:36 --to-b 2026-11-23_02:06:47 --format json --all",
			"diff --dir agent --from 2026-11-23_02:06:33 --to 2026-11-23_02:06:36 --to-b 2026-11-23_02:06:36", "diff a.iocause b.iocause --comm nobody", "diff a.iocause b.iocause --from soon", "diff a.iocause b.iocause --format csv"),
		all("query", "query --dir agent iocause_cpus", "query --dir agent iocause_mem_free_bytes --from 2026-11-23_02:06:34 --to 2026-11-23_02:06:40 --step 1s",
			"query --dir agent iocause_mem_free_bytes --from 2026-11-23_02:06:34 --to 2026-11-23_02:06:40 --step 2s --format json",
			"query --dir agent iocause_mem_free_bytes --from 2026-11-23_02:06:34 --to 2026-11-23_02:06:40 --step 2s --format csv",
			"query --dir agent rate(iocause_disk_read_bytes_total[2s])", "query --dir agent rate(iocause_disk_read_bytes_total[2s]) --format json",
			"query --dir agent iocause_psi_some_seconds_total --format csv", "query --dir agent \"a\"", "query --dir agent 1+", "query --dir agent nothing", "query --dir agent 0/0 --format json",
			"query --dir agent --list", "query --dir agent --list --format json", "query --dir agent --list --format csv", "query --dir nothing iocause_cpus", "query --dir agent",
			"query --dir agent iocause_cpus --from soon", "query --dir agent iocause_cpus --to 2020-01-01 --from 2020-01-02", "query --dir agent iocause_cpus --format html"),
		all("baseline", "baseline --dir agent", "baseline --dir agent --format json", "baseline --dir agent disk.busy --day 2026-11-04", "baseline --dir agent disk.busy --day 2026-11-04 --format json",
			"baseline --dir agent memory.available --day 2026-11-01", "baseline --dir agent cpu.user --day 2026-11-04", "baseline --dir agent disk.busy --day 2026-09-01",
			"baseline --dir agent nothing", "baseline --dir agent --day soon", "baseline --dir nothing", "baseline --dir agent --format csv"),
		all("read", "read texts/dd.txt", "read texts/fio-runs.txt", "read texts/fio-runs.txt --format json", "read texts/threads.txt", "read texts/upload.txt", "read texts/upload.txt --list", "read texts/upload.txt --series",
			"read texts/upload.txt --format json", "read texts/dd.txt texts/upload.txt --one", "read texts/fio-runs.txt --case 2", "read nothing.txt", "read host.iocause"),
	}
}
