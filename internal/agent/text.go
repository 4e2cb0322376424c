package agent

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/sample"
	"iocause/internal/store/series"
)

// described is a metric as a scraper is told of it.
type described struct{ kind, help string }

// describe is every metric that can be recorded, by its series' name.
func describe() map[string]described {
	all := map[string]described{}
	for _, i := range slices.Concat(sample.Catalog(), Own()) {
		d := described{"gauge", i.Help}
		if i.Kind == sample.Counter {
			d.kind = "counter"
		}
		if _, class, ok := strings.Cut(i.On, "class "); ok {
			d.help += "; class: " + class
		}
		for _, name := range series.NamesOf(i) {
			if _, ok := ladders()[i.Metric]; ok {
				d.kind, name = "histogram", strings.TrimSuffix(name, "_total")
				all[name+series.Bucket], all[name+series.Count], all[name+series.Sum] = d, d, d
			}
			all[name] = d
		}
	}
	return all
}

// writeText writes values in the text format that Prometheus scrapes
// (https://prometheus.io/docs/instrumenting/exposition_formats/), without
// times: they are of this moment.
func writeText(w io.Writer, values map[*series.Series]at) error {
	known := describe()
	byName := map[string][]*series.Series{}
	for s := range values {
		name := s.Name()
		if histogram, _, ok := series.HistogramOf(name); ok {
			name = histogram
		}
		byName[name] = append(byName[name], s)
	}
	out := bufio.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		d := known[name]
		fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, strings.ReplaceAll(d.help, "\\", `\\`), name, d.kind)
		all := byName[name]
		slices.SortFunc(all, func(a, b *series.Series) int {
			return cmp.Or(cmp.Compare(a.Name(), b.Name()), compareLabels(a.Labels(), b.Labels()))
		})
		for _, s := range all {
			out.WriteString(s.Name())
			if l := s.Labels(); len(l) > 0 {
				for i, x := range l {
					out.WriteByte("{,"[min(i, 1)])
					out.WriteString(x.Name + `="` + escapeLabel(x.Value) + `"`)
				}
				out.WriteByte('}')
			}
			out.WriteString(" " + strconv.FormatFloat(values[s].value, 'g', -1, 64) + "\n")
		}
	}
	return out.Flush()
}

func escapeLabel(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(s)
}

// kindAndHelp tells what a series is.
func kindAndHelp() func(name string) (kind, help string) {
	known := describe()
	return func(name string) (kind, help string) {
		d := known[name]
		return d.kind, d.help
	}
}

// Help says what a series is, "" when its name is not known.
func Help(name string) string { return describe()[name].help }
