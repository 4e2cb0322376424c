package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"iocause/internal/table"
)

// Latency is how long the requests of all disks took, and how large they were.
type Latency struct {
	From, To time.Time
	Step     time.Duration
	Kinds    []*Spread
	Hosts    []HostLatency // the slowest first
	Native   bool          // some histograms are native ones
}

// Spread is one kind of histogram over all hosts, interval by interval.
type Spread struct {
	Key, Name, Unit string
	At              []time.Time
	Rate            map[float64][]float64 // by upper bound: requests a second, by interval
}

// HostLatency are one host's.
type HostLatency struct {
	Host, Op       string
	Rate, P50, P99 float64 // requests a second, seconds
}

// spreads are the kinds that are asked for.
func spreads() []*Spread {
	return []*Spread{
		{Key: "read_latency_seconds", Name: "reads", Unit: "seconds"}, {Key: "write_latency_seconds", Name: "writes", Unit: "seconds"},
		{Key: "read_size_bytes", Name: "sizes of reads", Unit: "bytes"}, {Key: "write_size_bytes", Name: "sizes of writes", Unit: "bytes"},
	}
}

// latencyIntervals are the columns of the heat map.
const latencyIntervals = 24

// ObserveLatency asks for all histograms: native ones and classic ones, for a store may
// hold both.
func ObserveLatency(ctx context.Context, a *Ask) (*Latency, error) {
	c, err := a.client()
	if err != nil {
		return nil, err
	}
	defer c.close()
	step := max((a.To.Sub(a.From) / latencyIntervals).Round(time.Second), time.Minute)
	out := &Latency{From: a.From, To: a.To, Step: step, Kinds: spreads()}
	var asked []func() error
	hosts := map[[2]string]*HostLatency{}
	var native, classic [4][]line // by kind
	var per [2][3][]line          // by kind and figure
	for i, s := range out.Kinds {
		name := "iocause_disk_" + s.Key
		asked = append(asked,
			a.over(ctx, c, &native[i], fmt.Sprintf("sum(rate(%s[%ds]))", a.series(name), seconds(step)), step),
			a.over(ctx, c, &classic[i], fmt.Sprintf("sum by (le) (rate(%s[%ds]))", a.series(name+"_bucket"), seconds(step)), step))
		if i > 1 {
			continue
		}
		for k, q := range []string{"histogram_quantile(0.5, %[1]s) or histogram_quantile(0.5, %[2]s)", "histogram_quantile(0.99, %[1]s) or histogram_quantile(0.99, %[2]s)",
			"sum by (%[3]s) (rate(%[4]s%[5]s))"} {
			expr := fmt.Sprintf(q, fmt.Sprintf("sum by (%s) (rate(%s%s))", a.HostLabel, a.series(name), a.window()),
				fmt.Sprintf("sum by (%s, le) (rate(%s%s))", a.HostLabel, a.series(name+"_bucket"), a.window()),
				a.HostLabel, a.series(name+"_count"), a.window())
			asked = append(asked, func() (err error) {
				per[i][k], err = c.at(ctx, expr, a.To)
				return err
			})
		}
	}
	a.Progress("how long requests took")
	if err = atOnce(asked...); err != nil {
		return nil, err
	}
	for i, name := range []string{"iocause_disk_read_latency_seconds", "iocause_disk_write_latency_seconds"} {
		if len(native[i]) == 0 { // else the store knows this function, which VictoriaMetrics does not
			continue
		}
		lines, err := c.at(ctx, fmt.Sprintf("histogram_count(sum by (%s) (rate(%s%s)))", a.HostLabel, a.series(name), a.window()), a.To)
		if err != nil {
			return nil, err
		}
		per[i][2] = append(per[i][2], lines...)
	}
	for i, s := range out.Kinds {
		s.fill(a.From.Add(step), a.To, step, native[i], classic[i])
		out.Native = out.Native || len(native[i]) > 0
	}
	for i := range per {
		for k, lines := range per[i] {
			for _, l := range lines {
				key := [2]string{l.Metric[a.HostLabel], out.Kinds[i].Name}
				if hosts[key] == nil {
					hosts[key] = &HostLatency{Host: key[0], Op: key[1]}
				}
				*[]*float64{&hosts[key].P50, &hosts[key].P99, &hosts[key].Rate}[k] = l.Value.value
			}
		}
	}
	for _, h := range hosts {
		if h.Rate > 0 && !math.IsNaN(h.P99) {
			out.Hosts = append(out.Hosts, *h)
		}
	}
	slices.SortFunc(out.Hosts, func(a, b HostLatency) int {
		return cmp.Or(cmp.Compare(b.P99, a.P99), strings.Compare(a.Host, b.Host), strings.Compare(a.Op, b.Op))
	})
	if len(out.Hosts) == 0 {
		return nil, fmt.Errorf("asking %s: it has no iocause_disk_read_latency_seconds from %s to %s; agents have to send (remote_write) or be scraped, with the source latency", c.base, a.From.Format(time.RFC3339), a.To.Format(time.RFC3339))
	}
	return out, nil
}

func seconds(d time.Duration) int { return int(d.Seconds()) }

// over is a question for values from interval to interval.
func (a *Ask) over(ctx context.Context, c *client, into *[]line, expr string, step time.Duration) func() error {
	return func() (err error) {
		*into, err = c.over(ctx, expr, a.From.Add(step), a.To, step)
		return err
	}
}

// fill makes rates by bound of both kinds of histograms; classic buckets hold all
// that is up to their bound.
func (s *Spread) fill(from, to time.Time, step time.Duration, native, classic []line) {
	s.Rate = map[float64][]float64{}
	for t := from; !t.After(to); t = t.Add(step) {
		s.At = append(s.At, t)
	}
	add := func(bound float64, at time.Time, v float64) {
		i := int(math.Round(at.Sub(from).Seconds() / step.Seconds()))
		if i < 0 || i >= len(s.At) || v <= 0 || math.IsNaN(v) {
			return
		}
		if s.Rate[bound] == nil {
			s.Rate[bound] = make([]float64, len(s.At))
		}
		s.Rate[bound][i] += v
	}
	for _, l := range native {
		for _, h := range l.Histograms {
			for _, b := range h.buckets {
				add(b.upper, h.at, b.count)
			}
		}
	}
	up := map[float64]map[time.Time]float64{}
	for _, l := range classic {
		bound, err := number(l.Metric["le"])
		if err != nil {
			continue
		}
		up[bound] = map[time.Time]float64{}
		for _, p := range l.Values {
			up[bound][p.at] = p.value
		}
	}
	before := map[time.Time]float64{}
	for _, bound := range slices.Sorted(maps.Keys(up)) {
		for at, v := range up[bound] {
			add(bound, at, v-before[at])
			before[at] = v
		}
	}
}

// Latencies are the tables of ObserveLatency.
func Latencies(ctx context.Context, a *Ask) ([]table.Table, error) {
	l, err := ObserveLatency(ctx, a)
	if err != nil {
		return nil, err
	}
	return l.Tables(), nil
}

// Tables are a heat map and the slowest hosts.
func (l *Latency) Tables() []table.Table {
	heat := table.Table{Key: "latency", Title: "All disks of all hosts: requests by how long they took, and by size", Whole: true, Columns: []table.Column{
		{Key: "of", Head: "OF"}, {Key: "up_to_shown", Head: "UP TO"}, {Key: "up_to", Data: true, Unit: "count"}, {Key: "unit", Data: true},
		{Key: "per_second", Head: "REQUESTS/s", Unit: "count"}, {Key: "share", Head: "SHARE", Unit: "ratio"}, {Key: "course", Head: "COURSE"},
	}}
	for _, s := range l.Kinds {
		most := 0.0
		all := 0.0
		for _, rates := range s.Rate {
			most = max(most, slices.Max(rates))
			all += sumOf(rates)
		}
		for _, bound := range slices.Sorted(maps.Keys(s.Rate)) {
			rates := s.Rate[bound]
			shown, up := "more", table.Maybe(0, false)
			if !math.IsInf(bound, 1) {
				shown, up = table.Value(bound, s.Unit), table.Num(bound)
			}
			heat.Rows = append(heat.Rows, []table.Cell{table.Str(s.Name), table.Str(shown), up, table.Str(s.Unit),
				table.Num(sumOf(rates) / float64(len(rates))), table.Num(sumOf(rates) / all), table.Str(shades(rates, most))})
		}
	}
	heat.Notes = append(heat.Notes, fmt.Sprintf("COURSE is the time from left to right, %v each; the darker, the more requests, each kind by its own busiest cell", l.Step))
	if l.Native {
		heat.Notes = append(heat.Notes, "some or all hosts send native histograms")
	}
	hosts := table.Table{Key: "hosts", Title: "Slowest hosts", Columns: []table.Column{
		{Key: "host", Head: "HOST", Flex: true, Least: 12}, {Key: "of", Head: "OF"}, {Key: "per_second", Head: "REQUESTS/s", Unit: "count"},
		{Key: "p50", Head: "P50", Unit: "seconds"}, {Key: "p99", Head: "P99", Unit: "seconds"},
	}}
	for _, h := range l.Hosts {
		hosts.Rows = append(hosts.Rows, []table.Cell{table.Str(h.Host), table.Str(h.Op), table.Num(h.Rate), table.Num(h.P50), table.Num(h.P99)})
	}
	hosts.Notes = append(hosts.Notes, "estimated within buckets whose bounds are powers of two of a second")
	return []table.Table{heat, hosts}
}

func sumOf(all []float64) (sum float64) {
	for _, v := range all {
		sum += v
	}
	return sum
}

// shades draws one row of a heat map.
func shades(rates []float64, most float64) string {
	ramp := []rune(" ░▒▓█")
	var out strings.Builder
	for _, v := range rates {
		i := 0
		if v > 0 && most > 0 {
			// by the root: rare slow requests are what is looked for
			i = 1 + min(int(math.Sqrt(v/most)*float64(len(ramp)-1)), len(ramp)-2)
		}
		out.WriteRune(ramp[i])
	}
	return out.String()
}
