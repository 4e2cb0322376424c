// Package summaries keeps the hours of signals in files, one for each month,
// to which hours are appended. docs/baselines.md describes them.
package summaries

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"iocause/internal/sample"
	"iocause/internal/store/frames"
)

// magic is the first line of a file.
const magic = "iocause-hours 1\n"

// suffix ends the names of the files: 2026-11.hours.
const suffix = ".hours"

// Limits of what a reader believes.
const (
	mostBytes = 64 << 20 // of a file
	mostName  = 256      // bytes of a signal's name
)

// keptMonths is how many files Prune leaves: thirteen months and the one that
// has begun. They are counted, so that a clock that was wrong deletes nothing.
const keptMonths = 14

// ErrFormat is a file that holds no hours.
var ErrFormat = errors.New("not a baseline file of iocause")

// Append adds hours to the files of a folder, which it makes. They are on the
// disk when it returns.
func Append(dir string, hours []sample.Hour) error {
	byMonth := map[string][]sample.Hour{}
	for _, h := range hours {
		name := h.Start.UTC().Format("2006-01") + suffix
		byMonth[name] = append(byMonth[name], h)
	}
	if len(byMonth) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("creating the directory of baselines: %w", err)
	}
	for name, hours := range byMonth {
		if err := appendTo(filepath.Join(dir, name), hours); err != nil {
			return fmt.Errorf("keeping hours of the baselines: %w", err)
		}
	}
	return nil
}

func appendTo(name string, hours []sample.Hour) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var b []byte
	if info.Size() == 0 {
		b = append(b, magic...)
	}
	if _, err := f.Write(frames.Append(b, encode(hours))); err != nil {
		// the disk is full, most likely: half a record helps nobody
		return errors.Join(err, f.Truncate(info.Size()))
	}
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Truncate(info.Size())) // it is appended again
	}
	return f.Close()
}

// encode writes for each hour: the length of the signal's name and the name;
// the start in Unix seconds; the samples; those that were off (LEB128 all,
// the start zigzag coded); the five quantiles and the worst minute as 32-bit
// floats, little-endian.
func encode(hours []sample.Hour) []byte {
	var b []byte
	for _, h := range hours {
		name := h.Signal[:min(len(h.Signal), mostName)]
		b = binary.AppendUvarint(b, uint64(len(name)))
		b = append(b, name...)
		b = binary.AppendVarint(b, h.Start.Unix())
		b = binary.AppendUvarint(b, uint64(max(h.N, 0)))
		b = binary.AppendUvarint(b, uint64(max(h.Alarmed, 0)))
		for _, q := range append(h.Q[:], h.Extreme) {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(q)))
		}
	}
	return b
}

// errHours is a frame that holds no hours, though its checksum is right.
var errHours = errors.New("a record of hours is invalid")

func decode(b []byte) ([]sample.Hour, error) {
	var hours []sample.Hour
	for len(b) > 0 {
		var h sample.Hour
		length, n := binary.Uvarint(b)
		if n <= 0 || length > mostName || uint64(len(b)-n) < length {
			return hours, errHours
		}
		h.Signal = string(b[n : n+int(length)])
		b = b[n+int(length):]
		start, n := binary.Varint(b)
		if n <= 0 {
			return hours, errHours
		}
		b = b[n:]
		h.Start = time.Unix(start, 0)
		for _, to := range []*int{&h.N, &h.Alarmed} {
			v, n := binary.Uvarint(b)
			if n <= 0 || v > math.MaxInt32 {
				return hours, errHours
			}
			*to, b = int(v), b[n:]
		}
		const floats = 4 * 6
		if len(b) < floats {
			return hours, errHours
		}
		for i := range h.Q {
			h.Q[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		}
		h.Extreme = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*5:])))
		b = b[floats:]
		hours = append(hours, h)
	}
	return hours, nil
}

// Read calls f for every hour of a folder, in the order that they were kept
// in. It returns what could not be read, for people; what is left was read.
// An error that wraps fs.ErrNotExist is a folder that is not there.
func Read(dir string, f func(sample.Hour)) (lost []string, err error) {
	names, err := list(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		lost = append(lost, readFile(filepath.Join(dir, name), f)...)
	}
	return lost, nil
}

// list are the files of a folder, oldest first.
func list(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the directory of baselines: %w", err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

func readFile(name string, f func(sample.Hour)) (lost []string) {
	data, err := read(name)
	if err != nil {
		return []string{fmt.Sprintf("reading hours of the baselines: %v", err)}
	}
	body, ok := strings.CutPrefix(string(data), magic)
	if !ok {
		return []string{fmt.Sprintf("reading hours of the baselines: %s: %v", name, ErrFormat)}
	}
	bad := 0
	for _, l := range frames.Read([]byte(body), int64(len(magic)), func(p []byte) {
		hours, err := decode(p)
		if err != nil {
			bad++
		}
		for _, h := range hours {
			f(h)
		}
	}) {
		lost = append(lost, fmt.Sprintf("%s is damaged: %s are lost", name, l))
	}
	if bad > 0 {
		lost = append(lost, fmt.Sprintf("%s: %d of its records are invalid", name, bad))
	}
	return lost
}

func read(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > mostBytes:
		return nil, fmt.Errorf("reading hours of the baselines: %s has more than %d MiB, so iocause did not write it; move it away", name, mostBytes>>20)
	}
	return data, nil
}

// Prune deletes what is older than thirteen months.
func Prune(dir string) error {
	names, err := list(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var all []error
	for i := 0; i < len(names)-keptMonths; i++ {
		if err := os.Remove(filepath.Join(dir, names[i])); err != nil {
			all = append(all, fmt.Errorf("deleting old hours of the baselines: %w", err))
		}
	}
	return errors.Join(all...)
}
