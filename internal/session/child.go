package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"iocause/internal/host"
)

// Child is the command that is watched, in a process group of its own. A nil
// Child takes signals and does nothing.
type Child struct {
	cmd   *exec.Cmd
	pid   atomic.Int64 // 0 before it is started; a signal may come at any time
	began time.Time
	ended time.Time     // set before done is closed
	done  chan struct{} // closed when it has ended
	state *os.ProcessState
	tree  *tree
	procs map[int]string // pid and name of all it started, when tracking has stopped
}

// NewChild finds the command, without starting it. in must not be a terminal:
// in a group of its own it would be stopped when it reads from that.
func NewChild(args []string, in io.Reader, out, err io.Writer) (*Child, error) {
	c := exec.Command(args[0], args[1:]...)
	if c.Err != nil {
		return nil, fmt.Errorf("starting %q: %w; give its path, or add it to PATH", args[0], c.Err)
	}
	// In a group of its own Ctrl-C reaches it through us, after the window is
	// closed.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Stdin, c.Stdout, c.Stderr = in, out, err
	// Only matters where our streams are no files: what it leaves behind in
	// the background may hold the pipes open for ever.
	c.WaitDelay = time.Second
	return &Child{cmd: c, done: make(chan struct{})}, nil
}

// Start starts the command and follows what it starts.
func (c *Child) Start(h *host.Host) error {
	c.began = time.Now()
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("starting %q: %w; check that the file exists and is executable", c.cmd.Path, plainly(err))
	}
	c.pid.Store(int64(c.cmd.Process.Pid))
	c.tree = follow(h, c.cmd.Process.Pid)
	go func() {
		// Its error says how the command ended, which ProcessState says too.
		_ = c.cmd.Wait()
		c.state, c.ended = c.cmd.ProcessState, time.Now()
		close(c.done)
	}()
	return nil
}

// plainly takes off what os/exec says about its own call.
func plainly(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Name is the command as it was given.
func (c *Child) Name() string { return c.cmd.Args[0] }

// PID is the process that it started as, 0 before that.
func (c *Child) PID() int {
	if c == nil {
		return 0
	}
	return int(c.pid.Load())
}

// Done is closed when the command has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Signal passes a signal on to the command and all in its group.
func (c *Child) Signal(s os.Signal) {
	if c.PID() == 0 {
		return
	}
	select {
	case <-c.done:
	default:
		if n, ok := s.(syscall.Signal); ok {
			_ = syscall.Kill(-c.PID(), n) // fails when it has just ended
		}
	}
}

// StopTracking ends the following and returns every process that was seen,
// those that have ended included.
func (c *Child) StopTracking() map[int]string {
	if c.tree != nil {
		c.procs = c.tree.stop()
		c.tree = nil
	}
	return c.procs
}

// Ended is how long the command ran and how it ended; ok is false while it runs.
func (c *Child) Ended() (ran time.Duration, state *os.ProcessState, ok bool) {
	select {
	case <-c.done:
		return c.ended.Sub(c.began), c.state, true
	default:
		return 0, nil, false
	}
}

// mentionAfter is how long a command may run on before that is mentioned.
const mentionAfter = 2 * time.Second

// Wait waits for the command's end and returns its exit code. An interrupt that
// comes only now is passed on. A command that runs on is mentioned, with what
// ends it.
func (c *Child) Wait(watch context.Context, mention func(advice string)) int {
	interrupt, advice := watch.Done(), "Ctrl-C ends it"
	if watch.Err() != nil { // it has been passed on
		interrupt, advice = nil, "Ctrl-C again leaves it running"
	}
	late := time.NewTimer(mentionAfter)
	defer late.Stop()
	for {
		select {
		case <-c.done:
			return c.Code()
		case <-interrupt:
			c.Signal(SignalOf(watch))
			interrupt, advice = nil, "Ctrl-C again leaves it running"
			late.Reset(mentionAfter)
		case <-late.C:
			mention(advice)
		}
	}
}

// Code is the exit code of a command that has ended as a shell gives it: 128
// and the signal's number when a signal ended it, 1 where it is not known.
func (c *Child) Code() int {
	if c.state == nil {
		return 1
	}
	if ws, ok := c.state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return c.state.ExitCode()
}
