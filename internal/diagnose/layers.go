package diagnose

import (
	"cmp"
	"slices"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// LayerTime is what one layer of stacked devices took of the I/O that the device on
// top of them completed: all programs' reads, writes and flushes.
type LayerTime struct {
	Device string  `json:"device"`
	Kind   string  `json:"kind,omitempty"`  // "dm-crypt", "raid1"; "" of a disk
	Label  string  `json:"label,omitempty"` // device-mapper's
	Level  int     `json:"level"`           // 0 is the top
	PerSec float64 `json:"per_second"`      // bios
	Each   float64 `json:"seconds"`         // a bio, layers below included, on average
	Own    float64 `json:"own_seconds"`     // of that while no part of it was in a layer below
	Share  float64 `json:"own_share"`       // all Own of all time of the top; more than 1 in all where parts are beside each other
	Source string  `json:"source"`
}

// Name is what people call a layer: "dm-1 (dm-crypt luks)".
func (l *LayerTime) Name() string {
	return (&figure.Layer{Device: l.Device, Kind: l.Kind, Label: l.Label}).Name()
}

// layers are those of the stack that the victim's device is in, from the top; of
// several on one disk those that took most time. None where none was followed.
func (c *Case) layers() []LayerTime {
	s := c.w.Seconds()
	if c.device == "" || s <= 0 || c.w.Told {
		return nil
	}
	stacks := slices.DeleteFunc(figure.Stacks(c.w), func(k figure.Stack) bool {
		return k[0].Seconds <= 0 || !slices.ContainsFunc(k, func(l figure.Layer) bool { return l.Device == c.device })
	})
	if len(stacks) == 0 {
		return nil
	}
	stack := slices.MaxFunc(stacks, func(a, b figure.Stack) int { return cmp.Compare(a[0].Seconds, b[0].Seconds) })
	source := c.sourceOf(sample.LayerOwnTime)
	var out []LayerTime
	for i := range stack {
		l := &stack[i]
		if l.Count <= 0 {
			continue
		}
		out = append(out, LayerTime{Device: l.Device, Kind: l.Kind, Label: l.Label, Level: l.Level, PerSec: l.Count / s,
			Each: l.Seconds / l.Count, Own: l.Own / l.Count, Share: l.Own / stack[0].Seconds, Source: source})
	}
	return out
}
