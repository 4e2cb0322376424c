package cli

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"iocause/internal/host"
	"iocause/internal/source/residency"
	"iocause/internal/view"
)

// bindFile adds --file.
func bindFile(c *cobra.Command, file *string) {
	c.Flags().StringVar(file, "file", "", "show a file, what is below a directory, or a pattern")
}

// wantedFile is what --file names, the way that samples name files. A name
// without a slash is a pattern of the last part of a path.
func wantedFile(c *cobra.Command, name string) (string, error) {
	if !c.Flags().Changed("file") {
		return "", nil
	}
	if name == "" {
		return "", &usageError{fmt.Errorf("reading --file: the name is empty"), "give a path, a directory or a pattern"}
	}
	if !strings.Contains(name, "/") {
		if _, err := path.Match(name, ""); err != nil {
			return "", &usageError{fmt.Errorf("reading --file: %q: %w", name, err), `write \[ for a bracket that is meant as such`}
		}
		return name, nil
	}
	whole, err := filepath.Abs(name)
	if err != nil {
		return "", fmt.Errorf("reading --file: %w", err)
	}
	return whole, nil
}

// fileFilter chooses files by their name and the disk that they lie on.
type fileFilter struct {
	host   *host.Host
	name   string // "" for any
	device string // "" for any
	disks  *host.FileDisks
}

func newFileFilter(h *host.Host, c *cobra.Command, file, device string) (f *fileFilter, err error) {
	f = &fileFilter{host: h, disks: host.NewFileDisks(h)}
	if f.name, err = wantedFile(c, file); err != nil {
		return nil, err
	}
	if c.Flags().Changed("device") {
		f.device, err = h.WholeDisk(device)
	}
	return f, err
}

// narrow tells whether files are chosen at all.
func (f *fileFilter) narrow() bool { return f.name != "" || f.device != "" }

// named tells whether a file's path is asked for.
func (f *fileFilter) named(path string) bool { return f.name == "" || view.Named(path, f.name) }

// on tells whether a file system is on the device that is asked for.
func (f *fileFilter) on(dev host.DevNumber) bool {
	return f.device == "" || f.disks.Of(dev) == f.device
}

// processesOf are the processes that a filter names: all that is given must
// hold. pids are those of --pid.
func processesOf(h *host.Host, c *cobra.Command, pids []int, comm, cgroup string) ([]int, error) {
	var lists [][]int
	if len(pids) > 0 {
		lists = append(lists, slices.Clone(pids))
	}
	if c.Flags().Changed("cgroup") {
		inside, err := cgroupOf(h, cgroup)
		if err != nil {
			return nil, err
		}
		list := h.Below(inside)
		if len(list) == 0 {
			return nil, fmt.Errorf("looking for files of cgroup %q: no process is in it or below it; what it has read may still be cached: try iocause resident --all", inside)
		}
		lists = append(lists, list)
	}
	if c.Flags().Changed("comm") {
		name, err := commOf(comm)
		if err != nil {
			return nil, err
		}
		list, err := h.Named(name)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("looking for processes named %q: none runs; see 'ps -e -o comm'", comm)
		}
		lists = append(lists, list)
	}
	var wanted []int
	for i, list := range lists {
		if i == 0 {
			wanted = list
			continue
		}
		wanted = slices.DeleteFunc(wanted, func(pid int) bool { return !slices.Contains(list, pid) })
	}
	if len(lists) > 0 && len(wanted) == 0 {
		return nil, errors.New("looking for the processes: none is all that is asked for; leave out one of --pid, --comm and --cgroup")
	}
	return wanted, nil
}

// found leaves out files that are not asked for.
func (f *fileFilter) found(all *residency.Found) *residency.Found {
	if all == nil || !f.narrow() {
		return all
	}
	some := *all
	some.Files = slices.DeleteFunc(slices.Clone(all.Files), func(x residency.File) bool {
		whole, err := filepath.Abs(x.Path)
		return err != nil || !f.named(whole) || !f.on(x.ID.Number())
	})
	return &some
}
