package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// faults watches the counters of errors that the kernel keeps without being
// asked: those of ext4 and btrfs. Other file systems and NVMe disks keep none
// that is read without asking a device, and what SCSI disks count (ioerr_cnt)
// also grows with questions that they do not know. It is used by one goroutine.
type faults struct {
	host  *host.Host
	log   *slog.Logger
	known map[string]uint64 // by path
	begun bool
	told  map[string]bool // what could not be read
}

func newFaults(h *host.Host, log *slog.Logger) *faults {
	return &faults{host: h, log: log, known: map[string]uint64{}, told: map[string]bool{}}
}

// patterns are where the counters are, below /sys, and what they count.
func (f *faults) patterns() map[string]string {
	return map[string]string{
		// fs/ext4/sysfs.c: since the file system was last checked
		f.host.Sys("fs", "ext4", "*", "errors_count"): "the file system on %s has found %d errors (ext4)",
		// fs/btrfs/sysfs.c
		f.host.Sys("fs", "btrfs", "*", "devinfo", "*", "error_stats"): "the file system %s had %d errors of a device (btrfs)",
	}
}

// since are the errors since the last call. Those that were there at the first
// are not news; nor are those of what is mounted with its old ones later.
func (f *faults) since() []sample.Limit {
	var out []sample.Limit
	now := map[string]uint64{}
	for pattern, what := range f.patterns() {
		paths, _ := filepath.Glob(pattern) // the patterns are right
		slices.Sort(paths)
		for _, path := range paths {
			n, err := readErrors(path)
			if err != nil {
				if !errors.Is(err, fs.ErrNotExist) && !f.told[path] { // else it went meanwhile
					f.told[path] = true
					f.log.Warn("a count of errors cannot be read", "why", err)
				}
				continue
			}
			now[path] = n
			before, ok := f.known[path]
			if f.begun && ok && n > before {
				out = append(out, sample.Limit{Kind: sample.LimitErrors, Of: f.nameOf(path), What: fmt.Sprintf(what, f.nameOf(path), n-before)})
			}
		}
	}
	f.known, f.begun = now, true
	slices.SortFunc(out, func(a, b sample.Limit) int { return strings.Compare(a.What, b.What) })
	return out
}

// nameOf is the device or file system of a counter.
func (f *faults) nameOf(path string) string {
	rel, err := filepath.Rel(f.host.Sys(), path)
	parts := strings.Split(rel, "/")
	if err != nil || len(parts) < 3 {
		return path
	}
	return parts[2]
}

// readErrors reads one number, or adds up lines of "name number". While btrfs
// knows none, it says "invalid".
func readErrors(path string) (uint64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("reading the errors of a disk: %w", err)
	}
	var sum uint64
	for line := range strings.Lines(string(b)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "invalid" {
			continue
		}
		n, err := strconv.ParseUint(words[len(words)-1], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading the errors of a disk: %s: %w", path, err)
		}
		sum += n
	}
	return sum, nil
}
