package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"iocause/internal/diagnose"
)

// cause is something to be planted.
type cause struct {
	id    string   // what the diagnosis calls it
	what  string   // for people
	also  []string // what may be named first instead, as long as id is named
	plant func(*day) (undo func() error, err error)

	culprit func(*day) string // is in the name or cgroup of who is named for id
}

func causes() []cause {
	return []cause{
		{id: string(diagnose.CacheSqueezed), what: "a program beside the database takes the memory of its cache", also: []string{string(diagnose.CgroupCacheLimit)}, plant: squeeze,
			culprit: func(d *day) string { return fmt.Sprintf("%.15s", filepath.Base(d.bin)) }},
		{id: string(diagnose.NoisyNeighbour), what: "a backup writes to the same disk", also: []string{string(diagnose.DeviceBandwidthLimit), string(diagnose.SyncWrites)}, plant: neighbour,
			culprit: func(*day) string { return "backup" }},
		// Both are true of it: a setting is another one, and the kernel writes all the time.
		{id: string(diagnose.WritebackInterference), what: "less may be dirty, and a bulk load dirties more", also: []string{string(diagnose.HostDifference), string(diagnose.SyncWrites)}, plant: bulk,
			culprit: func(*day) string { return "bulk" }},
		{id: string(diagnose.CgroupIOThrottle), what: "the disk becomes slow for the database", plant: slow,
			culprit: func(d *day) string { return filepath.Base(d.dir) }},
	}
}

// squeeze takes memory of the database's cgroup.
func squeeze(d *day) (func() error, error) {
	p, err := start("eat", d.group, nil, d.bin, "lab", "eat", strconv.Itoa(eatMiB)+"M", "--force")
	if err != nil {
		return nil, err
	}
	return p.stop, nil
}

// neighbour writes past the cache, much at a time.
func neighbour(d *day) (func() error, error) {
	path := filepath.Join(d.dir, "backup")
	p, err := start("backup", nil, nil, d.bin, "lab", "load", "direct-write", "--path", path, "--size", "4G", "--bs", "1M", "--threads", "48",
		"--duration", "24h", "--comm", "backup")
	if err != nil {
		return nil, err
	}
	return func() error { return errors.Join(p.stop(), os.Remove(path)) }, nil
}

// bulk allows few dirty pages, and makes more.
func bulk(d *day) (func() error, error) {
	restore, err := setDirty(dirtyBytes)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(d.dir, "bulk")
	p, err := start("bulk", nil, nil, d.bin, "lab", "load", "randwrite", "--path", path, "--size", "4G", "--bs", "4k", "--threads", "4",
		"--duration", "24h", "--comm", "bulk")
	if err != nil {
		return nil, errors.Join(err, restore())
	}
	return func() error { return errors.Join(p.stop(), restore(), os.Remove(path)) }, nil
}

// setDirty sets how much may be dirty, and tells how to set it back: of bytes
// and ratio the kernel keeps the one that was set last.
func setDirty(bytes int) (restore func() error, err error) {
	const dir = "/proc/sys/vm/"
	old := map[string]string{}
	for _, name := range []string{"dirty_bytes", "dirty_background_bytes", "dirty_ratio", "dirty_background_ratio"} {
		b, err := os.ReadFile(dir + name)
		if err != nil {
			return nil, err
		}
		old[name] = strings.TrimSpace(string(b))
	}
	set := func(name, value string) error {
		if err := os.WriteFile(dir+name, []byte(value), 0o644); err != nil {
			return fmt.Errorf("setting vm.%s: %w", name, err)
		}
		return nil
	}
	restore = func() error {
		var err error
		for _, x := range [][2]string{{"dirty_background_bytes", "dirty_background_ratio"}, {"dirty_bytes", "dirty_ratio"}} {
			name := x[0]
			if old[name] == "0" {
				name = x[1]
			}
			err = errors.Join(err, set(name, old[name]))
		}
		return err
	}
	if err := errors.Join(set("dirty_background_bytes", strconv.Itoa(bytes/4)), set("dirty_bytes", strconv.Itoa(bytes))); err != nil {
		return nil, errors.Join(err, restore())
	}
	return restore, nil
}

// slow lets the database's disk do few operations a second.
func slow(d *day) (func() error, error) {
	disk, err := diskOf(d.dir)
	if err != nil {
		return nil, err
	}
	return func() error { return d.group.limitIO(disk, 0) }, d.group.limitIO(disk, slowOps)
}
