package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
)

// keep notes what a file of /proc or /sys holds, if wanted of what that is, before it is
// set. What another run has set is refused: what it holds then is that run's value, which
// would come back at the end and stay for ever.
func (j *journal) keep(h *host.Host, path string, wanted func(old string) bool) (kept bool, err error) {
	unlock, err := lockFolder(filepath.Dir(j.path))
	if err != nil {
		return false, err
	}
	defer unlock()
	if err := j.setByOthers(h, path); err != nil {
		return false, err
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return false, fmt.Errorf("keep the old value: %w", err)
	}
	value := string(bytes.TrimSpace(old))
	if !wanted(value) {
		return false, nil
	}
	return true, j.add(record{Kind: "file", Path: path, Value: value})
}

// setByOthers fails for a file that is in the journal of another run, be it one that has
// died since: its value is to come back yet.
func (j *journal) setByOthers(h *host.Host, path string) error {
	journals, err := filepath.Glob(filepath.Join(filepath.Dir(j.path), Prefix+"*.journal"))
	if err != nil {
		return fmt.Errorf("find lab journals: %w", err)
	}
	for _, other := range journals {
		if other == j.path {
			continue
		}
		run, records, err := readJournal(other)
		if errors.Is(err, os.ErrNotExist) { // it has just ended
			continue
		}
		if err != nil {
			return err
		}
		if run.Value != bootID(h) {
			continue
		}
		for _, r := range records {
			if r.Kind == "file" && settingOf(r.Path) == settingOf(path) {
				return fmt.Errorf("%s is set by another run of the lab (%s): wait for it to end; what a killed one left is undone when the next 'iocause lab' command starts", path, strings.TrimSuffix(filepath.Base(other), ".journal"))
			}
		}
	}
	return nil
}

// settingOf is one name for the two files of a setting that is said in bytes or as a ratio.
func settingOf(path string) string {
	dir, name := filepath.Split(path)
	if strings.HasPrefix(name, "dirty_") {
		name = strings.TrimSuffix(strings.TrimSuffix(name, "_ratio"), "_bytes")
	}
	return dir + name
}

// lockFolder keeps other runs from changing what journals say for a moment.
func lockFolder(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("lock the lab journals: %w", err)
	}
	err = patiently(func() error {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) {
			return unix.EBUSY
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the lab journals in %s: %w", dir, err), f.Close())
	}
	return func() { _ = f.Close() }, nil // which lets go of the lock
}
