package host

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"
)

// BootTime is when the host was booted, to the second: btime of /proc/stat.
func (h *Host) BootTime() (time.Time, error) {
	path := h.Proc("stat")
	b, err := Read(path, nil)
	if err != nil {
		return time.Time{}, fmt.Errorf("reading the boot time: %w", err)
	}
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = Line(b)
		key, rest := Field(line)
		if string(key) != "btime" {
			continue
		}
		v, _ := Field(rest)
		sec, ok := Uint(v)
		if !ok || sec > 1<<40 {
			return time.Time{}, In(path, &LineError{n, fmt.Sprintf("btime %.40q is not a time", v)})
		}
		return time.Unix(int64(sec), 0), nil
	}
	return time.Time{}, fmt.Errorf("reading the boot time: %s has no line btime", path)
}

// Uptime is the time since boot, suspended time included: /proc/uptime.
func (h *Host) Uptime() (time.Duration, error) {
	path := h.Proc("uptime")
	b, err := Read(path, nil)
	if err != nil {
		return 0, fmt.Errorf("reading the time since boot: %w", err)
	}
	f, _ := Field(b)
	var whole, part, scale uint64 = 0, 0, 1
	dot := false
	for _, c := range f {
		switch {
		case c == '.' && !dot:
			dot = true
		case c < '0' || c > '9' || whole > 1<<33:
			return 0, In(path, &LineError{1, fmt.Sprintf("%.40q is not a time", f)})
		case dot && scale < 1e9:
			part, scale = part*10+uint64(c-'0'), scale*10
		case !dot:
			whole = whole*10 + uint64(c-'0')
		}
	}
	if len(f) == 0 {
		return 0, In(path, &LineError{1, "the file is empty"})
	}
	return time.Duration(whole)*time.Second + time.Duration(part*(1e9/scale)), nil
}

// TickHz is USER_HZ: the clock ticks a second of the figures in /proc. It is
// a constant of the kernel's interface, whatever CONFIG_HZ is.
const TickHz = 100

// PageSize is the size of a page in bytes. A captured tree has it in
// /proc/self/auxv (AT_PAGESZ); without that it is taken to be 4096.
func (h *Host) PageSize() uint64 {
	if n, ok := h.pageSize(); ok {
		return n
	}
	return 4096
}

func (h *Host) pageSize() (n uint64, ok bool) {
	if h.IsLive {
		return uint64(os.Getpagesize()), true
	}
	const atPageSize = 6
	b, err := Read(h.Proc("self", "auxv"), nil)
	for err == nil && len(b) >= 16 {
		if binary.NativeEndian.Uint64(b) == atPageSize {
			n = binary.NativeEndian.Uint64(b[8:])
			return n, n >= 4096 && n <= 1<<20 && n&(n-1) == 0
		}
		b = b[16:]
	}
	return 0, false
}
