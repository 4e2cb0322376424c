package procfile

import (
	"bytes"
	"fmt"

	"iocause/internal/host"
)

// MountStats is what /proc/PID/mountstats says of one NFS mount (net/sunrpc/stats.c,
// fs/nfs/super.c). Names may hold any byte; the kernel's octal escapes are undone.
type MountStats struct {
	Source string // SERVER:/EXPORT
	Point  string
	Type   string // nfs or nfs4
	Ops    []MountOp
}

// MountOp is one line of its per-op statistics, since the file system was mounted.
// Times are milliseconds, summed over requests that are over.
type MountOp struct {
	Name          string // READ, GETATTR
	Requests      uint64
	Transmissions uint64
	Timeouts      uint64 // major ones
	Sent          uint64 // bytes, with heads
	Received      uint64
	Queue         uint64 // before it was sent
	Response      uint64 // from sending to the answer
	Execute       uint64 // from beginning to end
	Errors        uint64 // since statvers 1.1 with a ninth column (Linux 5.3), else 0
	HasErrors     bool
}

// ParseMountStats parses that file. Mounts without statistics are left out.
func ParseMountStats(b []byte) ([]MountStats, error) {
	var all []MountStats
	var m *MountStats // the mount that lines belong to; nil: none with statistics
	ops := false
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = host.Line(b)
		first, rest := host.Field(line)
		switch {
		case len(first) == 0:
			continue
		case string(first) == "device" || bytes.HasPrefix(line, []byte("no device ")):
			ops, m = false, nil
			if head, ok := parseMountHead(first, rest); ok {
				all = append(all, head)
				m = &all[len(all)-1]
			}
		case m == nil:
		case bytes.HasPrefix(bytes.TrimLeft(line, "\t "), []byte("per-op statistics")):
			ops = true
		case ops && first[len(first)-1] == ':':
			op, wrong := parseMountOp(first, rest)
			if wrong != "" {
				return all, &host.LineError{Line: n, What: wrong}
			}
			m.Ops = append(m.Ops, op)
		}
	}
	return all, nil
}

// parseMountHead reads "device SOURCE mounted on POINT with fstype TYPE statvers=1.1";
// ok is false for a file system that keeps no statistics.
func parseMountHead(first, rest []byte) (m MountStats, ok bool) {
	if string(first) != "device" {
		return m, false
	}
	var f [8][]byte
	for i := range f {
		f[i], rest = host.Field(rest)
	}
	if string(f[1]) != "mounted" || string(f[4]) != "with" || !bytes.HasPrefix(f[7], []byte("statvers=")) {
		return m, false
	}
	return MountStats{Source: host.Unescape(f[0]), Point: host.Unescape(f[3]), Type: host.Unescape(f[6])}, true
}

// parseMountOp reads "READ: 10 11 1 1440 41000 3 40 45 0".
func parseMountOp(name, rest []byte) (op MountOp, wrong string) {
	op.Name = string(name[:len(name)-1])
	for i, to := range [...]*uint64{&op.Requests, &op.Transmissions, &op.Timeouts, &op.Sent, &op.Received, &op.Queue, &op.Response, &op.Execute, &op.Errors} {
		var f []byte
		f, rest = host.Field(rest)
		if i == 8 && len(f) == 0 {
			return op, ""
		}
		var ok bool
		if *to, ok = host.Uint(f); !ok {
			return op, fmt.Sprintf("figure %d of %.20q is %.40q, not a number", i+1, op.Name, f)
		}
	}
	op.HasErrors = true
	return op, ""
}
