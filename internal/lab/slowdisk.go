package lab

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// slowHeads is how many requests a disk of SlowDisk works on at a time.
const slowHeads = 8

// slowDisk is the process that serves a disk. It is not this one: a thread that
// waits for such a disk cannot be killed, and would wait for ever for servers
// that are killed with it. It ends when it is told nothing more.
type slowDisk struct {
	cmd     *exec.Cmd
	delays  io.WriteCloser
	answers *bufio.Reader
}

// SlowDisk makes a loop device over a file that another process serves: a disk on
// which every request takes so long, whose speed no other disk has a part in. It has
// no file system. binary is iocause, which serves it.
func (e *Env) SlowDisk(binary, name string, file *ServedFile, delay time.Duration) (*LoopDisk, error) {
	image, err := e.ServeFile(binary, name, file, delay)
	if err != nil {
		return nil, err
	}
	device, err := e.attach(image, true)
	if err != nil {
		return nil, err
	}
	// With the last who has it open, all of it that is cached would go.
	open, err := unix.Open(device, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("keep a slow disk open: %w", err)
	}
	e.stop = append(e.stop, func() { _ = unix.Close(open) })
	return &LoopDisk{Device: filepath.Base(device), Dir: device}, nil
}

// ServeFile mounts a file that a process of its own serves through FUSE: every
// read and write takes so long. It returns its path.
func (e *Env) ServeFile(binary, name string, file *ServedFile, delay time.Duration) (string, error) {
	image := filepath.Join(e.scratch, name+".img")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		return "", fmt.Errorf("make a place for a slow disk: %w", err)
	}
	// Not os.File's way to open it, which would poll it.
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("open /dev/fuse: %w", err)
	}
	connection := os.NewFile(uintptr(fd), "/dev/fuse")
	defer connection.Close() // the server has its own
	if err := e.journal.add(record{Kind: "mount", Path: image}); err != nil {
		return "", err
	}
	if err := unix.Mount("iocause-lab", image, "fuse", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("fd=%d,rootmode=100600,user_id=0,group_id=0", fd)); err != nil {
		return "", fmt.Errorf("mount a slow disk: %w", err)
	}
	d, err := e.startServer(binary, "disk", name, connection, file)
	if err != nil {
		return "", err
	}
	_, err = d.set(delay)
	return image, err
}

// ServeNFS is ServeFile through an NFS server of its own and the kernel's client.
func (e *Env) ServeNFS(binary, name string, file *ServedFile, delay time.Duration) (string, error) {
	dir := filepath.Join(e.scratch, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a place for a served file: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for NFS clients: %w", err)
	}
	defer listener.Close() // the server has its own
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		return "", fmt.Errorf("hand the socket of an NFS server over: %w", err)
	}
	defer socket.Close()
	d, err := e.startServer(binary, "nfs", name, socket, file)
	if err != nil {
		return "", err
	}
	if err := e.journal.add(record{Kind: "mount", Path: dir}); err != nil {
		return "", err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	options := fmt.Sprintf("vers=3,proto=tcp,port=%d,mountvers=3,mountproto=tcp,mountport=%d,nolock,hard,addr=127.0.0.1,mountaddr=127.0.0.1", port, port)
	if err := unix.Mount("127.0.0.1:/", dir, "nfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return "", fmt.Errorf("mount a served file: %w", err)
	}
	_, err = d.set(delay)
	return filepath.Join(dir, nfsFile), err
}

// startServer starts a server ("disk" or "nfs"), in a process group of its own: it
// has to answer until all who wait for it have ended, also after Ctrl-C.
func (e *Env) startServer(binary, kind, name string, connection *os.File, f *ServedFile) (*slowDisk, error) {
	cmd := exec.Command(binary, "lab", kind, "--size", strconv.FormatInt(f.Size, 10), "--heads", strconv.Itoa(f.Heads),
		"--keep="+strconv.FormatBool(f.Keep), "--backing="+f.Backing, "--discard="+f.Discard.String())
	cmd.ExtraFiles = []*os.File{connection} // file descriptor 3
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	delays, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start a slow disk: %w", err)
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a slow disk: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a slow disk: %w", err)
	}
	d := &slowDisk{cmd: cmd, delays: delays, answers: bufio.NewReader(answers)}
	if e.slow == nil {
		e.slow = map[string]*slowDisk{}
	}
	e.slow[name] = d
	return d, nil
}

// set says how long requests take, and waits until that is so. It returns what
// the server did until then, by its own account.
func (d *slowDisk) set(delay time.Duration) (Served, error) {
	var a Served
	if _, err := fmt.Fprintln(d.delays, delay.Nanoseconds()); err != nil {
		return a, fmt.Errorf("set the delay of a slow disk: %w", err)
	}
	line, err := d.answers.ReadString('\n')
	if err != nil {
		return a, fmt.Errorf("read the answer of a slow disk: %w", err)
	}
	if _, err := fmt.Sscan(line, &a.Requests, &a.Took); err != nil {
		return a, fmt.Errorf("parse the answer of a slow disk, %q: %w", line, err)
	}
	return a, nil
}

// Served is what a server of a slow disk or file did, by its own clock.
type Served struct {
	Requests int64         // reads and writes
	Took     time.Duration // from when each was taken to its answer, summed
}

// close ends the server. Nobody may use the disk any more.
func (d *slowDisk) close() error {
	if err := errors.Join(d.delays.Close(), d.cmd.Wait()); err != nil {
		return fmt.Errorf("end a slow disk: %w", err)
	}
	return nil
}

// Slow sets how long each request of a slow disk or served file takes from now on.
func (e *Env) Slow(name string, delay time.Duration) error {
	_, err := e.SlowFrom(name, delay)
	return err
}

// SlowFrom is Slow, and returns what the server did until then.
func (e *Env) SlowFrom(name string, delay time.Duration) (Served, error) {
	d := e.slow[name]
	if d == nil {
		return Served{}, fmt.Errorf("there is no slow disk %q", name)
	}
	return d.set(delay)
}
