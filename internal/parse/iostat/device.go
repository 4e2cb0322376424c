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
	get := func(names ...string) (float64, bool) {
		for _, n := range names {
			if v, ok := d.values[n]; ok {
				return v * max(1, rateUnit(n)), true
			}
		}
		return 0, false
	}
	reads, ok := get("r/s")
	if ok {
		put(sample.DiskReads, reads)
	} else if _, sums := d.values["kB/s"]; sums { // -s
		r.sums = true
	}
	writes, hasWrites := get("w/s")
	if hasWrites {
		put(sample.DiskWrites, writes)
	}
	if v, ok := get("rkB/s", "rMB/s", "rsec/s", "kB_read/s", "MB_read/s", "Blk_read/s"); ok {
		put(sample.DiskReadBytes, v)
	}
	if v, ok := get("wkB/s", "wMB/s", "wsec/s", "kB_wrtn/s", "MB_wrtn/s", "Blk_wrtn/s", "kB_w+d/s", "MB_w+d/s"); ok {
		put(sample.DiskWriteBytes, v)
	}
	if v, ok := get("f/s"); ok {
		put(sample.DiskFlushes, v)
		if t, ok := get("f_await"); ok {
			put(sample.DiskFlushTime, v*t/1e3)
		}
	}
	if v, ok := get("r_await", "await"); ok && !r.sums {
		put(sample.DiskReadTime, reads*v/1e3)
	}
	if v, ok := get("w_await", "await"); ok && !r.sums {
		put(sample.DiskWriteTime, writes*v/1e3)
	}
	if v, ok := get("aqu-sz", "avgqu-sz"); ok {
		put(sample.DiskWeighted, v)
	}
	if v, ok := get("%util", "util"); ok {
		put(sample.DiskBusy, min(v/100, 1))
	}
}

// json reads -o JSON as iostat prints it, one object a line.
func (r *reader) json(text string, n int, into lines.Values) (lines.Use, error) {
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
	v := record{line: n, values: map[string]float64{}}
	for name, x := range fields {
		switch x := x.(type) {
		case float64:
			v.values[name] = max(0, x)
		case string:
			v.device = x
		}
	}
	if v.device == "" {
		r.cpu = &v
	} else {
		r.devices = append(r.devices, v)
	}
	return lines.Used, nil
}

// stamped reads the line that -t puts before every report.
func stamped(s string) (time.Time, bool) {
	if len(s) < 16 || len(s) > 48 || s[0] < '0' || s[0] > '9' {
		return time.Time{}, false
	}
	for _, layout := range []string{"01/02/2006 03:04:05 PM", "01/02/06 15:04:05", "01/02/2006 15:04:05", "2006-01-02T15:04:05-0700", "2006-01-02 15:04:05", "02.01.2006 15:04:05", "02/01/2006 15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return lines.Clock(s)
}
