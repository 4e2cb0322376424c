package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// manual is a page for each command that --help shows, below one that markDown
// has seen.
func manual(c *cobra.Command, b built) ([]file, error) {
	head := &doc.GenManHeader{Section: "1", Date: &b.time, Source: "iocause " + b.version, Manual: "iocause"}
	var page bytes.Buffer
	if err := doc.GenMan(c, head, &page); err != nil {
		return nil, fmt.Errorf("making the manual of %s: %w", c.CommandPath(), err)
	}
	all := []file{{pageName(c), 0o644, page.Bytes()}}
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() {
			continue
		}
		pages, err := manual(sub, b)
		if err != nil {
			return nil, err
		}
		all = append(all, pages...)
	}
	return all, nil
}

func pageName(c *cobra.Command) string {
	return strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
}

// markDown turns the help of a command and of those below it into the Markdown
// that cobra takes it for: lists and tables, which are indented, keep their lines,
// and no character has a meaning of its own.
func markDown(c *cobra.Command) {
	c.Long, c.Short = marked(c.Long), escaped(c.Short)
	c.Flags().VisitAll(func(f *pflag.Flag) {
		_, usage := pflag.UnquoteUsage(f)
		f.Usage = escaped(strings.ReplaceAll(usage, "\n", " "))
	})
	for _, sub := range c.Commands() {
		markDown(sub)
	}
}

func marked(help string) string {
	var b strings.Builder
	inside := false // of a list
	for line := range strings.Lines(help) {
		indented := strings.HasPrefix(line, " ")
		switch {
		case indented && !inside:
			b.WriteString("\n```\n")
		case !indented && inside:
			b.WriteString("```\n\n")
		}
		if inside = indented; !inside {
			line = escaped(line)
		}
		b.WriteString(line)
	}
	if inside {
		b.WriteString("\n```\n")
	}
	return b.String()
}

var special = regexp.MustCompile("[\\\\`*_<>#\\[\\]~|]")

func escaped(s string) string { return special.ReplaceAllString(s, `\$0`) }
