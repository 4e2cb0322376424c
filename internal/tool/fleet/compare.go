package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"iocause/internal/detect"
	"iocause/internal/fleet"
	"iocause/internal/sample"
)

// Comparison is two hosts, or two groups of hosts, side by side.
type Comparison struct {
	Said    [2]string // how the sides were asked for
	Sides   [2]*Fleet
	Figures []Figure
	Facts   []Differing
	// Settings are told in place of Facts where a side has too few hosts to test.
	Settings []Setting
	Why      string // facts were not tested
}

// Figure is one figure of both sides: its median over hosts, or over time of a
// host that stands alone.
type Figure struct {
	Key, Name, Unit string
	Sides           [2]float64 // NaN where nobody told it
	Compared        detect.Comparison
}

// Differing is a fact that is more frequent on one side, with the hosts of each
// that have it.
type Differing struct {
	Facts []fleet.Fact
	With  [2]int
	Rate  float64 // false-discovery rate
}

// Setting is one that all hosts of each side have with values that none of the
// other side has.
type Setting struct {
	Name   string
	Values [2]string
}

// measured is a figure of a host, as PromQL asks for it; %[1]s stands for the
// labels that select hosts, %[2]s for the length of an interval, %[3]s for the
// label that tells hosts apart.
type measured struct{ key, name, unit, expr string }

func figures() []measured {
	rate := func(name string) string { return "rate(" + name + "{%[1]s}[%[2]s])" }
	by := func(expr string) string { return "sum by (%[3]s) (" + expr + ")" }
	over := func(a, b string) string { return by(a) + " / (" + by(b) + " > 0)" }
	pressure := func(class string) string {
		return by("rate(iocause_psi_some_seconds_total{class=\"" + class + "\",%[1]s}[%[2]s])")
	}
	disk := func(name string) string {
		stacked := "(" + strings.Join(sample.StackedNames(), "|") + ").*"
		return "rate(iocause_disk_" + name + "_total{device!~\"" + stacked + "\",%[1]s}[%[2]s])"
	}
	return []measured{
		{"io_pressure", "I/O pressure", "ratio", pressure("io")},
		{"memory_pressure", "memory pressure", "ratio", pressure("memory")},
		{"cpu_pressure", "processor pressure", "ratio", pressure("cpu")},
		{"cpu_busy", "processors busy", "count", by(rate("iocause_cpu_user_seconds_total") + " + " + rate("iocause_cpu_system_seconds_total"))},
		{"cpu_steal", "processors taken by other guests", "count", by(rate("iocause_cpu_steal_seconds_total"))},
		{"memory_available", "memory available, of all", "ratio", over("iocause_mem_available_bytes{%[1]s}", "iocause_mem_total_bytes{%[1]s}")},
		{"page_cache", "page cache, of all memory", "ratio", over("iocause_mem_cache_bytes{%[1]s}", "iocause_mem_total_bytes{%[1]s}")},
		{"dirty", "memory that is dirty", "bytes", by("iocause_mem_dirty_bytes{%[1]s}")},
		{"cache_misses", "pages missed in the cache", "count/s", by(rate("iocause_cache_sampled_misses_pages_total"))},
		{"major_faults", "faults that wait for I/O", "count/s", by(rate("iocause_vm_major_faults_total"))},
		{"swap_in", "pages read from swap", "count/s", by(rate("iocause_vm_swap_in_pages_total"))},
		{"reads", "reads of disks", "count/s", by(disk("reads"))},
		{"writes", "writes of disks", "count/s", by(disk("writes"))},
		{"read_bytes", "bytes read from disks", "bytes/s", by(disk("read_bytes"))},
		{"write_bytes", "bytes written to disks", "bytes/s", by(disk("write_bytes"))},
		{"read_latency", "time of a read, with queue", "seconds", over(disk("read_time_seconds"), disk("reads"))},
		{"write_latency", "time of a write, with queue", "seconds", over(disk("write_time_seconds"), disk("writes"))},
		{"in_flight", "requests in flight", "count", by(disk("read_time_seconds") + " + " + disk("write_time_seconds"))},
		{"disk_busy", "busiest disk has I/O in flight", "ratio", "max by (%[3]s) (" + disk("busy_seconds") + ")"},
	}
}

// side is the question for one side: matchers, or the name of a host, with or
// without a port.
func (a *Ask) side(said string) Ask {
	one := *a
	match := said
	if !matcherForm.MatchString(said) {
		match = fmt.Sprintf(`%s=~%q`, a.HostLabel, regexp.QuoteMeta(said)+"(:[0-9]+)?")
	}
	if a.Match != "" {
		match += "," + a.Match
	}
	one.Match = match
	return one
}

// Compare asks for both sides.
func Compare(ctx context.Context, a *Ask, sides [2]string) (*Comparison, error) {
	out := &Comparison{Said: sides}
	values := [2][]map[string][]float64{}
	for i, said := range sides {
		one := a.side(said)
		one.Progress = func(what string) { a.Progress("about " + said + ": " + what) }
		c, err := one.client()
		if err != nil {
			return nil, err
		}
		defer c.close()
		if out.Sides[i], err = one.observe(ctx, c); err != nil {
			return nil, err
		}
		if len(out.Sides[i].Hosts) == 0 {
			return nil, &BadEndpoint{fmt.Errorf("no host is %s in this time: there are neither findings nor facts of it; write a host's name, or matchers such as zone=\"a\"", said)}
		}
		if values[i], err = one.measure(ctx, c); err != nil {
			return nil, err
		}
	}
	for _, h := range out.Sides[0].Hosts {
		if slices.ContainsFunc(out.Sides[1].Hosts, func(x Host) bool { return x.Name == h.Name }) {
			return nil, &BadEndpoint{fmt.Errorf("the host %q is on both sides: choose sides that have no host in common", h.Name)}
		}
	}
	for i, m := range figures() {
		out.figure(m, values[0][i], values[1][i])
	}
	slices.SortStableFunc(out.Figures, func(a, b Figure) int { // what differs clearly first
		switch {
		case a.Compared.Clear == b.Compared.Clear:
			return 0
		case a.Compared.Clear:
			return -1
		}
		return 1
	})
	out.facts()
	return out, nil
}

// measure are the values of each figure, by host.
func (a *Ask) measure(ctx context.Context, c *client) ([]map[string][]float64, error) {
	var out []map[string][]float64
	step := a.step()
	for _, m := range figures() {
		a.Progress(m.name)
		lines, err := c.over(ctx, fmt.Sprintf(m.expr, a.Match, fmt.Sprintf("%ds", int(step.Seconds())), a.HostLabel), a.From.Add(step), a.To, step)
		if err != nil {
			return nil, err
		}
		by := map[string][]float64{}
		for _, l := range lines {
			for _, p := range l.Values {
				by[l.Metric[a.HostLabel]] = append(by[l.Metric[a.HostLabel]], p.value)
			}
		}
		out = append(out, by)
	}
	return out, nil
}

// valuesOf are what is compared of a side: a value of each host where there are
// enough hosts, else each host's values over time.
func valuesOf(by map[string][]float64) (all []float64) {
	for _, host := range slices.Sorted(maps.Keys(by)) {
		if len(by) >= detect.LeastValues {
			all = append(all, fleet.Median(slices.Clone(by[host])))
		} else {
			all = append(all, by[host]...)
		}
	}
	return all
}

func (c *Comparison) figure(m measured, a, b map[string][]float64) {
	as, bs := valuesOf(a), valuesOf(b)
	if len(as) == 0 || len(bs) == 0 {
		return
	}
	f := Figure{Key: m.key, Name: m.name, Unit: m.unit, Sides: [2]float64{fleet.Median(slices.Clone(as)), fleet.Median(slices.Clone(bs))}}
	f.Compared = detect.Compare(f.Sides[0], f.Sides[1], as, bs, floors()[m.unit])
	c.Figures = append(c.Figures, f)
}

// floors are what makes no difference, in each unit: an idle disk's three
// requests are not three times one.
func floors() map[string]float64 {
	return map[string]float64{"ratio": 0.01, "count": 0.05, "count/s": 20, "bytes/s": 256 << 10, "bytes": 1 << 20, "seconds": 20e-6}
}

// facts are what the hosts of one side are more often than those of the other.
func (c *Comparison) facts() {
	with := map[fleet.Fact][2]int{}
	hosts := [2][]fleet.Host{}
	for i, f := range c.Sides {
		for k := range f.Hosts {
			for _, fact := range f.Hosts[k].Facts {
				n := with[fact]
				n[i]++
				with[fact] = n
			}
			for side := range hosts {
				hosts[side] = append(hosts[side], fleet.Host{Affected: side == i, Facts: f.Hosts[k].Facts})
			}
		}
	}
	n := [2]int{len(c.Sides[0].Hosts), len(c.Sides[1].Hosts)}
	if min(n[0], n[1]) >= fewest {
		for side := range hosts {
			factors, _ := fleet.Common(hosts[side])
			for i := range factors {
				c.Facts = append(c.Facts, Differing{Facts: factors[i].Facts, With: with[factors[i].Facts[0]], Rate: factors[i].Rate})
			}
		}
		return
	}
	c.Why = fmt.Sprintf("with fewer than %d hosts on a side it cannot be tested whether settings differ by chance: shown is what all hosts of one side have, and none of the other", fewest)
	values := map[string]*Setting{}
	for _, fact := range slices.SortedFunc(maps.Keys(with), func(a, b fleet.Fact) int {
		return cmp.Or(strings.Compare(a.Setting, b.Setting), strings.Compare(a.Value, b.Value))
	}) {
		side := slices.Index([][2]int{{n[0], 0}, {0, n[1]}}, with[fact])
		if side < 0 {
			continue
		}
		if values[fact.Setting] == nil {
			values[fact.Setting] = &Setting{Name: fact.Setting}
		}
		v := &values[fact.Setting].Values[side]
		*v = strings.TrimPrefix(*v+", "+fact.Value, ", ")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		c.Settings = append(c.Settings, *values[name])
	}
}
