package cmd

import "github.com/spf13/cobra"

// Why a recording cannot answer what some commands ask. Their flags are there
// so that this is said, rather than that there is no such flag.

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
		"burst": {"it holds I/O in steps of 10 ms, not of 1 ms",
			"'iocause diagnose --recording' finds bursts of 10 ms and more"},
		"threads": {"it holds what processes waited for, not the states of every thread",
			"see 'iocause diagnose --recording', or watch with 'iocause threads'"},
		"latency": {"it holds no system calls",
			"see 'iocause disk --by latency --recording' for devices, or watch with 'iocause latency'"},
	}
}

// refusedHere is notRecorded with what is said of the command.
func (p *playback) refusedHere(c *cobra.Command) error {
	u := notInRecordings()[c.Name()]
	return p.notRecorded(c, u.why, u.instead)
}
