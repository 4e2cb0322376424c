package host

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Mount is one line of /proc/PID/mountinfo (proc_pid_mountinfo(5)). Names are
// data from the system and may hold any byte; the kernel's octal escapes are
// undone.
type Mount struct {
	ID      int       // as fdinfo has it (mnt_id)
	Dev     DevNumber // of the super block: what stat(2) and the page cache know
	Root    string    // the directory of the file system that is mounted
	Point   string    // where, in the mount namespace that was read
	Type    string    // "ext4", "cgroup2"
	Source  string    // "/dev/vda1", or what the file system calls itself
	Options []string  // of the mount: "ro", "relatime"
	Super   []string  // of the file system: "rw", "memory"
}

// Mounts are the mounts of a mount namespace, in the order they were made.
type Mounts []Mount

// Mounts reads /proc/self/mountinfo.
func (h *Host) Mounts() (Mounts, error) { return h.mounts("self") }

// MountsOf are those that a process sees.
func (h *Host) MountsOf(pid int) (Mounts, error) { return h.mounts(strconv.Itoa(pid)) }

// mounts are those that a process sees.
func (h *Host) mounts(process string) (Mounts, error) {
	path := h.Proc(process, "mountinfo")
	b, err := Read(path, nil)
	if err != nil {
		return nil, fmt.Errorf("reading the mounts: %w", err)
	}
	m, err := parseMounts(b)
	return m, In(path, err)
}

// IsServed tells of a file system whose files a server or a daemon has.
func (m Mount) IsServed() bool {
	return strings.HasPrefix(m.Type, "fuse.") || slices.Contains([]string{
		"nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "virtiofs", "afs", "lustre", "beegfs", "gpfs", "fuse", "fuseblk",
	}, m.Type)
}

// holds tells whether a path is that of the mount, or below it.
func (m Mount) holds(path string) bool {
	return path == m.Point || strings.HasPrefix(path, strings.TrimSuffix(m.Point, "/")+"/")
}

// MayWait tells whether to open a file may wait for a server or a daemon, which may answer
// nothing any more: theirs is the file, or a directory on the way to it.
func (m Mounts) MayWait(dev DevNumber, path string) bool {
	return slices.ContainsFunc(m, func(x Mount) bool {
		return x.IsServed() && (x.Dev == dev || x.holds(path))
	})
}

// At are the mounts of a device number; a file system can be mounted often.
func (m Mounts) At(dev DevNumber) Mounts {
	var out Mounts
	for _, x := range m {
		if x.Dev == dev {
			out = append(out, x)
		}
	}
	return out
}

// Find is the mount of a device number that shows most of the file system:
// the one of its top directory if there is one. The newest wins, as it hides
// those before it.
func (m Mounts) Find(dev DevNumber) (best Mount, ok bool) {
	for _, x := range m {
		if x.Dev == dev && (!ok || len(x.Root) <= len(best.Root)) {
			best, ok = x, true
		}
	}
	return best, ok
}

// name is the path of what lies somewhere in the file system that is mounted; what the
// mount does not show is called as it is there.
func (m Mount) name(inside string) string {
	switch {
	case m.Root == "/":
		return filepath.Join(m.Point, inside)
	case inside == m.Root || strings.HasPrefix(inside, m.Root+"/"):
		return filepath.Join(m.Point, strings.TrimPrefix(inside, m.Root))
	}
	return inside
}

// HasOption tells whether the file system was mounted with an option.
func (m Mount) HasOption(name string) bool {
	for _, o := range m.Super {
		if o == name {
			return true
		}
	}
	return false
}

func parseMounts(b []byte) (Mounts, error) {
	var out Mounts
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = Line(b)
		if len(line) == 0 {
			continue
		}
		m, what := parseMount(line)
		if what != "" {
			return out, &LineError{n, what}
		}
		out = append(out, m)
	}
	return out, nil
}

// parseMount reads "36 35 98:0 /root /point rw,noatime shared:1 - ext3 /dev/root rw".
func parseMount(line []byte) (m Mount, wrong string) {
	var f [6][]byte
	for i := range f {
		f[i], line = Field(line)
	}
	id, err := strconv.Atoi(string(f[0]))
	if err != nil {
		return m, fmt.Sprintf("%.40q is not a mount's number", f[0])
	}
	dev, ok := ParseDev(f[2])
	if !ok {
		return m, fmt.Sprintf("%.40q is not a device number", f[2])
	}
	for {
		var tag []byte
		if tag, line = Field(line); len(tag) == 0 {
			return m, "the separator \"-\" is missing"
		}
		if string(tag) == "-" {
			break
		}
	}
	// A source may be empty ("- tmpfs  rw"): single blanks part these three.
	last := bytes.SplitN(bytes.TrimPrefix(line, []byte(" ")), []byte(" "), 3)
	if len(last) < 2 {
		return m, "the file system's type and source are missing"
	}
	m = Mount{ID: id, Dev: dev, Root: Unescape(f[3]), Point: Unescape(f[4]), Type: Unescape(last[0]), Source: Unescape(last[1])}
	m.Options = options(f[5])
	if len(last) == 3 {
		m.Super = options(last[2])
	}
	return m, ""
}

func options(b []byte) []string {
	var out []string
	for _, o := range strings.Split(string(b), ",") {
		out = append(out, Unescape([]byte(o)))
	}
	return out
}

// Unescape undoes the kernel's mangle_path: \040 for a blank and so on.
func Unescape(b []byte) string {
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b)
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] == '\\' && i+3 < len(b) && octal(b[i+1]) && b[i+1] < '4' && octal(b[i+2]) && octal(b[i+3]) {
			out = append(out, (b[i+1]-'0')<<6|(b[i+2]-'0')<<3|(b[i+3]-'0'))
			i += 3
			continue
		}
		out = append(out, b[i])
	}
	return string(out)
}

func octal(c byte) bool { return c >= '0' && c <= '7' }
