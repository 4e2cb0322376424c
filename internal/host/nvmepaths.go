package host

import (
	"os"
	"path/filepath"
	"regexp"
)

var (
	nvmeHead = regexp.MustCompile(`^nvme(\d+)n(\d+)$`)
	nvmePath = regexp.MustCompile(`^nvme(\d+)c(\d+)n(\d+)$`)
)

// NVMePath is one way of a namespace of NVMe to its storage, by the kernel's own
// multipath.
type NVMePath struct {
	Name       string // of the hidden disk that stands for it: nvme0c1n1
	Controller string // nvme1
	State      string // of the controller: live, connecting, resetting
	Access     string // of the path (ANA): optimized, non-optimized, inaccessible; "" where it is not told
}

// Works tells whether requests can go that way.
func (p *NVMePath) Works() bool {
	return p.State == "live" && (p.Access == "" || p.Access == "optimized" || p.Access == "non-optimized")
}

// NVMePaths are those of a namespace, none where it has no multipath. Nothing is asked
// of a disk: /sys/block/nvmeXcYnZ.
func (h *Host) NVMePaths(disk string) []NVMePath {
	head := nvmeHead.FindStringSubmatch(disk)
	if head == nil {
		return nil
	}
	entries, err := os.ReadDir(h.Sys("block"))
	if err != nil {
		return nil
	}
	var all []NVMePath
	for _, e := range entries {
		m := nvmePath.FindStringSubmatch(e.Name())
		if m == nil || m[1] != head[1] || m[3] != head[2] {
			continue
		}
		p := NVMePath{Name: e.Name()}
		if to, err := os.Readlink(h.Sys("block", e.Name(), "device")); err == nil {
			p.Controller = filepath.Base(to)
		}
		p.State, _ = readString(h.Sys("block", e.Name(), "device", "state"))
		p.Access, _ = readString(h.Sys("block", e.Name(), "ana_state"))
		p.State, p.Access = clean(p.State), clean(p.Access)
		all = append(all, p)
	}
	return all
}
