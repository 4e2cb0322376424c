package bpf

import (
	"errors"
	"fmt"
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
		return 0, fmt.Errorf("reading the own capabilities: %w", err)
	}
	return uint64(data[1].Effective)<<32 | uint64(data[0].Effective), nil
}

// tryMap makes the smallest map there is. Capabilities of a container's user
// name space do not count for bpf(2), and a system-call filter may refuse it.
func tryMap() error {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("%w (bpf(2) is refused in spite of the capabilities, as in a container: run it on the host)", ErrNotPermitted)
	}
	if err != nil {
		return fmt.Errorf("making a map: %w", err)
	}
	return m.Close()
}
