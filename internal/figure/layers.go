package figure

import (
	"slices"
	"strings"

	"iocause/internal/sample"
)

// Layer is a device of a stack, and what it did for the device on top of it.
type Layer struct {
	Device string
	Kind   string // "dm-crypt", "raid1"; "" of a disk
	Label  string // device-mapper's
	Mount  string // of the file system on it
	Level  int    // 0 for the top

	Counted bool    // the probe followed bios through it
	Count   float64 // bios
	Bytes   float64
	Seconds float64 // from queueing to completion, layers below included, summed
	Own     float64 // of that while no part was in a layer below
	Beside  float64 // parts in layers below beside each other
	Unknown float64 // bios of the disk, of whatever stack, whose origin is not known
}

// Stack is a device that no other lies on, if it lies on others itself, and these.
type Stack []Layer

// deepest is more layers than anybody builds: what is told may not go on for ever.
const deepest = 16

// Stacks are those of a window, by the name of their top.
func Stacks(w *sample.Window) []Stack {
	on := map[string][]string{} // what each lies on
	carries := map[string]bool{}
	text := map[sample.Metric]map[string]string{}
	for _, m := range []sample.Metric{sample.DeviceKind, sample.DeviceLabel, sample.DeviceMount} {
		text[m] = map[string]string{}
		w.Each(m, func(e sample.Entity, _ *sample.Series) { text[m][e.Device] = e.Class })
	}
	w.Each(sample.DeviceOn, func(e sample.Entity, _ *sample.Series) {
		on[e.Device] = append(on[e.Device], e.Class)
		carries[e.Class] = true
	})
	var tops []string
	for device, below := range on {
		slices.Sort(below)
		if !carries[device] {
			tops = append(tops, device)
		}
	}
	slices.Sort(tops)
	var all []Stack
	for _, top := range tops {
		var s Stack
		var walk func(device string, level int)
		walk = func(device string, level int) {
			if level > deepest || slices.ContainsFunc(s, func(l Layer) bool { return l.Device == device }) {
				return // two partitions of one disk, say
			}
			l := Layer{
				Device: device, Level: level, Kind: text[sample.DeviceKind][device],
				Label: text[sample.DeviceLabel][device], Mount: text[sample.DeviceMount][device],
			}
			l.count(w, top)
			s = append(s, l)
			for _, below := range on[device] {
				walk(below, level+1)
			}
		}
		walk(top, 0)
		all = append(all, s)
	}
	return all
}

// count adds up what a layer did for the device on top.
func (l *Layer) count(w *sample.Window, top string) {
	for m, to := range map[sample.Metric]*float64{
		sample.LayerOps: &l.Count, sample.LayerBytes: &l.Bytes, sample.LayerTime: &l.Seconds,
		sample.LayerOwnTime: &l.Own, sample.LayerBeside: &l.Beside,
	} {
		w.Each(m, func(e sample.Entity, s *sample.Series) {
			if c, ok := sample.ParseLayerClass(e.Class); ok && e.Device == l.Device && c.Top == top {
				*to += s.Sum()
				l.Counted = true
			}
		})
	}
	w.Each(sample.BlockNoOrigin, func(e sample.Entity, s *sample.Series) {
		if e.Device == l.Device {
			l.Unknown += s.Sum()
		}
	})
}

// Residual is the share of the time of the top that no layer accounts for; below
// zero where layers account for more than there was. ok is false where nothing was
// counted.
func (s Stack) Residual() (share float64, ok bool) {
	if len(s) == 0 || s[0].Seconds <= 0 {
		return 0, false
	}
	rest := s[0].Seconds
	for i := range s {
		rest += s[i].Beside - s[i].Own
	}
	return rest / s[0].Seconds, true
}

// Slowest is the layer that itself takes most of the time, and its share of the time
// of the top; nil where nothing was counted.
func (s Stack) Slowest() (l *Layer, share float64) {
	if len(s) == 0 || s[0].Seconds <= 0 {
		return nil, 0
	}
	for i := range s {
		if l == nil || s[i].Own > l.Own {
			l = &s[i]
		}
	}
	return l, l.Own / s[0].Seconds
}

// Name is what people call a layer: "dm-1 (dm-crypt luks)", and the disk's name alone.
func (l *Layer) Name() string {
	what := strings.TrimSpace(l.Kind + " " + l.Label)
	if what == "" {
		return l.Device
	}
	return l.Device + " (" + what + ")"
}
