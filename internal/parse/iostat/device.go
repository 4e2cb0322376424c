package iostat

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// putDevice turns the rates and means of a report into the counters that
// /proc/diskstats has: requests, their bytes and their times.
func (r *reader) putDevice(d *record, into lines.Values) {
	into.At(d.line)
	e := sample.Entity{Device: d.device}
	put := func(m sample.Metric, v float64) { into.Put(m, e, v*r.every) }
	get := func(of ...column) (float64, bool) {
		for _, c := range of {
			if v, ok := d.get(c); ok {
				return v * c.unit(), true
			}
		}
		return 0, false
	}
	readOps, ok := get(reads)
	if ok {
		put(sample.DiskReads, readOps)
	} else if _, sums := get(both); sums { // -s
		r.sums = true
	}
	writeOps, hasWrites := get(writes)
	if hasWrites {
		put(sample.DiskWrites, writeOps)
	}
	if v, ok := get(readKB, readMB, readSectors, readKBShort, readMBShort, readBlocks); ok {
		put(sample.DiskReadBytes, v)
	}
	if v, ok := get(writtenKB, writtenMB, writtenSectors, writtenKBShort, writtenMBShort, writtenBlocks, writtenKBSums, writtenMBSums); ok {
		put(sample.DiskWriteBytes, v)
	}
	if v, ok := get(flushes); ok {
		put(sample.DiskFlushes, v)
		if t, ok := get(flushWait); ok {
			put(sample.DiskFlushTime, v*t/1e3)
		}
	}
	if v, ok := get(discards); ok {
		put(sample.DiskDiscards, v)
		if t, ok := get(discardWait); ok {
			put(sample.DiskDiscardTime, v*t/1e3)
		}
	}
	if v, ok := get(readWait, wait); ok && !r.sums {
		put(sample.DiskReadTime, readOps*v/1e3)
	}
	if v, ok := get(writeWait, wait); ok && !r.sums {
		put(sample.DiskWriteTime, writeOps*v/1e3)
	}
	if v, ok := get(queue, queueOld); ok {
		put(sample.DiskWeighted, v)
	}
	if v, ok := get(busy, busyJSON); ok {
		put(sample.DiskBusy, min(v/100, 1))
	}
}

// json reads -o JSON as iostat prints it, one object a line.
func (r *reader) json(text string, n int, into lines.Values) (lines.Use, error) {
	if strings.IndexByte(text, '"') < 0 && strings.IndexByte("{}[],", text[0]) < 0 {
		return lines.Foreign, nil
	}
	at := strings.IndexByte(text, '{')
	switch {
	case strings.HasPrefix(text, `"avg-cpu"`), strings.HasPrefix(text, `{"avg-cpu"`):
		r.flush(into)
		at = strings.LastIndexByte(text, '{')
	case strings.Contains(text, `"disk_device"`):
	case strings.HasPrefix(text, `"timestamp"`):
		r.flush(into)
		return lines.Skipped, nil
	case text[0] == '"' || strings.Trim(text, "{}[], ") == "":
		return lines.Skipped, nil
	default:
		return lines.Foreign, nil
	}
	if at < 0 {
		return lines.Broken, fmt.Errorf("no object in %.20q", text)
	}
	var fields map[string]any
	if err := json.NewDecoder(strings.NewReader(text[at:])).Decode(&fields); err != nil {
		return lines.Broken, fmt.Errorf("reading the JSON: %w", err)
	}
	v := record{line: n}
	for name, x := range fields {
		switch x := x.(type) {
		case float64:
			v.set(columnOf(name), max(0, x))
		case string:
			v.device = x
		}
	}
	if v.device == "" {
		r.cpu, r.hasCPU = v, true
	} else {
		r.devices = append(r.devices, v)
	}
	return lines.Used, nil
}

// stamped reads the line that -t puts before every report. Of the layouts the one of
// the line before comes first: a text has one, and day and month may look alike.
func (r *reader) stamped(s string) (time.Time, bool) {
	if len(s) < 16 || len(s) > 48 || s[0] < '0' || s[0] > '9' {
		return time.Time{}, false
	}
	for _, layout := range []string{r.layout, "01/02/2006 03:04:05 PM", "01/02/06 15:04:05", "01/02/2006 15:04:05", "2006-01-02T15:04:05-0700", "2006-01-02 15:04:05", "02.01.2006 15:04:05", "02/01/2006 15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			r.layout = layout
			return t, true
		}
	}
	return lines.Clock(s)
}
