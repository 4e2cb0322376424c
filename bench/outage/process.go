package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"syscall"
	"time"
)

// engine is a program that takes remote writes and answers PromQL.
type engine struct {
	name, path string
	args       func(dir, at string) []string
}

func engines() []engine {
	return []engine{
		{name: "prometheus", args: func(dir, at string) []string {
			return []string{"--config.file=" + dir + "/config.yaml", "--storage.tsdb.path=" + dir + "/data",
				"--web.enable-remote-write-receiver", "--web.listen-address=" + at}
		}},
		{name: "victoria-metrics", args: func(dir, at string) []string {
			return []string{"-storageDataPath=" + dir + "/data", "-httpListenAddr=" + at, "-search.latencyOffset=0s", "-memory.allowedBytes=64MiB"}
		}},
	}
}

// find looks for the program.
func (e *engine) find() (err error) {
	if e.path, err = exec.LookPath(e.name); err != nil {
		return fmt.Errorf("looking for the engine: %w", err)
	}
	return nil
}

// process is a program that runs beside this one.
type process struct {
	cmd   *exec.Cmd
	notes *bytes.Buffer
	ended chan struct{}
}

func start(path string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(path, args...), notes: &bytes.Buffer{}, ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.notes, p.notes
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us, who end it
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	go func() {
		_ = p.cmd.Wait() // ended by us, or seen as gone
		close(p.ended)
	}()
	return p, nil
}

// end sends a signal and waits; what does not go within a while is killed. A
// program that had ended before has failed.
func (p *process) end(sig syscall.Signal) error {
	if p == nil {
		return nil
	}
	select {
	case <-p.ended:
		return fmt.Errorf("%s has ended too early: %s", p.cmd.Path, p.notes)
	default:
	}
	_ = p.cmd.Process.Signal(sig) // it may end just now
	select {
	case <-p.ended:
		return nil
	case <-time.After(time.Minute):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return errors.New(p.cmd.Path + " did not end within a minute")
	}
}

// free is a loopback address that nobody listens on.
func free() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("looking for a free address: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}
