// Package host knows where things are on the machine that is looked at: the
// roots of /proc, /sys and the cgroup file systems, the clock, the names of
// devices, and the machine's fingerprint. Everything is reached through a
// Host value, so that every reader also runs on a captured tree.
package host

import (
	"os"
	"path/filepath"
	"time"
)

// Host is one machine, or a captured tree of one.
type Host struct {
	Root   string           // prefix of every path; "" or "/" for the live machine
	Now    func() time.Time // the clock
	Self   int              // our own process id, left out of every finding
	IsLive bool             // false for a captured tree: system calls on it are meaningless

	read readDevices

	called string // its name, if it is told; "" for what the kernel says
}

// Live is the machine that we run on.
func Live() *Host {
	return &Host{Now: time.Now, Self: os.Getpid(), IsLive: true, called: os.Getenv(nameVariable)}
}

// Tree is a captured machine below root.
func Tree(root string, now func() time.Time) *Host {
	return &Host{Root: root, Now: now}
}

// Proc is a path below /proc.
func (h *Host) Proc(elem ...string) string {
	return filepath.Join(append([]string{h.Root, "/proc"}, elem...)...)
}

// Sys is a path below /sys.
func (h *Host) Sys(elem ...string) string {
	return filepath.Join(append([]string{h.Root, "/sys"}, elem...)...)
}
