package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"iocause/internal/ask"
	"iocause/internal/filters"
	"iocause/internal/host"
	"iocause/internal/offers"
	"iocause/internal/tool/profile"
)

// offering finds the values that a shell can offer for a flag or an argument which
// begins so.
type offering func(c *cobra.Command, begin string) []filters.Offer

// noFiles tells a shell that files are no answer.
const noFiles = cobra.ShellCompDirectiveNoFileComp

// completeValues makes the shell offer values of flags and arguments, of a command
// and of those below it.
func completeValues(c *cobra.Command, h *host.Host) {
	for _, sub := range c.Commands() {
		completeValues(sub, h)
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if offer, others := valuesOf(h, f); offer != nil {
			_ = c.RegisterFlagCompletionFunc(f.Name, completed(offer, others)) // fails for one that has a function already
		}
	})
	if offer, others := argumentsOf(c); offer != nil {
		most := 1
		if c.Name() == "diff" {
			most = 2
		}
		c.ValidArgsFunction = func(c *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
			if len(args) >= most {
				return nil, others
			}
			return completed(offer, others)(c, args, begin)
		}
	}
}

// completed puts offers into the form of a shell. others is what else it may offer.
func completed(offer offering, others cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
		var all []string
		for _, o := range offer(c, begin) {
			if o.What == "" {
				all = append(all, o.Value)
				continue
			}
			all = append(all, cobra.CompletionWithDesc(o.Value, o.What))
		}
		return all, others
	}
}

// valuesOf finds the values of a flag; nil where there is nothing to offer.
func valuesOf(h *host.Host, f *pflag.Flag) (offering, cobra.ShellCompDirective) {
	if words, ok := f.Value.(ask.Choice); ok {
		return oneOfThese(words.All), noFiles
	}
	switch f.Name {
	case "pid", "comm", "cgroup", "device", "container", "pod", "unit":
		if f.Name == "cgroup" {
			return onThisMachine(h, f.Name), noFiles | cobra.ShellCompDirectiveNoSpace // more may follow
		}
		return onThisMachine(h, f.Name), noFiles
	case "recording", "against":
		return incidentNumbers, 0
	case "state":
		return listOfThese(append(profile.WaitStates(), strings.Split(profile.Groups(), ", ")...)), noFiles | cobra.ShellCompDirectiveNoSpace
	case "fail-on":
		return listOfThese(answers()), noFiles | cobra.ShellCompDirectiveNoSpace
	case "cause":
		return plain(offers.Causes), noFiles
	case "as":
		return plain(offers.Tools), noFiles
	case "filter":
		return plain(offers.Scenarios), noFiles
	case "dir", "scratch", "keep":
		return func(*cobra.Command, string) []filters.Offer { return nil }, cobra.ShellCompDirectiveFilterDirs
	}
	return nil, 0
}

// argumentsOf finds the values of a command's arguments; nil likewise.
func argumentsOf(c *cobra.Command) (offering, cobra.ShellCompDirective) {
	switch strings.TrimPrefix(c.CommandPath(), "iocause ") {
	case "incident", "report", "diff":
		return incidentNumbers, 0
	case "export":
		return incidentNumbers, noFiles
	case "baseline":
		return plain(offers.Signals), noFiles
	case "query":
		return seriesNames, noFiles | cobra.ShellCompDirectiveNoSpace
	case "lab run":
		return plain(offers.Experiments), 0
	}
	return nil, 0
}

func oneOfThese(words []string) offering {
	return func(_ *cobra.Command, begin string) []filters.Offer { return offers.Words(words, begin) }
}

func listOfThese(words []string) offering {
	return func(_ *cobra.Command, begin string) []filters.Offer { return offers.List(words, begin) }
}

// plain is an offering that the command line before it does not change.
func plain(offer func(begin string) []filters.Offer) offering {
	return func(_ *cobra.Command, begin string) []filters.Offer { return offer(begin) }
}

func incidentNumbers(c *cobra.Command, begin string) []filters.Offer {
	return offers.Incidents(agentDir(c), begin)
}

func seriesNames(c *cobra.Command, begin string) []filters.Offer {
	return offers.Series(c.Context(), agentDir(c), begin)
}

// onThisMachine offers what there is here; of a recording, which may be another
// machine's, nothing.
func onThisMachine(h *host.Host, flag string) offering {
	return func(c *cobra.Command, begin string) []filters.Offer {
		if f := c.Flags().Lookup("recording"); f != nil && f.Changed {
			return nil
		}
		return filters.Offers(h, flag, begin)
	}
}

// agentDir is the folder of the agent that the command line names.
func agentDir(c *cobra.Command) string {
	if f := c.Flags().Lookup("dir"); f != nil {
		return f.Value.String()
	}
	return stateDir
}
