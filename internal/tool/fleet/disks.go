package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"iocause/internal/fleet"
)

// Disk is one disk of one host.
type Disk struct{ Host, Device, Model string }

// SlowDisk is one that is slower than its like.
type SlowDisk struct {
	Disk
	fleet.Slow
}

// Disks is what came of comparing.
type Disks struct {
	From, To time.Time
	Step     time.Duration
	Disks    int            // that did anything
	Compared int            // for which there were enough like them at the same load
	Models   map[string]int // disks of each
	Slow     []SlowDisk
}

// mostIntervals are looked at; more are more exact, and cost the endpoint more.
const mostIntervals = 12

// step is the length of an interval.
func (a *Ask) step() time.Duration {
	return max((a.To.Sub(a.From) / mostIntervals).Round(time.Second), time.Minute)
}

// ObserveDisks compares every disk with those of its model at the same load.
func ObserveDisks(ctx context.Context, a *Ask) (*Disks, error) {
	c, err := a.client()
	if err != nil {
		return nil, err
	}
	defer c.close()
	a.Progress("which disks there are")
	devices, err := c.at(ctx, fmt.Sprintf("last_over_time(%s%s)", a.series("iocause_device_info"), a.window()), a.To)
	if err != nil {
		return nil, err
	}
	if len(devices) == 0 {
		return nil, fmt.Errorf("asking %s: it has no iocause_device_info from %s to %s; agents have to send (remote_write) or be scraped", c.base, a.From.Format(time.RFC3339), a.To.Format(time.RFC3339))
	}
	model := map[[2]string]string{}
	for _, d := range devices {
		name := d.Metric["model"]
		if name == "" { // as of virtual disks: those of one size are likely to be of one kind
			name = "no model, " + d.Metric["gib"] + " GiB"
		}
		model[[2]string{d.Metric[a.HostLabel], d.Metric["device"]}] = name
	}
	step := a.step()
	loads, err := a.loads(ctx, c, step)
	if err != nil {
		return nil, err
	}
	out := &Disks{From: a.From, To: a.To, Step: step, Disks: len(loads), Models: map[string]int{}}
	out.compare(loads, model)
	return out, nil
}

// loads are what each disk did, from interval to interval.
func (a *Ask) loads(ctx context.Context, c *client, step time.Duration) (map[[2]string][]fleet.Load, error) {
	rate := func(name string) string {
		return fmt.Sprintf("rate(%s[%ds])", a.series(name), int(step.Seconds()))
	}
	sum := func(reads, writes string) string {
		return fmt.Sprintf("sum by (%s, device) (%s + %s)", a.HostLabel, rate(reads), rate(writes))
	}
	out := map[[2]string]map[int64]*fleet.Load{}
	questions := []struct {
		expr string
		put  func(*fleet.Load, float64)
	}{
		{sum("iocause_disk_reads_total", "iocause_disk_writes_total"), func(l *fleet.Load, v float64) { l.Ops = v }},
		{sum("iocause_disk_read_time_seconds_total", "iocause_disk_write_time_seconds_total"), func(l *fleet.Load, v float64) { l.Depth = v }},
		{sum("iocause_disk_read_bytes_total", "iocause_disk_write_bytes_total"), func(l *fleet.Load, v float64) { l.Bytes = v }},
		{fmt.Sprintf("sum by (%s, device) (%s)", a.HostLabel, rate("iocause_disk_reads_total")), func(l *fleet.Load, v float64) { l.Reads = v }},
	}
	a.Progress("what all disks did")
	answers := make([][]line, len(questions))
	var asked []func() error
	for i, q := range questions {
		asked = append(asked, a.over(ctx, c, &answers[i], q.expr, step))
	}
	if err := atOnce(asked...); err != nil {
		return nil, err
	}
	for i, q := range questions {
		for _, l := range answers[i] {
			key := [2]string{l.Metric[a.HostLabel], l.Metric["device"]}
			if out[key] == nil {
				out[key] = map[int64]*fleet.Load{}
			}
			for _, p := range l.Values {
				at := p.at.UnixMilli()
				if out[key][at] == nil {
					out[key][at] = &fleet.Load{}
				}
				q.put(out[key][at], p.value)
			}
		}
	}
	flat := map[[2]string][]fleet.Load{}
	for key, by := range out {
		for _, at := range slices.Sorted(maps.Keys(by)) {
			if l := by[at]; l.Ops > 0 {
				l.Reads /= l.Ops
				flat[key] = append(flat[key], *l)
			}
		}
	}
	return flat, nil
}

// compare judges the disks of each model.
func (d *Disks) compare(loads map[[2]string][]fleet.Load, model map[[2]string]string) {
	by := map[string][][2]string{}
	keys := slices.SortedFunc(maps.Keys(loads), func(a, b [2]string) int {
		return cmp.Or(strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1]))
	})
	for _, key := range keys {
		if name, ok := model[key]; ok { // else a partition of names that no fact tells of, as a mapper's
			d.Models[name]++
			by[name] = append(by[name], key)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		var all []fleet.Load
		for i, key := range by[name] {
			for _, l := range loads[key] {
				l.Disk = i
				all = append(all, l)
			}
		}
		slow, compared := fleet.SlowDisks(all, len(by[name]))
		d.Compared += compared
		for _, s := range slow {
			key := by[name][s.Disk]
			d.Slow = append(d.Slow, SlowDisk{Disk{key[0], key[1], name}, s})
		}
	}
	slices.SortStableFunc(d.Slow, func(a, b SlowDisk) int { return cmp.Compare(b.Times, a.Times) })
}
