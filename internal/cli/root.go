package cli

// A command is a file: newXCommand(e *env) makes it, with its flags, its help
// and its examples; what it does is a function that is handed what it needs of
// e: the host, a stream, several streams, or all. Its line is in commandGroups.

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/host"
	"iocause/internal/source"
	"iocause/internal/version"
	"iocause/internal/view"
)

// Root is the whole command line, for what is made of it: manual and completions.
func Root() *cobra.Command {
	return newRootCommand(&env{streams: streams{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}, host: host.Live(), sources: source.List()})
}

func newRootCommand(e *env) *cobra.Command {
	o := &diagnoseOptions{}
	root := &cobra.Command{
		Use:               "iocause [flags] [-- COMMAND ...]",
		Short:             "Find out why I/O is slow",
		Version:           version.Build().String(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Args: func(c *cobra.Command, args []string) error {
			if before := argsBeforeDash(c, args); len(before) > 0 {
				return unknownCommand(c, before[0], orDuration(c, before[0], fmt.Sprintf("to watch a program, write 'iocause -- %s'; see 'iocause --help'", strings.Join(before, " "))))
			}
			return checkCommandGiven(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error { return runDiagnose(e, c, o, args) },
	}
	o.bind(root)
	for _, g := range commandGroups(e) {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range g.commands {
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	describe(root, root.Name())
	root.SetHelpCommandGroupID(otherCommands)
	refuseUnknownHelp(root)
	root.SetVersionTemplate("iocause {{.Version}}\n")
	root.SetUsageTemplate(usageTemplate)
	bindIdentities(root, e)
	completeValues(root, e.host)
	tellUsageApart(root)
	return root
}

// commandGroup is a part of the list of commands that --help shows.
type commandGroup struct {
	title    string
	commands []*cobra.Command
}

const otherCommands = "Other"

// commandGroups are all commands.
func commandGroups(e *env) []commandGroup {
	observe := []*cobra.Command{newLiveCommand(e), newThreadsCommand(e), newLatencyCommand(e), newOffCPUCommand(e), newOnCPUCommand(e),
		newResidentCommand(e), newMemCommand(e), newTraceCommand(e), newBurstCommand(e)}
	for _, t := range view.List() {
		observe = append(observe, newToolCommand(e, &t))
	}
	return []commandGroup{
		{"Diagnose", []*cobra.Command{newDiagnoseCommand(e), newReportCommand(e), newPredictCommand(e), newVerifyCommand(e), newAdviceCommand(e), newCheckCommand(e)}},
		{"Observe", observe},
		{"Record and agent", []*cobra.Command{newRecordCommand(e), newAgentCommand(e), newQueryCommand(e), newTopCommand(e), newBaselineCommand(e),
			newIncidentsCommand(e), newIncidentCommand(e), newCaptureCommand(e), newExportCommand(e)}},
		{"Compare", []*cobra.Command{newFleetCommand(e), newDiffCommand(e)}},
		{"Lab", []*cobra.Command{newLabCommand(e)}},
		{"Import", []*cobra.Command{newReadCommand(e), newFlameCommand(e)}},
		{otherCommands, []*cobra.Command{newMCPCommand(e), newSchemaCommand(e), newCompletionCommand(e), newVersionCommand(e)}},
	}
}

// unknownCommand says that a command has none of that name below it, and which
// one may be meant; else what to do.
func unknownCommand(c *cobra.Command, name, next string) error {
	c.SuggestionsMinimumDistance = 2
	if like := c.SuggestionsFor(name); len(like) > 0 && strings.IndexAny(name, "0123456789") != 0 { // else a time is meant
		next = fmt.Sprintf("did you mean '%s'? See '%s --help'", like[0], c.CommandPath())
	}
	return &ask.Error{Err: fmt.Errorf("reading the arguments: there is no command %q", name), Next: next}
}

// refuseUnknownHelp makes 'help' fail for what there is no help of; cobra prints
// the usage and is content.
func refuseUnknownHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() != "help" {
			continue
		}
		c.Short, c.Run = "Help about any command", nil
		c.RunE = func(_ *cobra.Command, args []string) error {
			of, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				if of == nil {
					of, rest = root, args
				}
				return unknownCommand(of, rest[0], fmt.Sprintf("see '%s --help'", of.CommandPath()))
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		}
	}
}

// argsBeforeDash are the arguments before "--".
func argsBeforeDash(c *cobra.Command, args []string) []string {
	if n := c.ArgsLenAtDash(); n >= 0 {
		return args[:n]
	}
	return args
}

// checkCommandGiven refuses a "--" with nothing behind it.
func checkCommandGiven(c *cobra.Command, args []string) error {
	if n := c.ArgsLenAtDash(); n >= 0 && n == len(args) {
		return &ask.Error{Err: fmt.Errorf("reading the arguments: no command follows --"), Next: fmt.Sprintf("write it there, or leave out the --; see '%s --help'", c.CommandPath())}
	}
	return nil
}

// usageTemplate is cobra's with the examples at the end. Commands of the lab
// are in no groups.
const usageTemplate = `Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND{{if not .Groups}}

Commands:{{range .Commands}}{{if (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{range $group := .Groups}}

{{.Title}}{{range $.Commands}}{{if (and (eq .GroupID $group.ID) (or .IsAvailableCommand (eq .Name "help")))}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Global flags:
{{.InheritedFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}{{if .HasExample}}

EXAMPLES
{{.Example}}{{end}}
`
