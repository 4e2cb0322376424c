package cli

import (
	"context"
	"fmt"
	"os"

	"iocause/internal/lab"
	"iocause/internal/lab/space"
	"iocause/internal/present/text"
	"iocause/internal/session"
	"iocause/internal/table"
)

// newLabRunner is what runs situations with this very binary, until Ctrl-C. stop
// gives the signals back; the runner is closed by the caller.
func (a *app) newLabRunner(parent context.Context, dir string) (ctx context.Context, runner *lab.Runner, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("finding iocause itself: %w", err)
	}
	ctx, stop = session.UntilInterrupt(parent, nil)
	runner, err = lab.NewRunner(a.host, self, dir)
	if err != nil {
		stop()
		return nil, nil, nil, err
	}
	return ctx, runner, stop, nil
}

// spaceOptions are those of drawn situations, with this very binary, until Ctrl-C.
// What runs that have died left behind goes first.
func (a *app) spaceOptions(parent context.Context, dir string) (ctx context.Context, o space.Options, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, o, nil, fmt.Errorf("finding iocause itself: %w", err)
	}
	if _, err := lab.Sweep(a.host); err != nil {
		return nil, o, nil, err
	}
	ctx, stop = session.UntilInterrupt(parent, func(os.Signal) {})
	return ctx, space.Usual(self, dir), stop, nil
}

// titled is a thing of the lab that has a name and a line that says what it is.
type titled struct{ name, title string }

// listTitled writes them as a table.
func (a *app) listTitled(key string, all []titled) error {
	t := &table.Table{Key: key, Whole: true, Columns: []table.Column{{Key: "name", Head: "NAME"}, {Key: "title", Head: "TITLE", Flex: true}}}
	for _, x := range all {
		t.Rows = append(t.Rows, []table.Cell{table.Str(x.name), table.Str(x.title)})
	}
	return text.WriteTable(a.stdout, t, styleOf(a.stdout, os.Getenv, widestTable))
}
