package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"iocause/internal/host"
	"iocause/internal/present/text"
	"iocause/internal/sample"
)

// child is the command that is watched, in a process group of its own. A nil
// child takes signals and does nothing.
type child struct {
	cmd   *exec.Cmd
	began time.Time
	ended time.Time     // set before done is closed
	done  chan struct{} // closed when it has ended
	state *os.ProcessState
	tree  *tree
	procs map[int]string // pid and name of all it started, when tracking has stopped
}

// newChild finds the command, without starting it.
func (a *app) newChild(args []string) (*child, error) {
	c := exec.Command(args[0], args[1:]...)
	if c.Err != nil {
		return nil, fmt.Errorf("starting %q: %w; give its path, or see that it is in PATH", args[0], c.Err)
	}
	// In a group of its own Ctrl-C reaches it through us, after the window is
	// closed. Such a group would be stopped when it reads from the terminal.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if _, isTerminal := terminalWidth(a.stdin); !isTerminal {
		c.Stdin = a.stdin
	}
	c.Stdout = a.stderr
	c.Stderr = a.stderr
	// Only matters where our streams are no files: what it leaves behind in
	// the background may hold the pipes open for ever.
	c.WaitDelay = time.Second
	return &child{cmd: c, done: make(chan struct{})}, nil
}

// start starts the command and follows what it starts.
func (c *child) start(h *host.Host) error {
	c.began = time.Now()
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("starting %q: %w; see that the file exists and may be executed", c.cmd.Path, plainly(err))
	}
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

// signal passes a signal on to the command and all in its group.
func (c *child) signal(s os.Signal) {
	if c == nil || c.cmd.Process == nil {
		return
	}
	select {
	case <-c.done:
	default:
		if n, ok := s.(syscall.Signal); ok {
			_ = syscall.Kill(-c.cmd.Process.Pid, n) // fails when it has just ended
		}
	}
}

// stopTracking ends the following and returns every process that was seen,
// those that have ended included.
func (c *child) stopTracking() map[int]string {
	if c.tree != nil {
		c.procs = c.tree.stop()
		c.tree = nil
	}
	return c.procs
}

// describe says in the window what is odd about how the command ran, if it has
// ended.
func (c *child) describe(w *sample.Window) {
	select {
	case <-c.done:
	default:
		return
	}
	describeRun(w, c.ended.Sub(c.began), c.code(), c.state.String())
}

// mentionAfter is how long a command may run on before that is mentioned.
const mentionAfter = 2 * time.Second

// wait waits for the command's end and returns its exit code. An interrupt that
// comes only now is passed on. A command that runs on is mentioned.
func (c *child) wait(watch context.Context, notes io.Writer) int {
	interrupt, advice := watch.Done(), "Ctrl-C ends it"
	if watch.Err() != nil { // it has been passed on
		interrupt, advice = nil, "Ctrl-C again leaves it to itself"
	}
	mention := time.NewTimer(mentionAfter)
	defer mention.Stop()
	for {
		select {
		case <-c.done:
			return c.code()
		case <-interrupt:
			c.signal(signalOf(watch))
			interrupt, advice = nil, "Ctrl-C again leaves it to itself"
			mention.Reset(mentionAfter)
		case <-mention.C:
			fmt.Fprintf(notes, "iocause: %s (process %d) runs on; %s\n", text.Escape(c.cmd.Args[0]), c.cmd.Process.Pid, advice)
		}
	}
}

// code is the exit code of a command that has ended as a shell gives it: 128
// and the signal's number when a signal ended it.
func (c *child) code() int {
	if c.state == nil {
		return exitFailed
	}
	if ws, ok := c.state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return c.state.ExitCode()
}

// terminalWidth is the width of a stream that is a terminal.
func terminalWidth(stream any) (columns int, isTerminal bool) {
	if h, ok := stream.(*held); ok {
		stream = h.of
	}
	f, ok := stream.(*os.File)
	if !ok || f == nil {
		return 0, false
	}
	return windowSize(f.Fd())
}
