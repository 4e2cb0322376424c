package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"iocause/internal/lab"
)

// process is a program that runs beside this one.
type process struct {
	name  string
	cmd   *exec.Cmd
	notes *bytes.Buffer
	ended chan struct{}
	err   error
}

// start runs a program; it is in the cgroup from its first instruction on where
// one is given.
func start(name string, g *group, as *syscall.Credential, args ...string) (*process, error) {
	if g != nil {
		args = append([]string{"/bin/sh", "-c", `for f in ` + g.procs() + `; do echo $$ > "$f" || exit 1; done; exec "$@"`, "sh"}, asUser(as, args)...)
		as = nil
	}
	p := &process{name: name, cmd: exec.Command(args[0], args[1:]...), notes: &bytes.Buffer{}, ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.notes, p.notes
	p.cmd.Dir = "/"
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as, Pdeathsig: syscall.SIGTERM}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// asUser runs a program as another user, from a shell that is root.
func asUser(as *syscall.Credential, args []string) []string {
	if as == nil {
		return args
	}
	id := strconv.Itoa(int(as.Uid))
	return append([]string{"setpriv", "--reuid", id, "--regid", strconv.Itoa(int(as.Gid)), "--clear-groups"}, args...)
}

func (p *process) alive() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s has ended: %w: %s", p.name, errors.Join(p.err, errors.New("too early")), tail(p.notes.String()))
	default:
		return nil
	}
}

// stop ends the program in order, or after a while in any way.
func (p *process) stop() error { return p.stopWith(syscall.SIGINT) }

func (p *process) stopWith(sig syscall.Signal) error {
	_ = p.cmd.Process.Signal(sig) // it may have ended
	select {
	case <-p.ended:
		return nil
	case <-time.After(2 * time.Minute):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("ending %s: it did not end in two minutes", p.name)
	}
}

func tail(s string) string {
	const most = 600
	return strings.TrimSpace(s[max(len(s)-most, 0):])
}

// run runs a program to its end.
func run(ctx context.Context, as *syscall.Credential, args ...string) error {
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(args[0]), err, tail(string(out)))
	}
	return nil
}

// wait waits, or until the context ends.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// group is a cgroup of the controllers of memory and I/O, of version 1 or 2.
type group struct {
	v2         bool
	memory, io string // folders
}

func newGroup(scratch string) (*group, error) {
	const root = "/sys/fs/cgroup"
	name := filepath.Base(scratch)
	g := &group{memory: filepath.Join(root, "memory", name), io: filepath.Join(root, "blkio", name)}
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		g = &group{v2: true, memory: filepath.Join(root, name), io: filepath.Join(root, name)}
		if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+memory +io"), 0o644); err != nil {
			return nil, fmt.Errorf("making a cgroup: %w", err)
		}
	}
	for _, dir := range []string{g.memory, g.io} {
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("making a cgroup: %w", err)
		}
	}
	return g, nil
}

func (g *group) procs() string {
	if g.v2 {
		return g.memory + "/cgroup.procs"
	}
	return g.memory + "/cgroup.procs " + g.io + "/cgroup.procs"
}

func (g *group) set(file, value string) error {
	dir := g.io
	if strings.HasPrefix(file, "memory.") {
		dir = g.memory
	}
	return lab.WriteLimit(dir, file, value)
}

// limitMemory sets how many bytes the group may have.
func (g *group) limitMemory(bytes int) error {
	if g.v2 {
		return g.set("memory.max", strconv.Itoa(bytes))
	}
	return g.set("memory.limit_in_bytes", strconv.Itoa(bytes))
}

// limitIO sets how many operations a second the group may have on a disk, 0
// for no limit.
func (g *group) limitIO(disk string, ops int) error {
	if g.v2 {
		value := strconv.Itoa(ops)
		if ops == 0 {
			value = "max"
		}
		return g.set("io.max", fmt.Sprintf("%s riops=%s wiops=%s", disk, value, value))
	}
	return errors.Join(g.set("blkio.throttle.read_iops_device", fmt.Sprintf("%s %d", disk, ops)),
		g.set("blkio.throttle.write_iops_device", fmt.Sprintf("%s %d", disk, ops)))
}

func (g *group) remove() error {
	var err error
	for range 100 { // the last process may be on its way out
		if err = errors.Join(rmdir(g.memory), rmdir(g.io)); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("removing the cgroup: %w", err)
}

func rmdir(dir string) error {
	if err := syscall.Rmdir(dir); err != nil && !errors.Is(err, syscall.ENOENT) {
		return err
	}
	return nil
}

// diskOf is the number of the whole disk that a folder lies on, "254:0".
func diskOf(dir string) (string, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		return "", err
	}
	number := fmt.Sprintf("%d:%d", st.Dev>>8&0xfff, st.Dev&0xff|st.Dev>>12&0xfff00)
	path, err := filepath.EvalSymlinks("/sys/dev/block/" + number)
	if err != nil {
		return "", fmt.Errorf("looking for the disk below %s: %w", dir, err)
	}
	if _, err := os.Stat(filepath.Join(path, "partition")); err == nil {
		path = filepath.Dir(path)
	}
	b, err := os.ReadFile(filepath.Join(path, "dev"))
	return strings.TrimSpace(string(b)), err
}
