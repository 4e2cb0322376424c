package cli

import (
	"fmt"

	"github.com/spf13/cobra"

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
		Long: "Oncpu samples the running threads' kernel and user stacks --hz times a second on\n" +
			"every processor and shows those with the most time, or draws all of them as a\n" +
			"flame graph: the other half of what offcpu shows. It samples the processor's\n" +
			"cycle counter, or the CPU clock where there is none, as in many virtual\n" +
			"machines: then code that runs with interrupts off is seen when it ends. Stacks\n" +
			"are complete without frame pointers, too, where files have unwinding tables.\n\n" +
			"Ctrl-C ends the watching early and still shows what was seen.",
		Example: `  iocause oncpu
  iocause oncpu --pid 1234 --duration 30s -o runs.html
  iocause oncpu --cgroup /system.slice/postgresql.service
  iocause oncpu -o runs.pb.gz && go tool pprof -top runs.pb.gz
  iocause oncpu --recording 17 -o incident.html`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if data, err := readEvidence(e, c, &o.playback, incident.SectionOnCPU); err != nil {
				return err
			} else if data != nil {
				return playStacks(e.streams, c, o, incident.SectionOnCPU, titleRuns, data, runStates())
			}
			if hz < 1 || hz > fastest {
				return &usageError{fmt.Errorf("reading --hz: %d is no such rate", hz), fmt.Sprintf("give 1 to %d; 99 is a good one", fastest)}
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
	c.Flags().IntVar(&hz, "hz", profile.UsualHz, "samples a second and processor")
	o.bindOutput(c)
	o.playback.bind(c)
	return c
}
