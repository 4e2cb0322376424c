package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Comm cuts a name where the kernel does: comm holds 15 bytes.
func Comm(name string) string {
	const most = 15
	if len(name) > most {
		return name[:most]
	}
	return name
}

// CommOf is the name of a process (/proc/PID/comm).
func (h *Host) CommOf(pid int) (string, error) {
	b, err := os.ReadFile(h.Proc(strconv.Itoa(pid), "comm"))
	return strings.TrimSuffix(string(b), "\n"), err
}

// ProcessOf is the process that a process or thread id belongs to
// (/proc/PID/status).
func (h *Host) ProcessOf(id int) (int, error) {
	text, err := os.ReadFile(h.Proc(strconv.Itoa(id), "status"))
	if err != nil {
		return 0, fmt.Errorf("looking for process %d: %w; see 'ps -e' for those that run", id, err)
	}
	group, _ := StatusField(text, "Tgid")
	if pid, err := strconv.Atoi(group); err == nil {
		return pid, nil
	}
	return id, nil
}

// Named are the processes of a name, but our own (/proc/PID/comm).
func (h *Host) Named(name string) ([]int, error) {
	entries, err := os.ReadDir(h.Proc())
	if err != nil {
		return nil, fmt.Errorf("listing the processes: %w", err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == h.Self {
			continue
		}
		if comm, err := h.CommOf(pid); err == nil && comm == Comm(name) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// WholeDisk is the whole disk of a block device, given by its name, the name of
// a partition or a path below /dev.
func (h *Host) WholeDisk(name string) (string, error) {
	short := name
	if strings.HasPrefix(name, "/") {
		if real, err := filepath.EvalSymlinks(name); err == nil { // /dev/disk/by-uuid, /dev/mapper
			short = real
		}
		short = KernelName(short)
	}
	devices, err := h.Devices()
	if err != nil {
		return "", fmt.Errorf("looking for block device %q: %w; see 'lsblk'", name, err)
	}
	for _, d := range devices.All() {
		if d.Name == short {
			return d.Disk, nil
		}
	}
	return "", fmt.Errorf("looking for block device %q: no such device; see 'lsblk'", name)
}

// KernelName is a block device's name in /sys, of a path below /dev.
func KernelName(path string) string { return SysName(strings.TrimPrefix(path, "/dev/")) }

// SysName is a block device's name in /sys, where none has a slash.
func SysName(name string) string { return strings.ReplaceAll(name, "/", "!") }

// FileDisks finds the disks that file systems lie on, and keeps what it found.
type FileDisks struct {
	host   *Host
	lookup *Lookup
	known  map[DevNumber]string
}

// NewFileDisks returns one that knows nothing yet.
func NewFileDisks(h *Host) *FileDisks {
	return &FileDisks{host: h, lookup: NewLookup(h), known: map[DevNumber]string{}}
}

// Of is the disk of a file system. Those that span several devices have a
// number of their own; the device that they are mounted from stands for them.
func (f *FileDisks) Of(dev DevNumber) string {
	if disk, ok := f.known[dev]; ok {
		return disk
	}
	disk := f.lookup.Disk(uint32(dev))
	if dev.Major() == 0 {
		if mounts, err := f.host.Mounts(); err == nil {
			if m, ok := mounts.Find(dev); ok && strings.HasPrefix(m.Source, "/dev/") {
				if whole, err := f.host.WholeDisk(m.Source); err == nil {
					disk = whole
				}
			}
		}
	}
	f.known[dev] = disk
	return disk
}

// Started is a process, told from a later one of the same number.
type Started struct {
	pid   int
	ticks string // when it started: field 22 of /proc/PID/stat
}

// StartOf is nil when there is no such process.
func (h *Host) StartOf(pid int) *Started {
	fields, err := h.StatFields(pid)
	if err != nil {
		return nil
	}
	return &Started{pid: pid, ticks: fields[StatStart]}
}

// Ended says that the process has ended, "" when it is still there.
func (s *Started) Ended(h *Host) string {
	if now := h.StartOf(s.pid); now != nil && now.ticks == s.ticks {
		return ""
	}
	return fmt.Sprintf("process %d ended while it was watched: the finding is about the time before", s.pid)
}
