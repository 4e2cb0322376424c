package cli

import (
	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/incident"
	"iocause/internal/source/probe/stacks"
	"iocause/internal/tool/profile"
)

// fastest is what the kernel lets perf events sample at by default
// (kernel.perf_event_max_sample_rate is far higher).
const fastest = 10000

// titleRuns heads what oncpu shows.
const titleRuns = "Where threads run"

// runStates are the states of a thread that runs.
func runStates() map[string]bool {
	return map[string]bool{string(stacks.OnUser): true, string(stacks.OnKernel): true}
}

func newOnCPUCommand(e *env) *cobra.Command {
	o := &profileOptions{}
	var hz int
	c := &cobra.Command{
		Use:   "oncpu [flags]",
		Short: "Show in which code threads run",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if data, err := readEvidence(e, c, &o.playback, incident.SectionOnCPU); err != nil {
				return err
			} else if data != nil {
				return playStacks(e.streams, c, o, incident.SectionOnCPU, titleRuns, data, runStates())
			}
			ask, err := o.check(e, c)
			if err != nil {
				return err
			}
			ask.OnCPU, ask.Hz = true, hz
			return observeProfile(e, c, o, ask, titleRuns, runStates())
		},
	}
	o.bind(c, "run")
	c.Flags().Var(ask.NumberIn(&hz, profile.UsualHz, 1, fastest), "hz", "samples per second on each processor")
	o.bindOutput(c)
	o.playback.bind(c)
	return c
}
