package output

import (
	"fmt"
	"io"
	"os"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/store/whole"
)

// Kept opens what a recording or a trace, its kind, is written to: standard output for
// "-", unless that is a terminal; else a file that nobody else may read, which is new or
// replaces one that ours finds to be of the kind.
func Kept(stdout io.Writer, name, kind string, ours func(*os.File) error) (*os.File, error) {
	if name != "-" {
		return whole.Kept(name, kind, ours)
	}
	out, ok := stdout.(*os.File)
	if _, isTerminal := console.Width(stdout); !ok || isTerminal {
		return nil, &ask.Error{Err: fmt.Errorf("writing the %s: standard output is a terminal", kind), Next: "give a file, or pipe it into another program"}
	}
	return out, nil
}
