package lab

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Mount mounts a tmpfs, or an overlay over the folder lower, below the scratch
// folder and gives the folder.
func (e *Env) Mount(name, fs, lower string) (string, error) {
	dir := filepath.Join(e.scratch, name)
	made := []string{dir}
	options := "mode=0700"
	switch fs {
	case "tmpfs":
	case "overlay":
		upper, work := dir+"upper", dir+"work"
		made = append(made, upper, work)
		options = fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", lower, upper, work)
	default:
		return "", fmt.Errorf("no file system to mount is called %q: tmpfs or overlay", fs)
	}
	for _, d := range made {
		if err := os.Mkdir(d, 0o700); err != nil {
			return "", fmt.Errorf("make a folder for a mount: %w", err)
		}
	}
	if err := e.journal.add(record{Kind: "mount", Path: dir}); err != nil {
		return "", err
	}
	if err := unix.Mount(fs, dir, fs, 0, options); err != nil {
		return "", fmt.Errorf("mount %s on %s: %w", fs, dir, err)
	}
	return dir, nil
}

// Overlay mounts an overlay over the folder "lower" of base, whose upper folder is
// beside that, and gives where it is.
func (e *Env) Overlay(name, base string) (string, error) {
	dir := filepath.Join(e.scratch, name)
	lower, upper, work := filepath.Join(base, "lower"), filepath.Join(base, "upper"), filepath.Join(base, "work")
	for _, d := range []string{dir, upper, work} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return "", fmt.Errorf("make a folder for a mount: %w", err)
		}
	}
	if err := e.journal.add(record{Kind: "mount", Path: dir}); err != nil {
		return "", err
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", lower, upper, work)
	if err := unix.Mount("overlay", dir, "overlay", 0, options); err != nil {
		return "", fmt.Errorf("mount an overlay on %s: %w", dir, err)
	}
	return dir, nil
}
