package cli

import (
	"context"
	"io"
	"os"

	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/lab/space"
	"iocause/internal/session"
	"iocause/internal/table"
)

// spaceOptions are those of drawn situations, with this very binary, until Ctrl-C.
// What runs that have died left behind goes first.
func spaceOptions(parent context.Context, h *host.Host, dir string) (ctx context.Context, o space.Options, stop func(), err error) {
	self, err := lab.Self()
	if err != nil {
		return nil, o, nil, err
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
	return writeTable(out, t)
}
