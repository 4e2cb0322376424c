package filters

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/table"
	"iocause/internal/view"
)

// Absent is what was asked for and is not there when the watch begins. It may come, and
// a file may be another container's: only the end tells that nothing was seen of it.
type Absent struct {
	what string // "" where it is there, or where it was seen
	next string
	seen func(*sample.Window) bool
}

// NotThere looks for processes and a file (as File has it, "" for any) on this machine.
func NotThere(h *host.Host, t diagnose.Target, file string) *Absent {
	if what := Nobody(h, t); what != "" {
		return &Absent{what: what, next: "see 'ps -e -o pid,comm,cgroup'", seen: t.In}
	}
	if strings.HasPrefix(file, "/") && !strings.ContainsAny(file, "*?[") {
		if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
			return &Absent{what: fmt.Sprintf("there is no file or directory %q", file), next: "give a path, or a pattern such as '*.ibd'", seen: func(w *sample.Window) bool {
				for _, f := range w.Files {
					if view.Named(f.Path, file) {
						return true
					}
				}
				return false
			}}
		}
	}
	return &Absent{}
}

// Warn says at the beginning what is not there.
func (a *Absent) Warn(to io.Writer) {
	if a.what != "" {
		fmt.Fprintf(to, "iocause: %s now; watching in case that changes\n", a.what)
	}
}

// See takes in what was observed.
func (a *Absent) See(w *sample.Window) { a.Found(a.what != "" && a.seen(w)) }

// Found tells that it was seen.
func (a *Absent) Found(yes bool) {
	if yes {
		a.what = ""
	}
}

// Err is the end of a watch of so many seconds (0: not known) in which nothing was seen
// of it.
func (a *Absent) Err(seconds float64) error {
	if a.what == "" {
		return nil
	}
	said := a.what
	if seconds > 0 {
		said += ", nor did one appear in the " + table.Duration(seconds) + " watched"
	}
	return fmt.Errorf("nothing to show: %s; %s", said, a.next)
}
