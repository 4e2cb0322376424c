package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a child that runs in chosen cgroups.
type Process struct {
	PID    int
	Stdout bytes.Buffer // to be read after Stop
	Stderr bytes.Buffer
	cmd    *exec.Cmd
	ready  *os.File
	ended  chan struct{}
	err    error // of Wait; to be read after ended
}

// join puts the shell into cgroups and becomes the command: the process is
// where it belongs before its first instruction.
const join = `n=$1; shift
while [ "$n" -gt 0 ]; do echo $$ > "$1" || exit 126; shift; n=$((n-1)); done
exec "$@"`

// Start starts a command. With ready, its arguments get --ready-fd=3 and
// WaitReady waits for the line that it writes there.
func (e *Env) Start(argv []string, in *Cgroup, ready bool) (*Process, error) {
	p := &Process{ended: make(chan struct{})}
	if ready {
		argv = append(argv, "--ready-fd=3")
	}
	var joined *os.File
	if folders := in.all(); len(folders) == 1 && in.v2 {
		var err error
		if joined, err = os.Open(folders[0]); err != nil {
			return nil, fmt.Errorf("open the cgroup to start in: %w", err)
		}
		defer joined.Close()
	} else if len(folders) > 0 {
		wrapped := []string{"/bin/sh", "-c", join, "sh", strconv.Itoa(len(folders))}
		for _, f := range folders {
			wrapped = append(wrapped, f+"/cgroup.procs")
		}
		argv = append(wrapped, argv...)
	}
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = &p.Stdout, &p.Stderr
	p.cmd.WaitDelay = 2 * time.Second
	if joined != nil {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(joined.Fd())}
	}
	if ready {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("make a pipe: %w", err)
		}
		defer w.Close()
		p.ready = r
		p.cmd.ExtraFiles = []*os.File{w}
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	p.PID = p.cmd.Process.Pid
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	if start, err := startTime(e.host, p.PID); err == nil {
		if err := e.journal.add(record{Kind: "process", PID: p.PID, Start: start}); err != nil {
			return nil, errors.Join(err, p.Stop(0))
		}
	}
	return p, nil
}

// all is folders for a cgroup that may be nil.
func (c *Cgroup) all() []string {
	if c == nil {
		return nil
	}
	return c.folders()
}

// WaitReady waits until the command has said that it runs, or has ended.
func (p *Process) WaitReady(ctx context.Context) error {
	if p.ready == nil {
		return nil
	}
	said := make(chan int, 1)
	go func() {
		n, _ := p.ready.Read(make([]byte, 16)) // 0 when it closed without a word
		said <- n
	}()
	defer p.ready.Close()
	select {
	case <-ctx.Done():
		return fmt.Errorf("wait for a load to begin: %w", ctx.Err())
	case n := <-said:
		if n > 0 {
			return nil
		}
	}
	<-p.ended
	return fmt.Errorf("the load ended before it began: %w: %s", p.outcome(), p.Stderr.Bytes())
}

// Ended tells whether the process is no more.
func (p *Process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func (p *Process) outcome() error {
	if p.err == nil {
		return errors.New("exit status 0")
	}
	return p.err
}

// Stop asks the process to end, and after patience makes it.
func (p *Process) Stop(patience time.Duration) error {
	if err := p.cmd.Process.Signal(unix.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("ask process %d to end: %w", p.PID, err)
	}
	select {
	case <-p.ended:
	case <-time.After(patience):
		if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("kill process %d: %w", p.PID, err)
		}
		<-p.ended
	}
	return nil
}
