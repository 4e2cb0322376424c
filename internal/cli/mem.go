package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"iocause/internal/console"
	"iocause/internal/diagnose"
	"iocause/internal/filters"
	"iocause/internal/host"
	"iocause/internal/incident"
	"iocause/internal/table"
	"iocause/internal/tool/mem"
)

// memOptions are the flags of mem.
type memOptions struct {
	intervals
	exact    bool
	filter   filter
	file     string
	playback playback
}

func newMemCommand(e *env) *cobra.Command {
	o := &memOptions{}
	c := &cobra.Command{
		Use:   "mem [INTERVAL [COUNT]] [flags]",
		Short: "Show where the memory is, and how much can be freed",
		Args:  cobra.MaximumNArgs(2),
		RunE:  func(c *cobra.Command, args []string) error { return runMem(e, c, o, args) },
	}
	c.Flags().BoolVar(&o.exact, "exact", false, "examine every page of the cache, not a sample")
	o.filter.bind(c)
	bindFile(c, &o.file)
	o.bind(c, "pss_bytes")
	o.playback.bind(c)
	return c
}

func runMem(e *env, c *cobra.Command, o *memOptions, args []string) error {
	if data, err := readEvidence(e, c, &o.playback, incident.SectionMem); err != nil {
		return err
	} else if data != nil {
		return playMemory(e, c, o, data, args)
	}
	choice, err := memChoice(e.host, c, o)
	if err != nil {
		return err
	}
	absent := filters.NotThere(e.host, diagnose.Target{Comm: o.filter.Comm}, o.file)
	take := func(context.Context) (*mem.Memory, error) {
		flags := mem.Sample
		if o.exact {
			flags = 0
		}
		now, err := takeMemory(e, flags)
		if err == nil && choice != nil {
			now.Choose(e.host, *choice)
			absent.Found(len(now.Processes) > 0)
			err = absent.Err(0)
		}
		return now, err
	}
	show := func(p *console.Printer, now, before *mem.Memory) ([]table.Table, error) {
		return mem.Tables(now, before, memForm(p)), nil
	}
	return snapshots(c.Context(), e.streams, &o.intervals, args, take, show)
}

// takeMemory looks once, at the flags of so many pages at most, 0 for all.
func takeMemory(e *env, flags int) (*mem.Memory, error) {
	line := console.NewCounting(e.stderr, "processes read")
	defer line.Erase()
	return mem.Observe(e.host, mem.Options{Flags: flags, Progress: line.Update})
}

// memForm is what the screen has room for.
func memForm(p *console.Printer) mem.Form {
	people := p.Form.Format == "text"
	return mem.Form{People: people, Narrow: people && p.Style.Width < roomy}
}

// memChoice is which processes are asked for, nil without a filter.
func memChoice(h *host.Host, c *cobra.Command, o *memOptions) (*mem.Choice, error) {
	files, err := wantedFiles(h, c, o.file, o.filter.Device)
	if err != nil {
		return nil, err
	}
	given := slices.DeleteFunc(o.filter.given(c), func(name string) bool { return name == "device" }) // it chooses files
	if len(given) == 0 && !files.Narrow() {
		return nil, nil
	}
	target, err := o.filter.TargetInProc(h, given)
	if err != nil {
		return nil, err
	}
	choice := &mem.Choice{PIDs: target.PIDs, Comm: target.Comm}
	if target.Cgroup != "" {
		choice.Below = func() []int { return h.Below(target.Cgroup) }
	}
	if files.Narrow() {
		choice.Maps = func(dev host.DevNumber, path string) bool { return files.Named(path) && files.On(dev) }
	}
	return choice, nil
}

// playMemory shows the memory of an incident.
func playMemory(e *env, c *cobra.Command, o *memOptions, data []byte, args []string) error {
	if err := onlyLive(c, args, "an incident holds the memory of processes, not their cgroups and files", "cgroup", "device", "file", "exact"); err != nil {
		return err
	}
	was, target, err := evidenceOf[mem.Memory](c, &o.filter, incident.SectionMem, data)
	if err != nil {
		return err
	}
	if err := was.Check(); err != nil {
		return err
	}
	if len(target.PIDs) > 0 || target.Comm != "" {
		was.Choose(e.host, mem.Choice{PIDs: target.PIDs, Comm: target.Comm, None: "no such process was there"})
	}
	p := newPrinter(e.streams, &o.intervals)
	return p.Print(was.At, 0, "", mem.Tables(was, nil, memForm(p)))
}
