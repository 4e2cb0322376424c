package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/diagnose"
	"iocause/internal/filters"
	"iocause/internal/host"
	"iocause/internal/view"
)

// filter are the flags that narrow a question.
type filter struct{ filters.Filter }

// bind adds the flags of a command that shows what they choose.
func (f *filter) bind(c *cobra.Command) {
	flags := c.Flags()
	flags.IntVar(&f.PID, "pid", 0, "only this process")
	flags.StringVar(&f.Comm, "comm", "", "only processes of this name")
	flags.StringVar(&f.Cgroup, "cgroup", "", "only processes in and below this cgroup")
	flags.StringVar(&f.Device, "device", "", "only this block device")
}

// given are the names of the filter flags that were set.
func (f *filter) given(c *cobra.Command) []string { return changed(c, filters.Names()...) }

// target is whom the flags ask for: on this machine, or in what was recorded.
func (f *filter) target(h *host.Host, recorded bool, given []string) (diagnose.Target, error) {
	if recorded {
		return f.Recorded(given)
	}
	return f.Target(h, given)
}

// one is given where a command takes one filter at most.
func (f *filter) one(c *cobra.Command) ([]string, error) {
	given := f.given(c)
	if len(given) > 1 {
		return nil, &ask.Error{Err: fmt.Errorf("reading the flags: --%s and --%s cannot be combined", given[0], given[1]), Next: "give one of them"}
	}
	return given, nil
}

// arguments checks what a command is about, as ask.Arguments does.
func arguments(least int, next string, names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error { return ask.Arguments(args, least, next, names...) }
}

// changed are the flags of these names that were set.
func changed(c *cobra.Command, names ...string) (set []string) {
	for _, name := range names {
		if c.Flags().Changed(name) {
			set = append(set, name)
		}
	}
	return set
}

// refused fails for a filter that was given and is without meaning.
func refused(c *cobra.Command, refusals []view.Refusal, by string) error {
	for _, r := range refusals {
		if r.By != "" && r.By != by {
			continue
		}
		for _, name := range changed(c, r.Flags...) {
			return &ask.Error{Err: fmt.Errorf("reading --%s: %s", name, r.Why), Next: r.Instead}
		}
	}
	return nil
}

// hideRefused leaves flags out of the help that have no meaning by any rows.
func hideRefused(c *cobra.Command, refusals []view.Refusal) {
	for _, r := range refusals {
		for _, name := range r.Flags {
			c.Flags().Lookup(name).Hidden = c.Flags().Lookup(name).Hidden || r.By == ""
		}
	}
}

// bindFile adds --file.
func bindFile(c *cobra.Command, file *string) {
	c.Flags().StringVar(file, "file", "", "only this file, directory tree or pattern")
}

// wantedFile is what --file names, "" where it is not given.
func wantedFile(c *cobra.Command, name string) (string, error) {
	if !c.Flags().Changed("file") {
		return "", nil
	}
	return filters.File(name)
}

// wantedFiles are those that --file and --device choose.
func wantedFiles(h *host.Host, c *cobra.Command, file, device string) (*filters.Files, error) {
	name, err := wantedFile(c, file)
	if err == nil && c.Flags().Changed("device") {
		device, err = h.WholeDisk(device)
	} else {
		device = ""
	}
	return filters.NewFiles(h, name, device), err
}
