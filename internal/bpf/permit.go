package bpf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// permitted tells whether this process may load the probes. It is asked before
// anything is loaded, because what a refused load says differs from map to map
// and may blame the kernel's version.
func permitted() error {
	held, err := capabilities()
	if err != nil {
		return err
	}
	if lacks := lacking(held); len(lacks) > 0 {
		if os.Geteuid() == 0 {
			return fmt.Errorf("%w (this root lacks %s)", ErrNotPermitted, strings.Join(lacks, " and "))
		}
		return ErrNotPermitted
	}
	return nil
}

// lacking names the capabilities that the probes need and held has not.
func lacking(held uint64) []string {
	has := func(c uint) bool { return held&(1<<c|1<<unix.CAP_SYS_ADMIN) != 0 }
	var names []string
	if !has(unix.CAP_BPF) {
		names = append(names, "CAP_BPF")
	}
	if !has(unix.CAP_PERFMON) {
		names = append(names, "CAP_PERFMON")
	}
	return names
}

// capabilities is the set of this process that is in effect: capget(2).
func capabilities() (uint64, error) {
	var data [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &data[0]); err != nil {
		return 0, fmt.Errorf("reading its own capabilities: %w", err)
	}
	return uint64(data[1].Effective)<<32 | uint64(data[0].Effective), nil
}

// tryMap makes the smallest map there is. Capabilities of a container's user
// name space do not count for bpf(2), and others may refuse it (guards).
func tryMap() error {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	if err != nil {
		return explainMap(err)
	}
	return m.Close()
}

// explainMap says why the smallest map there is cannot be made.
func explainMap(err error) error {
	if errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("%w: there is no bpf(2): the kernel was built without CONFIG_BPF_SYSCALL, or a seccomp filter (of a container) blocks it: run it on the host (%w)", ErrNotSupported, err)
	}
	if errno := unix.Errno(0); errors.As(err, &errno) {
		err = errno // without what the loader guesses about locked memory
	}
	return explain("making a map", err)
}

// hasTypes tells whether the kernel's type information is there: hidden from a
// container it may also be an empty file.
func hasTypes(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w (%w)", ErrNoBTF, err)
	}
	defer f.Close()
	var head [2]byte
	if _, err := io.ReadFull(f, head[:]); err != nil {
		return fmt.Errorf("%w (%s is empty; something may be mounted over it: %w)", ErrNoBTF, path, err)
	}
	return nil
}
