package fiojson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
)

// Run is jobs of fio that are about to be run.
type Run struct {
	Command []string // to start

	dir string // fio's output is below it
}

// Prepare finds fio and the file of its jobs. flags are more of fio's.
func Prepare(jobs string, flags []string) (*Run, error) {
	program, err := exec.LookPath("fio")
	if err != nil {
		return nil, fmt.Errorf("finding fio: %w; install the package fio (apt install fio, dnf install fio)", err)
	}
	if _, err := os.Stat(jobs); err != nil {
		return nil, fmt.Errorf("finding the jobs: %w", err)
	}
	dir, err := os.MkdirTemp("", "iocause-lab-fio-")
	if err != nil {
		return nil, fmt.Errorf("making a place for fio's output: %w", err)
	}
	r := &Run{dir: dir}
	r.Command = slices.Concat([]string{program, "--output-format=json", "--output=" + r.output()}, flags, []string{jobs})
	return r, nil
}

func (r *Run) output() string { return filepath.Join(r.dir, "output.json") }

// Close removes fio's output.
func (r *Run) Close() error { return os.RemoveAll(r.dir) }

// Ended reads what fio did when it has ended with a code. failed is why that is
// not all; err, that there is nothing.
func (r *Run) Ended(code int, notes *Notes) (out *Output, failed, err error) {
	b, err := os.ReadFile(r.output())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, fmt.Errorf("reading what fio wrote: %w", err)
	}
	if out, err = Parse(bytes.NewReader(b)); err != nil {
		out = &Output{}
	}
	switch made := slices.ContainsFunc(out.Jobs, func(j Job) bool { return len(j.Sides) > 0 }); {
	case made && code == 0:
		return out, nil, nil
	case made:
		return out, fmt.Errorf("running fio: it ended with exit code %d: %s", code, out.Says(notes.kept, b)), nil
	}
	// What was watched is a machine on which nothing was done: that it is
	// healthy would be no answer.
	return nil, nil, fmt.Errorf("running fio: it ended with exit code %d and made no requests, so there is nothing to diagnose: %s", code, out.Says(notes.kept, b))
}

// Notes passes on what is written, by fio and beside it, and keeps the start of it
// but for iocause's own lines.
type Notes struct {
	To   io.Writer
	lock sync.Mutex
	kept []byte // read when fio has ended
}

// Write implements io.Writer.
func (n *Notes) Write(b []byte) (int, error) {
	const most = 4096
	n.lock.Lock()
	defer n.lock.Unlock()
	if !bytes.HasPrefix(b, []byte("iocause: ")) {
		n.kept = append(n.kept, b[:min(len(b), most-len(n.kept))]...)
	}
	return n.To.Write(b)
}
