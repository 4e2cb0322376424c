package series

import (
	"strings"

	"iocause/internal/sample"
)

// NameOf is what a metric is called in a recording, by the rules that
// Prometheus has for names: the unit at the end, and "total" behind the unit
// of a counter.
func NameOf(i sample.Info) string {
	if i.Metric == sample.CPUCount {
		return "iocause_cpus" // a name in "count" stands for a part of a histogram
	}
	name := "iocause_" + strings.ReplaceAll(string(i.Metric), ".", "_")
	if i.Unit != sample.Count && !strings.HasSuffix(name, "_"+string(i.Unit)) {
		name += "_" + string(i.Unit)
	}
	if i.Kind == sample.Counter {
		name += "_total"
	}
	return name
}

// NamesOf are the names that a metric has in recordings of this version and the
// one before.
func NamesOf(i sample.Info) []string {
	var names []string
	for _, n := range i.Names() {
		names = append(names, NameOf(n))
	}
	return names
}
