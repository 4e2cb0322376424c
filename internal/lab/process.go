package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
)

// Process is a child that runs in chosen cgroups, with a process group of its own.
// What it starts ends with it.
type Process struct {
	PID    int
	Stdout bytes.Buffer // to be read after Stop
	Stderr bytes.Buffer
	host   *host.Host
	cmd    *exec.Cmd
	leader leader
	ready  *os.File
	ended  chan struct{} // closed when neither it nor what it has started lives
	err    error         // of Wait; to be read after ended
	rest   error         // why what it has started could not be ended; to be read after ended
}

// join puts the shell into cgroups and becomes the command: the process is
// where it belongs before its first instruction.
const join = `n=$1; shift
while [ "$n" -gt 0 ]; do echo $$ > "$1" || exit 126; shift; n=$((n-1)); done
exec "$@"`

// marked is an environment for a process and all that it starts: in the journal
// stands by what they are known, before there is any.
func (e *Env) marked() (value string, environment []string, err error) {
	e.marks++
	value = fmt.Sprintf("%s/%d", e.name, e.marks)
	if err := e.journal.add(record{Kind: "process", Value: value}); err != nil {
		return "", nil, err
	}
	return value, append(os.Environ(), mark+"="+value), nil
}

// Start starts a command. With ready, WaitReady waits for a line that it writes
// to its file descriptor 3.
func (e *Env) Start(argv []string, in *Cgroup, ready bool) (*Process, error) {
	return e.StartTo(nil, argv, in, ready)
}

// StartTo is Start with a place for what the command writes to its standard
// output; nil is Stdout.
func (e *Env) StartTo(stdout io.Writer, argv []string, in *Cgroup, ready bool) (*Process, error) {
	p := &Process{host: e.host, ended: make(chan struct{})}
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
	if stdout != nil {
		p.cmd.Stdout = stdout
	}
	p.cmd.WaitDelay = 2 * time.Second
	// Not a session: where the kernel shares the processors among sessions
	// (sched_autogroup_enabled), a load's niceness would count for nothing.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if joined != nil {
		p.cmd.SysProcAttr.UseCgroupFD, p.cmd.SysProcAttr.CgroupFD = true, int(joined.Fd())
	}
	var err error
	if p.leader.mark, p.cmd.Env, err = e.marked(); err != nil {
		return nil, err
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
	p.leader.pid = p.PID
	p.leader.start, err = startTime(e.host, p.PID) // nobody has waited for it yet, so it can be seen
	go p.wait()
	if err == nil {
		err = e.journal.add(record{Kind: "process", PID: p.PID, Start: p.leader.start, Value: p.leader.mark})
	}
	if err != nil {
		return nil, errors.Join(err, p.Stop(0))
	}
	return p, nil
}

// wait waits for the end of the process and ends what it has left behind, while
// the process is still there for its group to be known by.
func (p *Process) wait() {
	for {
		err := unix.Waitid(unix.P_PID, p.PID, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break // what else may be wrong, Wait says
		}
	}
	p.rest = p.leader.endFamily(p.host, grace)
	p.err = p.cmd.Wait()
	close(p.ended)
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

// Pause stops the process and all that it has started where they are.
func (p *Process) Pause() error { return p.signalAll(unix.SIGSTOP) }

// Resume lets them go on.
func (p *Process) Resume() error { return p.signalAll(unix.SIGCONT) }

// signalAll sends a signal to the process and all that it has started; one that
// has ended needs none.
func (p *Process) signalAll(s unix.Signal) error {
	if p.Ended() {
		return nil
	}
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %d to process %d: %w", s, p.PID, err)
	}
	_, err := p.leader.signal(p.host, s)
	return err
}

// Family are the process and all that it has started.
func (p *Process) Family() ([]int, error) {
	family, err := p.leader.family(p.host)
	return append(family, p.PID), err
}

// Stop asks the process and all that it has started to end, and after patience
// makes them.
func (p *Process) Stop(patience time.Duration) error {
	if err := p.cmd.Process.Signal(unix.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("ask process %d to end: %w", p.PID, err)
	}
	if !p.Ended() {
		if _, err := p.leader.signal(p.host, unix.SIGTERM); err != nil {
			return fmt.Errorf("ask what process %d has started to end: %w", p.PID, err)
		}
	}
	select {
	case <-p.ended:
	case <-time.After(patience):
		if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("kill process %d: %w", p.PID, err)
		}
		<-p.ended
	}
	return p.rest
}
