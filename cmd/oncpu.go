package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"iocause/internal/bpf"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/source/probe/stacks"
	"iocause/internal/symbol"
)

// fastest is what the kernel lets perf events sample at by default
// (kernel.perf_event_max_sample_rate is far higher).
const fastest = 10000

func newOnCPUCommand(a *app) *cobra.Command {
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
  iocause oncpu -o runs.pb.gz && go tool pprof -top runs.pb.gz`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.playback.refusedHere(c); err != nil {
				return err
			}
			if hz < 1 || hz > fastest {
				return &usageError{fmt.Errorf("reading --hz: %d is no such rate", hz), fmt.Sprintf("give 1 to %d; 99 is a good one", fastest)}
			}
			ask, err := o.check(a, c)
			if err != nil {
				return err
			}
			ask.OnCPU, ask.Hz = true, hz
			return a.runProfile(c, o, ask, func(seen *profiled, names *symbol.Resolver) (*sample.Profile, error) {
				r := newResolver(names)
				p := r.resolveRuns(seen)
				p.Title = "Where threads run"
				keepStates(p, map[string]bool{string(stacks.OnUser): true, string(stacks.OnKernel): true})
				p.Notes = append(p.Notes, sampleNote(p, seen, hz))
				return p, nil
			})
		},
	}
	o.bind(c, "run")
	c.Flags().IntVar(&hz, "hz", 99, "samples a second and processor")
	o.bindOutput(c)
	o.playback.bind(c)
	return c
}

// sampleNote says what the samples are.
func sampleNote(p *sample.Profile, seen *profiled, hz int) string {
	var n uint64
	for i := range p.Stacks {
		n += p.Stacks[i].Count
	}
	note := fmt.Sprintf("%s at %d Hz by %s, each for %s of running", sample.Counted(n, "sample"), hz, seen.event, text.Duration(1/float64(hz)))
	if cpus, err := bpf.Online(); err == nil {
		note += "; " + sample.Counted(cpus, "processor")
	}
	return note
}
