package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// identityFlags are other names for --cgroup: what a cgroup's path tells of who
// it belongs to.
func identityFlags() [][3]string {
	return [][3]string{
		{"container", "the same by a container's ID, or its beginning", "'docker ps', 'podman ps' and 'crictl ps' show them"},
		{"pod", "by the UID of a Kubernetes pod, or its beginning", "'kubectl get pod NAME -o jsonpath={.metadata.uid}' shows it"},
		{"unit", "by the name of a systemd unit", "'systemctl list-units' shows them"},
	}
}

// bindIdentities gives --container, --pod and --unit to every command that has
// --cgroup. They set it, so that all that is said of it holds for them.
func bindIdentities(c *cobra.Command, h *host.Host) {
	for _, sub := range c.Commands() {
		bindIdentities(sub, h)
	}
	if f := c.Flags().Lookup("cgroup"); f == nil || f.Value.Type() != "string" || strings.HasPrefix(c.CommandPath(), "iocause lab") {
		return
	}
	asked := map[string]*string{}
	for _, f := range identityFlags() {
		asked[f[0]] = c.Flags().String(f[0], "", f[1])
	}
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		for _, f := range identityFlags() {
			if !c.Flags().Changed(f[0]) {
				continue
			}
			path, err := identified(c, h, f[0], *asked[f[0]], f[2])
			if err != nil {
				return err
			}
			if err := c.Flags().Set("cgroup", path); err != nil {
				return badUsage(c, err)
			}
		}
		return nil
	}
}

// identified is the path of the one cgroup that is meant.
func identified(c *cobra.Command, h *host.Host, kind, name, where string) (string, error) {
	flags := c.Flags()
	switch {
	case name == "":
		return "", &usageError{fmt.Errorf("reading --%s: it is empty", kind), where}
	case flags.Changed("cgroup"):
		return "", &usageError{fmt.Errorf("reading --%s: a cgroup is given already", kind), "give one of --cgroup, --container, --pod and --unit"}
	case flags.Lookup("recording") != nil && flags.Changed("recording"), flags.Lookup("input") != nil && flags.Changed("input"):
		return "", &usageError{fmt.Errorf("reading --%s: it is looked for on this machine, and a recording may be another's", kind),
			"give the path with --cgroup; 'iocause disk --by cgroup' of that recording shows them"}
	}
	found := h.FindCgroups(func(path string) bool { return sample.IdentityOf(path).Is(kind, name) })
	switch len(found) {
	case 0:
		return "", fmt.Errorf("looking for %s %q: no cgroup's path has it; %s", kind, name, where)
	case 1:
		return found[0], nil
	}
	return "", &usageError{fmt.Errorf("looking for %s %q: it is in %d cgroups: %s", kind, name, len(found), strings.Join(found[:min(len(found), 4)], ", ")),
		"give more of its ID, or one of these with --cgroup"}
}
