package pid

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"iocause/internal/host"
)

// OpenFile is a file that a process holds open: /proc/PID/fd and fdinfo.
type OpenFile struct {
	FD     int
	Target string // a path, with " (deleted)" behind it when it has none; or "pipe:[123]"
	Flags  uint64 // of open(2): 040000 is O_DIRECT on most machines; 0 when not known
	Pos    uint64 // bytes
}

// OpenFiles lists the files that a process holds open, most of them at most.
// A file that is closed meanwhile is left out.
func OpenFiles(h *host.Host, pid, most int) ([]OpenFile, error) {
	id := strconv.Itoa(pid)
	d, err := os.Open(h.Proc(id, "fd"))
	if err != nil {
		return nil, fmt.Errorf("listing the open files of process %d: %w", pid, err)
	}
	defer d.Close()
	names, err := d.Readdirnames(most)
	if err != nil && len(names) == 0 && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil // none, or it ended
	}
	var out []OpenFile
	var buf []byte
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		target, err := os.Readlink(h.Proc(id, "fd", name))
		if err != nil {
			continue
		}
		f := OpenFile{FD: fd, Target: target}
		if buf, err = host.Read(h.Proc(id, "fdinfo", name), buf); err == nil {
			f.Pos, f.Flags, _ = parseFDInfo(buf)
		}
		out = append(out, f)
	}
	return out, nil
}

// parseFDInfo reads "pos:" (decimal) and "flags:" (octal).
func parseFDInfo(b []byte) (pos, flags uint64, err error) {
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = host.Line(b)
		key, rest := host.Field(line)
		f, _ := host.Field(rest)
		switch string(key) {
		case "pos:":
			pos, err = strconv.ParseUint(string(f), 10, 64)
		case "flags:":
			flags, err = strconv.ParseUint(string(f), 8, 64)
		}
		if err != nil {
			return pos, flags, &host.LineError{Line: n, What: fmt.Sprintf("%s %.40q is not a number", key, f)}
		}
	}
	return pos, flags, nil
}
