package advice

import (
	"path"
	"strconv"
	"strings"
)

const ioThrottle = "cgroup-io-throttle" // the cause of diagnose

// Least is by how many times as much the program does after what was changed, at least;
// 0: not known. What was predicted is about a limit of I/O that holds nothing back any
// more; one that was only raised lets through as many times as much as it is higher.
func (e *Entry) Least() float64 {
	if e.Cause != ioThrottle { // then it is a limit of somebody else
		return e.Low
	}
	first, last := map[string]string{}, map[string]string{}
	for _, c := range e.Changes { // oldest first
		if _, ok := first[c.What]; !ok {
			first[c.What] = c.From
		}
		last[c.What] = c.To
	}
	raised := 0.0 // the least of all limits of I/O that were changed
	for file, text := range first {
		before, after := ioLimits(file, text), ioLimits(file, last[file])
		if before == nil {
			return e.Low // other things were changed, too
		}
		for what, limit := range before {
			if then := after[what]; then > limit && (raised == 0 || then/limit < raised) {
				raised = then / limit
			}
		}
	}
	if raised > 0 && raised < e.Low {
		return raised
	}
	return e.Low
}

// ioLimits are the limits of I/O that a file of a cgroup sets, a second, by device and
// kind; nil where it is another file.
func ioLimits(file, text string) map[string]float64 {
	name := path.Base(file)
	v1 := strings.HasPrefix(name, "blkio.throttle.")
	if !v1 && name != "io.max" {
		return nil
	}
	all, device := map[string]float64{}, ""
	for _, word := range strings.Fields(text) {
		kind, value, is := strings.Cut(word, "=")
		if !is && strings.Contains(word, ":") {
			device = word
			continue
		}
		if !is {
			kind, value = name, word
		}
		if n, err := strconv.ParseFloat(value, 64); err == nil && n > 0 { // else max
			all[device+" "+kind] = n
		}
	}
	return all
}
