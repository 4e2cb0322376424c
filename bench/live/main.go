// Live measures what 'iocause live' takes: it runs one binary after the other on
// a pseudo-terminal beside so many sleeping processes, and prints how soon
// something is to be seen, and processor time, memory and bytes written from
// then on.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

func main() {
	processes := flag.Int("processes", 500, "that sleep beside it")
	files := flag.Int("files", 0, "that one process has read: all once, then a hundredth of them every second")
	rounds := flag.Int("rounds", 1, "in which each binary is run once")
	length := flag.Duration("duration", 20*time.Second, "how long each run is measured, after ten seconds")
	columns := flag.Int("columns", 80, "of the terminal")
	lines := flag.Int("lines", 24, "of the terminal")
	flag.Parse()
	b := bench{length: *length, columns: uint16(*columns), lines: uint16(*lines), bins: flag.Args()}
	if len(b.bins) == 0 {
		b.bins = []string{"./iocause"}
	}
	if err := b.run(*processes, *files, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench/live:", err)
		os.Exit(1)
	}
}

// settle is how long a run goes on before it is measured: kernel programs are
// being loaded, and the first windows are not those that follow.
const settle = 10 * time.Second

// bench is what is run, and how.
type bench struct {
	bins           []string
	length         time.Duration
	columns, lines uint16
	paths          []string // files that are read meanwhile
}

func (b *bench) run(processes, files, rounds int) error {
	// One command that starts them all ends them all: its group.
	sleepers := exec.Command("sh", "-c", fmt.Sprintf("for i in $(seq %d); do sleep 600 & done; wait", processes))
	sleepers.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := sleepers.Start(); err != nil {
		return fmt.Errorf("starting processes: %w", err)
	}
	defer func() {
		_ = syscall.Kill(-sleepers.Process.Pid, syscall.SIGKILL)
		_ = sleepers.Wait()
	}()
	dir, err := os.MkdirTemp("/var/tmp", "iocause-bench-live-")
	if err != nil {
		return fmt.Errorf("making files: %w", err)
	}
	defer os.RemoveAll(dir)
	for i := range files {
		b.paths = append(b.paths, fmt.Sprintf("%s/%d", dir, i))
		if err := os.WriteFile(b.paths[i], make([]byte, 8192), 0o600); err != nil {
			return fmt.Errorf("making files: %w", err)
		}
	}
	time.Sleep(time.Second)
	fmt.Printf("%-30s %12s %14s %8s %9s %9s %10s\n", "", "FIRST PAINT", "FIRST FIGURES", "CPU", "MEMORY", "MOST", "WRITTEN")
	for range rounds {
		for _, args := range [][]string{{"live", "--light"}, {"live"}} {
			for _, bin := range b.bins {
				if err := b.measure(bin, args); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// read reads files every second until stop is closed: all of them half way to
// where the measurement begins, and then a hundredth each time.
func (b *bench) read(stop chan struct{}) {
	pause, next := settle/2, b.paths
	for at := 0; ; {
		select {
		case <-stop:
			return
		case <-time.After(pause):
		}
		for _, path := range next {
			_, _ = os.ReadFile(path) // it is there, or the next run says so
		}
		pause = time.Second
		part := (len(b.paths) + 99) / 100
		next = b.paths[min(at, len(b.paths)):min(at+part, len(b.paths))]
		if at += part; at >= len(b.paths) {
			at = 0
		}
	}
}

// measure runs it once and prints a line.
func (b *bench) measure(bin string, args []string) error {
	master, slave, err := terminal(b.columns, b.lines)
	if err != nil {
		return err
	}
	defer master.Close()
	stop := make(chan struct{})
	defer close(stop)
	go b.read(stop)
	c := exec.Command(bin, args...)
	c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
	c.Env = append(os.Environ(), "TERM=xterm-256color")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	began := time.Now()
	if err := c.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", bin, err)
	}
	slave.Close()
	type chunk struct {
		at   time.Duration
		data []byte
	}
	chunks := make(chan chunk, 1024)
	go func() {
		defer close(chunks)
		for {
			b := make([]byte, 1<<16)
			n, err := master.Read(b)
			if err != nil {
				return
			}
			chunks <- chunk{time.Since(began), b[:n]}
		}
	}()
	var seen bytes.Buffer
	var paint, figures, from time.Duration
	var cpu float64
	written := 0
	for end := time.After(settle + b.length); ; {
		select {
		case x := <-chunks:
			if figures == 0 {
				seen.Write(x.data)
				if paint == 0 && bytes.Contains(seen.Bytes(), []byte("STARTING")) {
					paint = x.at
				}
				if bytes.Contains(seen.Bytes(), []byte("memory")) {
					figures = x.at
				}
			}
			if from == 0 && x.at > settle {
				from, cpu = x.at, used(c.Process.Pid)
			} else if from > 0 {
				written += len(x.data)
			}
			continue
		case <-end:
		}
		break
	}
	seconds := (time.Since(began) - from).Seconds()
	share := (used(c.Process.Pid) - cpu) / seconds
	now, most := memory(c.Process.Pid)
	fmt.Printf("%-30s %12v %14v %6.2f %% %5d MiB %5d MiB %6.0f B/s\n", filepath.Base(bin)+" "+strings.Join(args, " "),
		paint.Round(time.Millisecond), figures.Round(time.Millisecond), 100*share, now>>10, most>>10, float64(written)/seconds)
	if _, err := master.WriteString("q"); err != nil {
		return fmt.Errorf("quitting: %w", err)
	}
	for range chunks { // until the terminal is given up
	}
	return c.Wait()
}

// terminal makes a pseudo-terminal of a size.
func terminal(columns, lines uint16) (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making a terminal: %w", err)
	}
	unlock, n, size := int32(0), uint32(0), [4]uint16{lines, columns}
	err = errors.Join(ioctl(master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock)), ioctl(master, syscall.TIOCGPTN, unsafe.Pointer(&n)),
		ioctl(master, syscall.TIOCSWINSZ, unsafe.Pointer(&size)))
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("making a terminal: %w", errors.Join(err, master.Close()))
	}
	return master, slave, nil
}

func ioctl(f *os.File, request uintptr, arg unsafe.Pointer) error {
	if _, _, err := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(arg)); err != 0 {
		return err
	}
	return nil
}

// used is the processor time of a process so far, in seconds: /proc/PID/stat.
func used(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	var user, system float64
	fields := strings.Fields(rest)
	if len(fields) > 12 {
		fmt.Sscan(fields[11], &user)
		fmt.Sscan(fields[12], &system)
	}
	return (user + system) / 100
}

// memory is the resident memory of a process, and the most it was, in KiB:
// /proc/PID/status.
func memory(pid int) (now, most int) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	for l := range strings.Lines(string(b)) {
		fmt.Sscanf(l, "VmRSS: %d", &now)
		fmt.Sscanf(l, "VmHWM: %d", &most)
	}
	return now, most
}
