package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Fields of /proc/PID/stat behind the name, as StatFields numbers them.
const (
	StatState  = 0
	StatParent = 1
	StatGroup  = 2
	StatStart  = 19 // clock ticks since boot
)

// StatusField is what a line of /proc/PID/status (proc_pid_status(5)) says; ok is false
// where there is none of that name.
func StatusField(status []byte, name string) (value string, ok bool) {
	for line := range bytes.Lines(status) {
		if rest, found := bytes.CutPrefix(line, []byte(name+":")); found {
			return string(bytes.TrimSpace(rest)), true
		}
	}
	return "", false
}

// BehindName is what stands behind the name in a stat file of a process or of a
// thread: the name may hold anything, brackets included, nothing behind it can.
func BehindName(stat []byte) []byte { return stat[bytes.LastIndexByte(stat, ')')+1:] }

// StatFields are the fields of /proc/PID/stat (proc_pid_stat(5)) behind the
// name. Kernels since 2.6 have 40 and more.
func (h *Host) StatFields(pid int) ([]string, error) {
	b, err := os.ReadFile(h.Proc(strconv.Itoa(pid), "stat"))
	if err != nil {
		return nil, fmt.Errorf("looking at process %d: %w", pid, err)
	}
	fields := strings.Fields(string(BehindName(b)))
	if len(fields) <= StatStart {
		return nil, fmt.Errorf("looking at process %d: its stat file has %d fields behind the name, not %d", pid, len(fields), StatStart+1)
	}
	return fields, nil
}
