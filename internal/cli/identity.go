package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"iocause/internal/filters"
	"iocause/internal/host"
)

// bindIdentities gives --container, --pod and --unit to every command that has
// --cgroup. They set it, so that all that is said of it holds for them.
func bindIdentities(c *cobra.Command, h *host.Host) {
	for _, sub := range c.Commands() {
		bindIdentities(sub, h)
	}
	if f := c.Flags().Lookup("cgroup"); f == nil || f.Value.Type() != "string" || strings.HasPrefix(c.CommandPath(), "iocause lab") {
		return
	}
	for _, i := range filters.Identities() {
		c.Flags().String(i.Name, "", i.Help)
	}
	c.PreRunE = func(c *cobra.Command, _ []string) error { return setCgroup(c, h) }
}

// setCgroup sets --cgroup to what is called so by another name.
func setCgroup(c *cobra.Command, h *host.Host) error {
	flags := c.Flags()
	for _, i := range filters.Identities() {
		switch {
		case !flags.Changed(i.Name):
			continue
		case flags.Changed("cgroup"):
			return &usageError{fmt.Errorf("reading --%s: a cgroup is given already", i.Name), "give one of --cgroup, --container, --pod and --unit"}
		case flags.Changed("recording"), flags.Changed("input"):
			return &usageError{fmt.Errorf("reading --%s: it is looked for on this machine, and a recording may be another's", i.Name),
				"give the path with --cgroup; 'iocause disk --by cgroup' of that recording shows them"}
		}
		path, err := i.Cgroup(h, flags.Lookup(i.Name).Value.String())
		if err != nil {
			return err
		}
		if err := flags.Set("cgroup", path); err != nil {
			return badUsage(c, err)
		}
	}
	return nil
}
