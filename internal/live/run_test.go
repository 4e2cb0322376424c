package live

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"iocause/internal/require"
)

// pseudo is a pseudo-terminal, and what was written to it.
type pseudo struct {
	master, slave *os.File
	mu            sync.Mutex
	out           bytes.Buffer
}

func ioctl(t *testing.T, f *os.File, request uintptr, arg unsafe.Pointer) {
	t.Helper()
	if _, _, err := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(arg)); err != 0 {
		t.Fatal(err)
	}
}

func newPseudo(t *testing.T) *pseudo {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	unlock, n := int32(0), uint32(0)
	ioctl(t, master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	ioctl(t, master, syscall.TIOCGPTN, unsafe.Pointer(&n))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	size := [4]uint16{24, 80}
	ioctl(t, slave, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	p := &pseudo{master: master, slave: slave}
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			if err != nil {
				return
			}
			p.mu.Lock()
			p.out.Write(b[:n])
			p.mu.Unlock()
		}
	}()
	t.Cleanup(func() { slave.Close(); master.Close() })
	return p
}

func (p *pseudo) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// says waits for what a program writes.
func (p *pseudo) says(t *testing.T, what string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(p.said(), what); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q is not written: %q", what, p.said())
		}
	}
}

// settings are what a program may have changed of the terminal.
func (p *pseudo) settings(t *testing.T) syscall.Termios {
	t.Helper()
	var s syscall.Termios
	ioctl(t, p.slave, syscall.TCGETS, unsafe.Pointer(&s))
	return s
}

// runs is a feed that hands out one window, and then does what it was told to.
type runs struct {
	none
	then func(ctx context.Context)
}

func (r *runs) Run(ctx context.Context, to func([]Interval)) error {
	to([]Interval{{Window: busy(3), State: State{Ready: true}}})
	r.then(ctx)
	return nil
}

// What a terminal is told to hand mouse events to the program, and to stop that.
const (
	mouseOn  = "\x1b[?1002h"
	mouseOff = "\x1b[?1002l"
)

// However it ends, the terminal is as it was: its settings, its screen, its
// cursor.
func TestTerminalIsRestored(t *testing.T) {
	if testing.Short() { // as the race detector's stage asks for
		t.Skip("Bubble Tea's reader of keys is closed while it reads, which the race detector finds now and then")
	}
	wait := func(ctx context.Context) { <-ctx.Done() }
	for name, c := range map[string]struct {
		then func(context.Context)
		end  func(p *pseudo, cancel func())
		err  bool
	}{
		"q": {then: wait, end: func(p *pseudo, _ func()) { fmt.Fprint(p.master, "q") }},
		"q with the mouse taken": {then: wait, end: func(p *pseudo, _ func()) {
			fmt.Fprint(p.master, "m")
			p.says(t, mouseOn)
			fmt.Fprint(p.master, "q")
		}},
		"Ctrl-C":  {then: wait, end: func(p *pseudo, _ func()) { fmt.Fprint(p.master, "\x03") }},
		"SIGINT":  {then: wait, end: func(*pseudo, func()) { _ = syscall.Kill(os.Getpid(), syscall.SIGINT) }},
		"SIGTERM": {then: wait, end: func(*pseudo, func()) { _ = syscall.Kill(os.Getpid(), syscall.SIGTERM) }},
		"SIGHUP":  {then: wait, end: func(*pseudo, func()) { _ = syscall.Kill(os.Getpid(), syscall.SIGHUP) }},
		"a panic": {then: func(context.Context) { time.Sleep(500 * time.Millisecond); panic("a mistake") }, end: func(*pseudo, func()) {}, err: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPseudo(t)
			before := p.settings(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			feed := &runs{none: none{windows: nil}, then: c.then}
			done := make(chan error, 1)
			go func() { done <- Run(ctx, New(feed, Options{Every: time.Second}), p.slave, p.slave, false) }()
			p.says(t, "memory")
			if p.settings(t) == before {
				t.Error("the terminal takes no single keys")
			}
			c.end(p, cancel)
			select {
			case err := <-done:
				if (err != nil) != c.err {
					t.Errorf("it ended with %v", err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("it does not end")
			}
			if p.settings(t) != before {
				t.Errorf("settings were %+v and are %+v", before, p.settings(t))
			}
			p.says(t, "\x1b[?1049l")
			p.says(t, "\x1b[?25h")
			said := p.said()
			pairs := [][2]string{{"\x1b[?1049h", "\x1b[?1049l"}, {"\x1b[?25l", "\x1b[?25h"}}
			if strings.Contains(said, mouseOn) {
				p.says(t, mouseOff)
				pairs = append(pairs, [2]string{mouseOn, mouseOff})
			}
			for _, x := range pairs {
				on, off := strings.LastIndex(said, x[0]), strings.LastIndex(said, x[1])
				if on < 0 || off < on {
					t.Errorf("%q at %d, %q at %d of %d bytes", x[0], on, x[1], off, len(said))
				}
			}
		})
	}
}
