// Package pprof writes profiles for 'go tool pprof' and what else reads its
// format: two figures for each stack, time in nanoseconds and a count, with the
// labels state, thread and process. It reads those that others wrote, too.
package pprof

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/google/pprof/profile"

	"iocause/internal/sample"
)

// Write writes a profile, packed with gzip.
func Write(w io.Writer, p *sample.Profile) error {
	out := &profile.Profile{
		SampleType: []*profile.ValueType{
			{Type: p.Counts, Unit: "count"},
			{Type: "time", Unit: "nanoseconds"},
		},
		DefaultSampleType: "time",
		PeriodType:        &profile.ValueType{Type: "time", Unit: "nanoseconds"},
		Period:            1,
		TimeNanos:         p.Begin.UnixNano(),
		DurationNanos:     p.Length.Nanoseconds(),
		Comments:          append([]string{p.Title}, p.Notes...),
	}
	if p.Unit != "" { // there is no time to show
		out.SampleType[0].Type = p.Unit
		out.DefaultSampleType = p.Unit
		out.PeriodType = out.SampleType[0]
	}
	b := &builder{out: out, functions: map[sample.Frame]*profile.Location{}, mappings: map[string]*profile.Mapping{}}
	for i := range p.Stacks {
		s := &p.Stacks[i]
		one := &profile.Sample{
			Value: []int64{int64(s.Count), s.Time.Nanoseconds()},
			Label: map[string][]string{"process": {s.Process}},
		}
		for key, value := range map[string]string{"state": s.State, "thread": s.Thread} {
			if value != "" {
				one.Label[key] = []string{value}
			}
		}
		if s.PID != 0 {
			one.NumLabel = map[string][]int64{"pid": {int64(s.PID)}, "tid": {int64(s.TID)}}
		}
		for j := len(s.Frames) - 1; j >= 0; j-- { // the innermost comes first
			one.Location = append(one.Location, b.location(*s.Frames[j]))
		}
		one.Location = append(one.Location, b.location(sample.Frame{Name: s.Process}))
		out.Sample = append(out.Sample, one)
	}
	if err := out.CheckValid(); err != nil {
		return fmt.Errorf("making a pprof profile: %w", err)
	}
	z := gzip.NewWriter(w)
	z.Comment = mark
	if err := errors.Join(out.WriteUncompressed(z), z.Close()); err != nil {
		return fmt.Errorf("writing a pprof profile: %w", err)
	}
	return nil
}

// mark is in the head of the packed file, which readers of profiles pass over.
const mark = "iocause"

// IsOurs tells from its beginning whether a file was written by Write.
func IsOurs(first []byte) bool {
	z, err := gzip.NewReader(bytes.NewReader(first))
	return err == nil && z.Comment == mark
}

type builder struct {
	out       *profile.Profile
	functions map[sample.Frame]*profile.Location
	mappings  map[string]*profile.Mapping
}

// location is one for each function: pprof wants an address, and ours are of
// many processes, so each gets a number of its own.
func (b *builder) location(f sample.Frame) *profile.Location {
	if l := b.functions[f]; l != nil {
		return l
	}
	id := uint64(len(b.out.Function) + 1)
	fn := &profile.Function{ID: id, Name: f.Name, SystemName: f.Name, Filename: f.Module}
	if fn.Name == "" {
		fn.Name = "?" + strconv.FormatUint(id, 10)
	}
	l := &profile.Location{ID: id, Address: id, Mapping: b.mapping(f), Line: []profile.Line{{Function: fn}}}
	b.out.Function, b.out.Location = append(b.out.Function, fn), append(b.out.Location, l)
	b.functions[f] = l
	return l
}

// mapping says that functions have their names, so that no tool looks for the
// files: those were of the machine that was watched.
func (b *builder) mapping(f sample.Frame) *profile.Mapping {
	file := f.File
	if file == "" {
		file = f.Module
	}
	if m := b.mappings[file]; m != nil {
		return m
	}
	m := &profile.Mapping{ID: uint64(len(b.out.Mapping) + 1), File: file, HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}
	b.out.Mapping = append(b.out.Mapping, m)
	b.mappings[file] = m
	return m
}
