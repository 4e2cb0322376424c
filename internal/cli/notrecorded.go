package cli

// Why a recording of 'iocause record' cannot answer what some commands ask:
// their evidence is kept with incidents alone. That is said, rather than that
// there is no such flag.

// unrecorded is why, and what to do instead.
type unrecorded struct{ why, instead string }

// notInRecordings are the observation commands without an answer.
func notInRecordings() map[string]unrecorded {
	return map[string]unrecorded{
		"resident": {"it holds what moved in and out of the page cache, not what all is in it",
			"see 'iocause files --recording' and 'iocause cache --recording' for that"},
		"mem": {"it holds the sums of /proc/meminfo, not the parts that need every page's flags and every process's mappings",
			"see 'iocause use --recording' for the sums"},
		"trace": {"it holds sums of windows, not single I/Os",
			"keep these with 'iocause trace -o FILE' and read them with -i; see 'iocause disk --recording' for the sums"},
		"offcpu": {"it holds how long processes waited, not in which code",
			"keep stacks with 'iocause offcpu -o FILE.pb.gz', or see 'iocause diagnose --recording'"},
		"oncpu": {"it holds how long processes ran, not in which code",
			"keep stacks with 'iocause oncpu -o FILE.pb.gz', or see 'iocause diagnose --recording'"},
		"burst": {"it holds I/O in steps of 10 ms, not of 1 ms",
			"'iocause diagnose --recording' finds bursts of 10 ms and more"},
		"threads": {"it holds what processes waited for, not the states of every thread",
			"see 'iocause diagnose --recording', or watch with 'iocause threads'"},
		"latency": {"it holds no system calls",
			"see 'iocause disk --by latency --recording' for devices, or watch with 'iocause latency'"},
	}
}
