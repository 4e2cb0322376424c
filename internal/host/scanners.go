package host

import (
	"bytes"
	"os"
	"slices"
	"strconv"
)

// permitEvents are the events of fanotify that the kernel wants an answer to before it
// goes on: opening, reading and running a file (FAN_OPEN_PERM, FAN_ACCESS_PERM,
// FAN_OPEN_EXEC_PERM, FAN_PRE_ACCESS; include/uapi/linux/fanotify.h).
const permitEvents = 0x10000 | 0x20000 | 0x40000 | 0x100000

// Scanners are the processes that have to allow it when others open, read or run files,
// by number: virus scanners, fapolicyd. What cannot be read is left out.
func (h *Host) Scanners() []int {
	entries, err := os.ReadDir(h.Proc())
	if err != nil {
		return nil
	}
	var found []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && h.Scans(pid) {
			found = append(found, pid)
		}
	}
	slices.Sort(found)
	return found
}

// Scans tells whether a process is one of the Scanners.
func (h *Host) Scans(pid int) bool {
	for fdinfo := range h.Opened(pid, "anon_inode:[fanotify]") {
		if asksPermission(fdinfo) {
			return true
		}
	}
	return false
}

// asksPermission tells whether a group of fanotify wants to be asked, by the masks that
// its fdinfo lists: "fanotify mnt_id:2e mflags:0 mask:10000 ignored_mask:0".
func asksPermission(fdinfo []byte) bool {
	for line := range bytes.Lines(fdinfo) {
		_, mask, ok := bytes.Cut(line, []byte(" mask:"))
		if !ok {
			continue
		}
		mask, _, _ = bytes.Cut(bytes.TrimSpace(mask), []byte(" "))
		if n, err := strconv.ParseUint(string(mask), 16, 64); err == nil && n&permitEvents != 0 {
			return true
		}
	}
	return false
}
