// Package pprof reads profiles of pprof, and the texts that came before that format.
package pprof

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"iocause/internal/sample"
)

// mostBytes bounds an unpacked profile: the format is read as a whole.
const mostBytes = 256 << 20

// ErrLarge is a profile that would take too much memory.
var ErrLarge = errors.New("the profile is too large")

// Looks tells whether a file that begins like this may be a profile: it is
// packed with gzip, begins with the field for the types of its values, or is one
// of the texts that came before that format (debug=1 of Go's net/http/pprof,
// tcmalloc and jemalloc), whose lines would pass for folded stacks.
func Looks(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\x1f\x8b")) || len(head) > 2 && head[0] == 0x0a && head[2] == 0x08 || isText(head)
}

func isText(head []byte) bool {
	first, _, _ := bytes.Cut(head, []byte("\n"))
	for _, begin := range []string{
		"heap profile:", "heap_v2/", "goroutine profile: total ", "threadcreate profile: total ",
		"--- contention", "--- mutex:", "--- heap", "--- growth",
	} {
		if bytes.HasPrefix(first, []byte(begin)) {
			return true
		}
	}
	return false
}

// Read reads a profile, packed with gzip or not. kind is the value to add up,
// by its type ("cpu", "alloc_space"); "" is the default one. Times are kept as
// such, anything else is counted.
func Read(r io.Reader, kind string) (*sample.Profile, error) {
	packedBytes := &counted{Reader: r}
	in := bufio.NewReader(packedBytes)
	var from io.Reader = in
	if head, _ := in.Peek(2); bytes.Equal(head, []byte("\x1f\x8b")) {
		packed, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("unpacking: %w", err)
		}
		from = &believed{Reader: packed, packed: packedBytes}
	}
	data, err := io.ReadAll(io.LimitReader(from, mostBytes+1))
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	if len(data) > mostBytes {
		return nil, fmt.Errorf("%w: more than %d MiB", ErrLarge, mostBytes>>20)
	}
	p, err := profile.ParseUncompressed(data)
	text := isText(data)
	if text {
		p, err = profile.ParseData(data)
	}
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return nil, err
	}
	at, err := valueOf(p, kind)
	if err != nil {
		return nil, err
	}
	out := profileOf(p, at)
	if text {
		out.Notes = append(out.Notes, "this text has addresses and no function names: fetch the profile without debug=1")
	}
	return out, nil
}

// counted counts the bytes that were read.
type counted struct {
	io.Reader
	n int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += int64(n)
	return n, err
}

// believed ends what unpacks to more than any profile does, which is some ten
// times its size.
type believed struct {
	io.Reader
	packed *counted
	n      int64
}

const (
	mostRatio  = 100
	spareBytes = 1 << 20
)

func (u *believed) Read(b []byte) (int, error) {
	n, err := u.Reader.Read(b)
	if u.n += int64(n); u.n > spareBytes+mostRatio*u.packed.n {
		return n, fmt.Errorf("%w: %d bytes unpack to more than %d", ErrLarge, u.packed.n, u.n)
	}
	return n, err
}

// valueOf is the place of the value to add up.
func valueOf(p *profile.Profile, kind string) (int, error) {
	if len(p.SampleType) == 0 {
		return 0, errors.New("its samples have no values")
	}
	var names []string
	for i, t := range p.SampleType {
		if kind != "" && t.Type == kind {
			return i, nil
		}
		names = append(names, t.Type)
	}
	if kind != "" {
		return 0, fmt.Errorf("it has no value %q; it has %s", kind, strings.Join(names, ", "))
	}
	if i := slices.Index(names, p.DefaultSampleType); i >= 0 {
		return i, nil
	}
	return len(names) - 1, nil // as pprof chooses
}

// unit is how long one of a value's unit is, 0 if it is no time.
func unit(name string) time.Duration {
	switch strings.TrimSuffix(strings.ToLower(name), "s") {
	case "nanosecond", "n":
		return time.Nanosecond
	case "microsecond", "u":
		return time.Microsecond
	case "millisecond", "m":
		return time.Millisecond
	case "second":
		return time.Second
	}
	return 0
}

func profileOf(p *profile.Profile, at int) *sample.Profile {
	t := p.SampleType[at]
	scale := unit(t.Unit)
	out := &sample.Profile{
		Counts: "values", Begin: time.Unix(0, p.TimeNanos), Length: time.Duration(max(p.DurationNanos, 0)),
	}
	if scale == 0 {
		out.Unit = t.Type
	}
	count := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Unit == "count" })
	if count >= 0 {
		out.Counts = p.SampleType[count].Type
	}
	program := "?"
	if len(p.Mapping) > 0 && p.Mapping[0].File != "" {
		program = path.Base(p.Mapping[0].File)
	}
	frames := map[*profile.Line]*sample.Frame{}
	addresses := map[*profile.Location]*sample.Frame{}
	below := 0
	for _, s := range p.Sample {
		if s.Value[at] < 0 {
			below++
			continue
		}
		one := sample.Stack{Process: program, Count: 1, State: first(s.Label["state"]), Thread: first(s.Label["thread"])}
		if scale == 0 {
			one.Count = uint64(s.Value[at])
		} else {
			const longest = int64(1) << 62
			one.Time = time.Duration(min(s.Value[at], longest/int64(scale))) * scale
			if count >= 0 {
				one.Count = uint64(max(s.Value[count], 0))
			}
		}
		for i := len(s.Location) - 1; i >= 0; i-- { // the innermost comes first
			one.Frames = append(one.Frames, framesOf(s.Location[i], frames, addresses)...)
		}
		if name := first(s.Label["process"]); name != "" {
			one.Process = name
			if len(one.Frames) > 0 && one.Frames[0].Name == name { // as Write does it
				one.Frames = one.Frames[1:]
			}
		}
		if !slices.Contains(out.States, one.State) {
			out.States = append(out.States, one.State)
		}
		out.Stacks = append(out.Stacks, one)
	}
	out.Notes = append(out.Notes, fmt.Sprintf("values are %s, in %s", t.Type, t.Unit))
	if below > 0 {
		out.Notes = append(out.Notes, sample.Counted(below, "sample")+" with negative values, as in a difference, left out")
	}
	return out
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}

// framesOf are the functions of a place, outermost first: several where the
// compiler put one into the other.
func framesOf(l *profile.Location, known map[*profile.Line]*sample.Frame, addresses map[*profile.Location]*sample.Frame) []*sample.Frame {
	file := ""
	if l.Mapping != nil {
		file = l.Mapping.File
	}
	kernel := strings.HasPrefix(file, "[kernel") || path.Base(file) == "vmlinux" || file == "kernel"
	if len(l.Line) == 0 {
		f := addresses[l]
		if f == nil {
			f = &sample.Frame{Name: fmt.Sprintf("0x%x", l.Address), Module: path.Base(file), File: file, Kernel: kernel}
			addresses[l] = f
		}
		return []*sample.Frame{f}
	}
	var out []*sample.Frame
	for i := len(l.Line) - 1; i >= 0; i-- {
		line := &l.Line[i]
		f := known[line]
		if f == nil {
			name := "?"
			if line.Function != nil && line.Function.Name != "" {
				name = line.Function.Name
			}
			f = &sample.Frame{Name: name, Module: path.Base(file), File: file, Kernel: kernel}
			known[line] = f
		}
		out = append(out, f)
	}
	return out
}
