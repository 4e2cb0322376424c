package view

import (
	"maps"
	"slices"
	"strings"

	"iocause/internal/sample"
	"iocause/internal/table"
)

// diskHealth is how each device is set up, what an array or its paths are at, and what
// the device says of itself.
func diskHealth(w *sample.Window, q *Query) table.Table {
	t := table.Table{Key: "health", Title: "Block devices: settings and health", Whole: true, Columns: []table.Column{
		{Key: "device", Head: "DEVICE", Flex: true},
		{Key: "scheduler", Head: "SCHEDULER", Drop: 3},
		{Key: "requests", Head: "QUEUE", Unit: "count", Drop: 4},
		{Key: "read_ahead_bytes", Head: "READ-AHEAD", Unit: "bytes", Drop: 5},
		{Key: "write_cache", Head: "WRITE CACHE"},
		{Key: "health", Head: "HEALTH"},
		{Key: "errors", Head: "ERRORS"},
		{Key: "used", Head: "USED", Unit: "ratio", Drop: 2},
		{Key: "celsius", Head: "CELSIUS", Unit: "count", Drop: 1},
		{Key: "throttled_seconds", Head: "THROTTLED", Unit: "seconds", Drop: 6, Rare: true},
		{Key: "array", Head: "ARRAY OR PATHS", Rare: true},
		{Key: "exceeded", Head: "OVER ITS CAP", Rare: true},
		{Key: "layout", Head: "LAYOUT", Rare: true},
		{Key: "discard_max_bytes", Head: "DISCARD", Unit: "bytes", Data: true},
		{Key: "wbt_seconds", Head: "WBT", Unit: "seconds", Data: true},
		{Key: "physical_block_bytes", Head: "SECTOR", Unit: "bytes", Data: true},
		{Key: "spare", Head: "SPARE", Unit: "ratio", Data: true},
		{Key: "hot_seconds", Head: "HOT", Unit: "seconds", Data: true},
	}}
	names := map[string]bool{}
	for _, m := range []sample.Metric{sample.DeviceReadAhead, sample.DeviceScheduler, sample.HealthAsleep} {
		w.Each(m, func(e sample.Entity, _ *sample.Series) {
			if e.Device != "" && (q.Device == "" || e.Device == q.Device) {
				names[e.Device] = true
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if q.Device == "" && strings.HasPrefix(name, "loop") && traffic(w, name) == 0 {
			continue
		}
		t.Rows = append(t.Rows, healthRow(w, name))
	}
	t.Notes = append(missing(w, sample.HealthAsleep), "ERRORS are of the device's whole life; - is not known: virtual disks, and those behind USB or a RAID controller, are not asked")
	for _, g := range w.Gaps {
		if g.Source == "health" {
			t.Notes = append(t.Notes, g.Why)
		}
	}
	return t
}

// classes are those of a device's metric with their values, by name; counters over the
// window.
func classes(w *sample.Window, m sample.Metric, device string) map[string]float64 {
	out := map[string]float64{}
	w.Each(m, func(e sample.Entity, s *sample.Series) {
		if e.Device == device && e.Class != "" && len(s.Points) > 0 {
			out[e.Class] = s.Last()
			if m == sample.CloudExceeded {
				out[e.Class] = s.Sum()
			}
		}
	})
	return out
}

func healthRow(w *sample.Window, device string) []table.Cell {
	last := func(m sample.Metric) table.Cell {
		return table.Maybe(w.Value(m, sample.Entity{Device: device}))
	}
	said := func(text string) table.Cell {
		if text == "" {
			return table.None()
		}
		return table.Str(text)
	}
	words := func(m sample.Metric) string {
		return strings.Join(slices.Sorted(maps.Keys(classes(w, m, device))), ", ")
	}
	counts := func(m sample.Metric, unit string) string {
		var out []string
		all := classes(w, m, device)
		for _, what := range slices.Sorted(maps.Keys(all)) {
			if all[what] > 0 {
				out = append(out, what+" "+table.Value(all[what], unit))
			}
		}
		return strings.Join(out, ", ")
	}
	failures := said(counts(sample.HealthErrors, "count"))
	if len(classes(w, sample.HealthErrors, device)) > 0 && failures.State != 0 {
		failures = table.Str("none")
	}
	return []table.Cell{
		table.Str(device), said(words(sample.DeviceScheduler)), last(sample.DeviceRequests), last(sample.DeviceReadAhead),
		said(writeCache(w, device)), said(healthWords(w, device, words(sample.HealthWarnings))), failures,
		last(sample.HealthUsed), last(sample.HealthCelsius), last(sample.HealthThrottled),
		said(arrayWords(w, device)), said(counts(sample.CloudExceeded, "seconds")), said(layoutWords(w, device)),
		last(sample.DeviceDiscardMax), last(sample.DeviceWBT), last(sample.DevicePhysical), last(sample.HealthSpare), last(sample.HealthHot),
	}
}

// writeCache is what is known of a device's write cache: by itself, else by the kernel.
func writeCache(w *sample.Window, device string) string {
	e := sample.Entity{Device: device}
	if there, ok := w.Value(sample.DeviceCacheThere, e); ok && there == 0 {
		return "none"
	}
	on, ok := w.Value(sample.DeviceCacheOn, e)
	back, known := w.Value(sample.DeviceWriteCache, e)
	switch {
	case ok && on == 0:
		return "OFF"
	case ok:
		return "on"
	case !known:
		return ""
	case back == 1:
		return "write back"
	}
	return "write through"
}

func healthWords(w *sample.Window, device, warnings string) string {
	e := sample.Entity{Device: device}
	asleep, _ := w.Value(sample.HealthAsleep, e)
	n, known := w.Value(sample.HealthWarnings, e)
	switch {
	case asleep == 1:
		return "asleep"
	case !known:
		return ""
	case n == 0:
		return "ok"
	}
	return warnings
}

// arrayWords is what an array does and lacks, and which paths do not work.
func arrayWords(w *sample.Window, device string) string {
	e := sample.Entity{Device: device}
	var out []string
	for action := range classes(w, sample.RaidAction, device) {
		if done, ok := w.Value(sample.RaidDone, e); ok && action != "idle" {
			action += " " + table.Value(done, "ratio")
		}
		out = append(out, action)
	}
	if n, ok := w.Value(sample.RaidDegraded, e); ok && n > 0 {
		members, _ := w.Value(sample.RaidMembers, e)
		out = append(out, table.Value(n, "count")+" of "+table.Value(members, "count")+" disks missing")
	}
	paths, failed := classes(w, sample.PathState, device), []string{}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if strings.HasSuffix(path, " failed") {
			failed = append(failed, path)
		}
	}
	switch {
	case len(failed) > 0:
		out = append(out, strings.Join(failed, ", "))
	case len(paths) > 0:
		out = append(out, sample.Counted(float64(len(paths)), "path")+" active")
	}
	return strings.Join(out, ", ")
}

// layoutWords is what is unusual of a device's layout: zones, and partitions that
// begin off a physical sector.
func layoutWords(w *sample.Window, device string) string {
	out := slices.Sorted(maps.Keys(classes(w, sample.DeviceZoned, device)))
	off := classes(w, sample.DeviceMisaligned, device)
	for _, part := range slices.Sorted(maps.Keys(off)) {
		if off[part] > 0 {
			out = append(out, part+" off a sector by "+table.Value(off[part], "bytes"))
		}
	}
	return strings.Join(out, ", ")
}
