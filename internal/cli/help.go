package cli

import (
	"cmp"
	"embed"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// helpTexts are the help of commands as it is shown: what the command does, and
// after a line EXAMPLES its examples. What stands in braces is filled in.
//
//go:embed help/*.txt
var helpTexts embed.FS

// examplesBegin parts the two.
const examplesBegin = "\n\nEXAMPLES\n"

// shared are paragraphs that the help of several commands has.
func shared() []string {
	return []string{
		"{intervals}", `INTERVAL is in seconds, or has a unit (500ms, 1m); with COUNT it ends after so
many, without it goes on until Ctrl-C, and then sums up. Without both it watches
for 5 seconds once. Ctrl-C ends an interval early and still shows it.`,
		"{snapshots}", `Without INTERVAL it shows how things are, once. With INTERVAL (in seconds, or
500ms, 1m) it does so again and again, with what changed since the time before:
COUNT times, or until Ctrl-C, and then it shows what changed since the first.`,
		"{times}", `A time is "10m ago", "14:00", "yesterday 14:00", "2026-01-31 14:00" or RFC 3339.`,
		"{recording times}", `TIME is 14:00 or 14:00:30 (of the day that the recording began on), "yesterday
14:00", "2026-01-31 14:00", RFC 3339, "10m ago", or +30s after the beginning.`,
	}
}

// describe gives a command and those below it what help/NAME.txt says of them,
// NAME being the path of the command, as lab-run; a command whose help has more to
// fill in has done that. Flags are listed in the order in which they were added.
func describe(c *cobra.Command, name string) {
	c.Flags().SortFlags = false
	if help, examples, ok := partsOf(name); ok {
		c.Long, c.Example = cmp.Or(c.Long, filled(help)), examples
	}
	for _, sub := range c.Commands() {
		describe(sub, strings.TrimPrefix(name+"-"+sub.Name(), "iocause-"))
	}
}

// helpOf is the help of a command that has more to fill in: names in braces and
// what stands there, in turn.
func helpOf(name string, more ...string) string {
	help, _, _ := partsOf(name)
	return filled(help, more...)
}

func filled(help string, more ...string) string {
	return strings.NewReplacer(append(shared(), more...)...).Replace(help)
}

func partsOf(name string) (help, examples string, ok bool) {
	b, err := helpTexts.ReadFile("help/" + name + ".txt")
	help, examples, _ = strings.Cut(strings.TrimSuffix(string(b), "\n"), examplesBegin)
	return help, examples, err == nil
}

// listOf are lines of names and what they are, for a help to be filled with.
func listOf[T any](all []T, say func(T) (name, what string)) string {
	width := 0
	for _, x := range all {
		name, _ := say(x)
		width = max(width, len(name))
	}
	var lines []string
	for _, x := range all {
		name, what := say(x)
		lines = append(lines, fmt.Sprintf("  %-*s %s", width, name, what))
	}
	return strings.Join(lines, "\n")
}
