package host

import (
	"bytes"
	"fmt"
	"slices"
)

// Pairs reads lines of a name and a number. want says where the number belongs, nil
// for lines that are not read.
func Pairs(b []byte, want func(key []byte) *(*uint64)) error {
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = Line(b)
		key, rest := Field(line)
		to := want(key)
		if to == nil {
			continue
		}
		f, _ := Field(rest)
		v, ok := Uint(f)
		if !ok {
			return &LineError{Line: n, What: fmt.Sprintf("%s %.40q is not a number", key, f)}
		}
		*to = &v
	}
	return nil
}

// Amounts reads lines such as "MemFree:  12 kB" of /proc/meminfo, /proc/PID/status
// and smaps_rollup, in bytes. want says where the amount behind a key belongs, nil
// for lines that are not read.
func Amounts(b []byte, want func(key []byte) *(*uint64)) error {
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = Line(b)
		key, rest := Field(line)
		name, isKey := bytes.CutSuffix(key, []byte(":"))
		if !isKey {
			continue
		}
		to := want(name)
		if to == nil {
			continue
		}
		f, rest := Field(rest)
		unit, _ := Field(rest)
		v, ok := Uint(f)
		if !ok || v >= 1<<54 || string(unit) != "kB" {
			return &LineError{Line: n, What: fmt.Sprintf("%s %.40q %.10q is not an amount in kB", key, f, unit)}
		}
		v *= 1024
		*to = &v
	}
	return nil
}

// Meminfo reads lines of /proc/meminfo by their names, in bytes; nil is not there.
func (h *Host) Meminfo(names ...string) ([]*uint64, error) {
	b, err := Read(h.Proc("meminfo"), nil)
	if err != nil {
		return make([]*uint64, len(names)), fmt.Errorf("reading the use of memory: %w", err)
	}
	found := make([]*uint64, len(names))
	err = Amounts(b, func(key []byte) **uint64 {
		if at := slices.Index(names, string(key)); at >= 0 {
			return &found[at]
		}
		return nil
	})
	return found, In("/proc/meminfo", err)
}
