package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"iocause/internal/ask"
	"iocause/internal/host"
	"iocause/internal/offers"
)

// completeValues makes the shell offer values of flags and arguments, of a command
// and of those below it.
func completeValues(c *cobra.Command, h *host.Host) {
	for _, sub := range c.Commands() {
		completeValues(sub, h)
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		values := offers.OfFlag(f.Name)
		if words, ok := f.Value.(ask.Choice); ok {
			values = offers.OneOf(words.All)
		}
		if values.Of != nil {
			_ = c.RegisterFlagCompletionFunc(f.Name, completed(h, values)) // fails for one that has a function already
		}
	})
	if values := offers.OfArgument(strings.TrimPrefix(c.CommandPath(), "iocause ")); values.Of != nil {
		offer := completed(h, values)
		c.ValidArgsFunction = func(c *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
			all, others := offer(c, args, begin)
			if len(args) >= values.Most {
				all = nil
			}
			return all, others
		}
	}
}

// completed puts offers into the form of a shell.
func completed(h *host.Host, v offers.Values) cobra.CompletionFunc {
	others := cobra.ShellCompDirectiveNoFileComp
	switch {
	case v.Folders:
		others = cobra.ShellCompDirectiveFilterDirs
	case v.Files:
		others = cobra.ShellCompDirectiveDefault
	}
	if v.More {
		others |= cobra.ShellCompDirectiveNoSpace
	}
	return func(c *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
		line := offers.Line{Host: h, Dir: stateDir, Begin: begin}
		if f := c.Flags().Lookup("recording"); f != nil {
			line.Recording = f.Value.String()
		}
		if f := c.Flags().Lookup("dir"); f != nil {
			line.Dir = f.Value.String()
		}
		var all []string
		for _, o := range v.Of(c.Context(), &line) {
			if o.What == "" {
				all = append(all, o.Value)
				continue
			}
			all = append(all, cobra.CompletionWithDesc(o.Value, o.What))
		}
		return all, others
	}
}
