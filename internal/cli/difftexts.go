package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/parse"
	"iocause/internal/session"
	"iocause/internal/show"
	"iocause/internal/tool/read"
)

// diffTexts judges two texts, each as one case, and says what differs.
func diffTexts(e *env, c *cobra.Command, o *diffOptions, files [2]string) error {
	if o.output != "" {
		return &ask.Error{Err: errors.New("reading --output: a page is made of two recordings"), Next: "leave it out; '> FILE' keeps what is printed"}
	}
	if o.from != [2]string{} || o.to != [2]string{} || o.filter.Comm != "" || o.filter.Cgroup != "" || o.all {
		return &ask.Error{Err: errors.New("reading the flags: a text has no times to choose from, and what is in it is compared as a whole"), Next: "leave --from, --to, --comm, --cgroup and --all out"}
	}
	ctx, stop := session.UntilInterrupt(c.Context(), nil)
	defer stop()
	var texts []*parse.Text
	var cases []*parse.Case
	for _, name := range files {
		t, err := readOne(ctx, e.streams, []string{name}, &parse.Reader{Tools: parse.List()})
		if err != nil {
			return err
		}
		found, _ := parse.Cases([]*parse.Text{t}, true)
		if len(found) == 0 {
			return read.Nothing([]*parse.Text{t})
		}
		texts, cases = append(texts, t), append(cases, found...)
	}
	show.Faults(e.stderr, texts)
	return printCases(e.stdout, texts, read.Judge(e.host, cases), &readOptions{format: o.format})
}
