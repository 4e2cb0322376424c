package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"iocause/internal/ask"
	"iocause/internal/filters"
	"iocause/internal/replay"
)

// bindIdentities gives --container, --pod and --unit to every command that has
// --cgroup. They set it, so that all that is said of it holds for them.
func bindIdentities(c *cobra.Command, e *env) {
	for _, sub := range c.Commands() {
		bindIdentities(sub, e)
	}
	if f := c.Flags().Lookup("cgroup"); f == nil || f.Value.Type() != "string" || strings.HasPrefix(c.CommandPath(), "iocause lab") {
		return
	}
	for _, i := range filters.Identities() {
		c.Flags().String(i.Name, "", i.Help)
		c.Flags().Lookup(i.Name).Hidden = c.Flags().Lookup("cgroup").Hidden
	}
	c.PreRunE = func(c *cobra.Command, _ []string) error { return setCgroup(c, e) }
}

// setCgroup sets --cgroup to what is called so by another name.
func setCgroup(c *cobra.Command, e *env) error {
	flags := c.Flags()
	for _, i := range filters.Identities() {
		switch {
		case !flags.Changed(i.Name):
			continue
		case flags.Changed("cgroup"):
			return &ask.Error{Err: fmt.Errorf("reading --%s: a cgroup is given already", i.Name), Next: "give one of --cgroup, --container, --pod and --unit"}
		case flags.Changed("input"):
			return &ask.Error{Err: fmt.Errorf("reading --%s: it is looked up on this machine, but the trace may be of another", i.Name), Next: "give the path with --cgroup"}
		}
		path, err := cgroupOf(flags, e, &i)
		if err != nil {
			return err
		}
		if err := flags.Set("cgroup", path); err != nil {
			return badUsage(c, err)
		}
	}
	return nil
}

// cgroupOf finds the cgroup on this machine, or in the recording that is asked.
func cgroupOf(flags *pflag.FlagSet, e *env, i *filters.Identity) (string, error) {
	name := flags.Lookup(i.Name).Value.String()
	file := flags.Lookup("recording")
	if file == nil || file.Value.String() == "" {
		return i.Cgroup(e.host, name)
	}
	dir := flags.Lookup("dir").Value.String()
	if info, err := os.Stat(file.Value.String()); err == nil && info.IsDir() { // an agent's, which has series of the host
		return i.Cgroup(e.host, name)
	}
	names, err := newOpener(e, dir).Names(context.Background(), replay.Numbered(dir, file.Value.String()))
	if err != nil {
		return "", err
	}
	return i.Recorded(names.Cgroups, name)
}
