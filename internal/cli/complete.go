package cli

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"iocause/experiments"
	"iocause/internal/detect"
	"iocause/internal/diagnose"
	"iocause/internal/filters"
	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/parse"
	"iocause/internal/replay"
	"iocause/internal/store/incidents"
	"iocause/internal/tool/profile"
	"iocause/internal/tool/query"
	"iocause/scenarios"
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
	if words, ok := f.Value.(choiceFlag); ok {
		return oneOfThese(words.all), noFiles
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
		return causes, noFiles
	case "as":
		return recognised, noFiles
	case "filter":
		return scenarioNames, noFiles
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
		return signals, noFiles
	case "query":
		return seriesNames, noFiles | cobra.ShellCompDirectiveNoSpace
	case "lab run":
		return experimentNames, 0
	}
	return nil, 0
}

func oneOfThese(words []string) offering {
	return func(_ *cobra.Command, begin string) []filters.Offer { return filters.Begin(named(words), begin) }
}

// listOfThese offers the last of several words with commas between them.
func listOfThese(words []string) offering {
	return func(_ *cobra.Command, begin string) []filters.Offer {
		before := begin[:strings.LastIndexByte(begin, ',')+1]
		all := filters.Begin(named(words), begin[len(before):])
		for i := range all {
			all[i].Value = before + all[i].Value
		}
		return all
	}
}

func named(words []string) []filters.Offer {
	var all []filters.Offer
	for _, w := range words {
		all = append(all, filters.Offer{Value: w})
	}
	return all
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

func incidentNumbers(c *cobra.Command, begin string) []filters.Offer {
	list, err := incidents.List(filepath.Join(agentDir(c), incidentsIn))
	if err != nil {
		return nil // there is no agent here
	}
	var all []filters.Offer
	for _, e := range list {
		what := replay.Stamp(e.Meta.What.Start) + " " + e.Meta.Cause
		all = append(all, filters.Offer{Value: strconv.Itoa(e.Number), What: strings.TrimSpace(what)})
	}
	return filters.Begin(all, begin)
}

func causes(_ *cobra.Command, begin string) []filters.Offer {
	var all []filters.Offer
	for _, c := range diagnose.List() {
		all = append(all, filters.Offer{Value: string(c.ID), What: c.Title})
	}
	return filters.Begin(all, begin)
}

func recognised(_ *cobra.Command, begin string) []filters.Offer {
	var all []filters.Offer
	for _, t := range parse.List() {
		all = append(all, filters.Offer{Value: t.Name, What: t.What})
	}
	return filters.Begin(all, begin)
}

func signals(_ *cobra.Command, begin string) []filters.Offer {
	var all []filters.Offer
	for _, s := range detect.Signals() {
		all = append(all, filters.Offer{Value: s.Name, What: s.Help})
	}
	return filters.Begin(all, begin)
}

func scenarioNames(_ *cobra.Command, begin string) []filters.Offer {
	every, err := lab.ReadAll(scenarios.Files, ".")
	if err != nil {
		return nil
	}
	var all []filters.Offer
	for _, s := range every {
		all = append(all, filters.Offer{Value: s.Name, What: s.Title})
	}
	return filters.Begin(all, begin)
}

func experimentNames(_ *cobra.Command, begin string) []filters.Offer {
	files, err := experiments.Files.ReadDir(".")
	if err != nil {
		return nil
	}
	var all []filters.Offer
	for _, f := range files {
		all = append(all, filters.Offer{Value: strings.TrimSuffix(f.Name(), ".yaml")})
	}
	return filters.Begin(all, begin)
}

// seriesNames offers the metrics that the agent keeps for the last name of an
// expression: rate(iocause_d goes on as rate(iocause_disk_busy_seconds_total.
func seriesNames(c *cobra.Command, begin string) []filters.Offer {
	r, _, err := query.Open(agentDir(c))
	if err != nil {
		return nil
	}
	names, err := query.Names(c.Context(), r)
	if err = errors.Join(err, r.Close()); err != nil {
		return nil
	}
	at := strings.LastIndexFunc(begin, func(r rune) bool { return !isNameRune(r) }) + 1
	var all []filters.Offer
	for _, name := range names {
		if strings.HasPrefix(name, begin[at:]) {
			all = append(all, filters.Offer{Value: begin[:at] + name})
		}
	}
	return all
}

func isNameRune(r rune) bool {
	return r == '_' || r == ':' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}
