package view

import (
	"fmt"
	"slices"
	"strings"

	"iocause/internal/figure"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// diskStack is each device that a file system lies on, and the devices that it lies
// on itself, down to the disks, with the time that each of these layers took.
func diskStack(w *sample.Window, q *Query) table.Table {
	t := table.Table{Key: "stack", Title: "Layers from the file system down to the disks", Whole: true, Columns: []table.Column{
		{Key: "stack", Head: "STACK", Flex: true, Least: 24},
		{Key: "device", Head: "DEVICE", Data: true}, {Key: "kind", Head: "KIND", Data: true},
		{Key: "label", Head: "LABEL", Data: true}, {Key: "mount", Head: "MOUNT", Data: true},
		{Key: "top", Head: "TOP", Data: true}, {Key: "level", Head: "LEVEL", Unit: "count", Data: true},
		{Key: "ios_per_s", Head: "IO/s", Unit: "count"},
		{Key: "bytes_per_s", Head: "BYTES/s", Unit: "bytes"},
		{Key: "seconds", Head: "EACH", Unit: "seconds"},
		{Key: "own_seconds", Head: "OWN", Unit: "seconds"},
		{Key: "own_share", Head: "share", Unit: "ratio"},
		{Key: "unknown_per_s", Head: "UNKNOWN/s", Unit: "count", Rare: true},
	}}
	stacks := figure.Stacks(w)
	for _, s := range stacks {
		if q.Device != "" && !within(s, q.Device) {
			continue
		}
		for i := range s {
			t.Rows = append(t.Rows, stackRow(w, s, &s[i]))
		}
		if residual, ok := s.Residual(); ok {
			t.Notes = append(t.Notes, fmt.Sprintf("%s: %.1f %% of the time is of no layer", s[0].Device, 100*residual))
		}
	}
	switch {
	case len(stacks) == 0 && w.Has(sample.DeviceKind):
		t.Notes = append(t.Notes, "no device lies on another: file systems are on the disks themselves")
	case len(t.Rows) > 0:
		t.Notes = append(t.Notes, "EACH: an I/O of the layer, layers below included; OWN: while none of it was below; share: OWN of all the time of the top")
	}
	t.Notes = append(t.Notes, missing(w, sample.DeviceKind)...)
	return t
}

// liesOn is a way to ask what a device lies on: "raid1 on vda vdb".
func liesOn(w *sample.Window) func(device string) table.Cell {
	kinds, on := map[string]string{}, map[string][]string{}
	w.Each(sample.DeviceKind, func(e sample.Entity, _ *sample.Series) { kinds[e.Device] = e.Class })
	w.Each(sample.DeviceOn, func(e sample.Entity, _ *sample.Series) { on[e.Device] = append(on[e.Device], e.Class) })
	return func(device string) table.Cell {
		kind, ok := kinds[device]
		if !ok {
			return table.None()
		}
		if below := on[device]; len(below) > 0 {
			slices.Sort(below)
			kind += " on " + strings.Join(below, " ")
		}
		return table.Str(kind)
	}
}

func within(s figure.Stack, device string) bool {
	for i := range s {
		if s[i].Device == device {
			return true
		}
	}
	return false
}

func stackRow(w *sample.Window, s figure.Stack, l *figure.Layer) []table.Cell {
	name := strings.Repeat("  ", l.Level) + l.Name()
	if l.Mount != "" {
		name += " at " + l.Mount
	}
	text := func(v string) table.Cell {
		if v == "" {
			return table.None()
		}
		return table.Str(v)
	}
	each := func(seconds, count float64) table.Cell { return table.Maybe(seconds/count, l.Counted && count > 0) }
	share := table.None()
	if s[0].Seconds > 0 && l.Counted {
		share = table.Num(l.Own / s[0].Seconds)
	}
	per := w.Seconds()
	return []table.Cell{
		table.Str(name), table.Str(l.Device), text(l.Kind), text(l.Label), text(l.Mount), table.Str(s[0].Device), table.Num(float64(l.Level)),
		table.Maybe(l.Count/per, l.Counted), table.Maybe(l.Bytes/per, l.Counted),
		each(l.Seconds, l.Count), each(l.Own, l.Count), share, table.Num(l.Unknown / per),
	}
}
