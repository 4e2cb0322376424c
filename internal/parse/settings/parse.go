// Package settings reads what a text says of the machine: settings of the
// memory management as sysctl(8) prints them, and how much memory there is in
// all and to be had, as tools and people write it.
package settings

import (
	"fmt"
	"regexp"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

var (
	setting = regexp.MustCompile(`\bvm\.([a-z_]+) ?[=:] ?(\d+)(?:\b| ?%)`)
	memory  = regexp.MustCompile(`(?i)\b(available|total|free)(?: memory)? *: *(\d+(?:\.\d+)?) ?([kMG]i?B)\b`)
)

// Find says where in a line a setting or an amount of memory stands.
func Find(line string) int {
	if strings.Contains(line, "vm.") {
		if at := setting.FindStringIndex(line); at != nil {
			return 0
		}
	}
	if strings.Contains(line, "vailable") || strings.Contains(line, "total memory") {
		if at := memory.FindStringIndex(line); at != nil {
			return 0
		}
	}
	return -1
}

type reader struct{ said map[sample.Metric]float64 }

// New makes a reader.
func New(string) lines.Reader { return &reader{said: map[sample.Metric]float64{}} }

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, into lines.Values) (lines.Use, error) {
	if strings.TrimSpace(l.Text) == "" {
		return lines.Skipped, nil
	}
	amounts := memory.FindAllStringSubmatch(l.Text, 8)
	settings := setting.FindAllStringSubmatch(l.Text, 8)
	swap := strings.HasPrefix(strings.TrimSpace(l.Text), "total swap")
	if swap {
		return lines.Skipped, nil
	}
	if len(amounts) == 0 && len(settings) == 0 {
		return lines.Foreign, nil
	}
	type amount struct {
		metric sample.Metric
		bytes  float64
	}
	var found []amount
	for _, m := range amounts {
		metric := map[string]sample.Metric{"available": sample.MemAvailable, "total": sample.MemTotal, "free": sample.MemFree}[strings.ToLower(m[1])]
		v, ok := lines.Binary(m[2]+m[3], 1)
		if !ok {
			return lines.Broken, fmt.Errorf("%s memory is %.20q %s, not an amount", m[1], m[2], m[3])
		}
		if old, ok := r.said[metric]; ok && old != v {
			return lines.Another, nil
		}
		found = append(found, amount{metric, v})
	}
	into.State()
	for _, a := range found {
		if _, ok := r.said[a.metric]; !ok {
			into.Put(a.metric, sample.Entity{}, a.bytes)
		}
		r.said[a.metric] = a.bytes
	}
	for _, m := range settings {
		v, ok := lines.Number(m[2])
		if !ok {
			return lines.Broken, fmt.Errorf("vm.%s is %.20q, not a number", m[1], m[2])
		}
		into.Put(sample.Sysctl, sample.Entity{Class: m[1]}, v)
	}
	return lines.Used, nil
}

// Close implements lines.Reader.
func (r *reader) Close(lines.Values) {}
