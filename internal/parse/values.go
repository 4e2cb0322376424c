package parse

import (
	"iter"
	"maps"
	"slices"

	"iocause/internal/sample"
)

// Value is one value as it was read.
type Value struct {
	File    string        `json:"file"`
	Lines   string        `json:"lines"`
	Tool    string        `json:"tool"`
	Seconds float64       `json:"seconds"` // end of its interval, from the start of the output
	Metric  sample.Metric `json:"metric"`
	Unit    sample.Unit   `json:"unit"`
	Device  string        `json:"device,omitempty"`
	PID     int           `json:"pid,omitempty"`
	Class   string        `json:"class,omitempty"`
	Value   float64       `json:"value"`
}

// Values are all values of texts, output by output. Counters hold the increase
// in their interval.
func Values(texts []*Text) iter.Seq[Value] {
	units := map[sample.Metric]sample.Unit{}
	for _, i := range sample.Catalog() {
		units[i.Metric] = i.Unit
	}
	return func(yield func(Value) bool) {
		for _, t := range texts {
			for _, b := range t.Blocks {
				for _, k := range slices.SortedFunc(maps.Keys(b.series), compareKeys) {
					s := b.series[k]
					for _, p := range s.points {
						v := Value{
							File: b.File, Lines: span(s.first, s.last), Tool: b.Tool, Seconds: p.At.Seconds(), Metric: k.metric,
							Unit: units[k.metric], Device: k.entity.Device, PID: k.entity.PID, Class: k.entity.Class, Value: p.Value,
						}
						if !yield(v) {
							return
						}
					}
				}
			}
		}
	}
}
