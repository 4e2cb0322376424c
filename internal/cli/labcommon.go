package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"iocause/internal/console"
	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/lab/space"
	"iocause/internal/present/text"
	"iocause/internal/session"
	"iocause/internal/table"
)

// newLabRunner is what runs situations with this very binary, until Ctrl-C. stop
// gives the signals back; the runner is closed by the caller.
func newLabRunner(parent context.Context, h *host.Host, dir string) (ctx context.Context, runner *lab.Runner, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("finding iocause itself: %w", err)
	}
	ctx, stop = session.UntilInterrupt(parent, nil)
	runner, err = lab.NewRunner(h, self, dir)
	if err != nil {
		stop()
		return nil, nil, nil, err
	}
	return ctx, runner, stop, nil
}

// spaceOptions are those of drawn situations, with this very binary, until Ctrl-C.
// What runs that have died left behind goes first.
func spaceOptions(parent context.Context, h *host.Host, dir string) (ctx context.Context, o space.Options, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, o, nil, fmt.Errorf("finding iocause itself: %w", err)
	}
	if _, err := lab.Sweep(h); err != nil {
		return nil, o, nil, err
	}
	ctx, stop = session.UntilInterrupt(parent, func(os.Signal) {})
	return ctx, space.Usual(self, dir), stop, nil
}

// titled is a thing of the lab that has a name and a line that says what it is.
type titled struct{ name, title string }

// listTitled writes them as a table.
func listTitled(out io.Writer, key string, all []titled) error {
	t := &table.Table{Key: key, Whole: true, Columns: []table.Column{{Key: "name", Head: "NAME"}, {Key: "title", Head: "TITLE", Flex: true}}}
	for _, x := range all {
		t.Rows = append(t.Rows, []table.Cell{table.Str(x.name), table.Str(x.title)})
	}
	return text.WriteTable(out, t, console.Style(out, os.Getenv, console.WidestTable))
}
