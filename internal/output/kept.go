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
// replaces one that ours finds to be of the kind, once something is written.
func Kept(stdout io.Writer, name, kind string, ours func(*os.File) error) (KeptFile, error) {
	if name != "-" {
		f, err := whole.Kept(name, kind, ours)
		if err != nil {
			return nil, err
		}
		return f, nil
	}
	out, ok := stdout.(*os.File)
	if _, isTerminal := console.Width(stdout); !ok || isTerminal {
		return nil, &ask.Error{Err: fmt.Errorf("writing the %s: standard output is a terminal", kind), Next: "give a file, or pipe it into another program"}
	}
	return standard{out}, nil
}

// A KeptFile is what a recording or a trace is written to.
type KeptFile interface {
	io.WriteCloser
	File() *os.File
}

// standard is standard output, which stays open.
type standard struct{ to *os.File }

func (s standard) File() *os.File              { return s.to }
func (s standard) Write(b []byte) (int, error) { return s.to.Write(b) }
func (standard) Close() error                  { return nil }
