package figure

import (
	"math"

	"iocause/internal/sample"
)

// Limits of a device, as they show in its rate.
const (
	LimitOps   = "operations"
	LimitBytes = "bytes"
)

// Forecast is what a device does, and what it would do with other limits, blocks and
// numbers of requests in flight.
type Forecast struct {
	Limit   string // LimitOps or LimitBytes where it is at one; "" where none was seen
	Changes []Change
}

// ChangeKind is what is changed.
type ChangeKind int

// The kinds.
const (
	AsNow    ChangeKind = iota
	OfLimit             // of operations or bytes
	OfDevice            // how fast it serves
	OfCrowd             // how many requests are in flight
	OfSize              // of requests
)

// Change is what the device does after one; the first is how it is now.
type Change struct {
	Kind    ChangeKind
	Times   float64 // by how much
	Name    string
	Ops     Range // requests a second
	Size    float64
	Latency float64 // s a request, for Ops.Value
}

// Range is a figure with the interval that it is expected in.
type Range struct{ Value, Low, High float64 }

// After is what is done now, and after a change of a kind, by so many times; ok is false
// where that is not told.
func (f *Forecast) After(kind ChangeKind, times float64) (now, then Change, ok bool) {
	for _, x := range f.Changes {
		if x.Kind == kind && x.Times == times {
			return f.Changes[0], x, true
		}
	}
	return now, then, false
}

// loop is who sends a device requests: so many are on their way at a time, each of
// which is so long elsewhere before it comes again (a closed queueing network of one
// server; Denning and Buzen, Computing Surveys 10, 1978).
type loop struct{ n, elsewhere float64 }

func loopOf(n, ops, latency float64) loop { return loop{n, max(0, n/ops-latency)} }

func (l loop) rate(latency float64) float64 { return l.n / (l.elsewhere + latency) }

// device is what was seen of one.
type device struct {
	ops, size, depth, latency, alone, most float64
	flat                                   Plateau
	rates                                  []DepthRate
	loops                                  [3]loop // who sends: likely, least that can be gained, most
}

// ForecastOf works it out for a device; nil where too little was seen of it.
func ForecastOf(w *sample.Window, name string) *Forecast {
	var ops, bytes, seconds float64
	for _, op := range []string{sample.ClassRead, sample.ClassWrite} {
		e := sample.Entity{Device: name, Class: op}
		for m, to := range map[sample.Metric]*float64{sample.BlockOps: &ops, sample.BlockBytes: &bytes, sample.BlockQueueTime: &seconds, sample.BlockDeviceTime: &seconds} {
			v, _ := w.Sum(m, e)
			*to += v
		}
	}
	if ops < depthOps || seconds <= 0 {
		return nil
	}
	d := &device{ops: ops / w.Seconds(), size: bytes / ops, depth: seconds / w.Seconds(), latency: seconds / ops,
		flat: FindPlateau(DeviceBins(w, name)), rates: DepthRates(w, name)}
	d.most, _ = w.Value(sample.BlockMaxFlight, sample.Entity{Device: name})
	d.alone = d.latency
	for _, r := range d.rates {
		d.alone = min(d.alone, r.Latency)
	}
	if d.flat.Found { // what the window's ends are not part of
		d.ops = d.flat.Ops
		d.depth = d.ops * d.latency
	}
	likely := max(1, math.Ceil(d.depth-0.05))
	d.loops = [3]loop{loopOf(likely, d.ops, d.latency), loopOf(max(likely, d.most), d.ops, d.latency), loopOf(max(d.depth, 1e-9), d.ops, d.latency)}
	f := &Forecast{Changes: []Change{{AsNow, 1, "now", Range{d.ops, d.ops, d.ops}, d.size, d.latency}}}
	if d.flat.Found {
		f.Limit = LimitOps
		if d.flat.FlatterBytes() || !d.flat.FlatterOps() && d.size >= 64<<10 {
			f.Limit = LimitBytes
		}
		f.add(d, OfLimit, 0.5, "a limit half as high", d.limited(0.5), d.size)
		f.add(d, OfLimit, 2, "a limit twice as high", d.limited(2), d.size)
	} else {
		f.add(d, OfDevice, 2, "a device twice as fast", d.served(d.latency/2, d.latency/2), d.size)
	}
	f.add(d, OfCrowd, 0.5, "half as many in flight", d.crowd(0.5), d.size)
	f.add(d, OfCrowd, 2, "twice as many in flight", d.crowd(2), d.size)
	for _, x := range []struct {
		name  string
		times float64
	}{{"requests half as large", 0.5}, {"requests twice as large", 2}, {"requests four times as large", 4}} {
		f.add(d, OfSize, x.times, x.name, d.sized(f.Limit, x.times), d.size*x.times)
	}
	return f
}

// add puts a change behind the others; in flight is the likely number of who sends.
func (f *Forecast) add(d *device, kind ChangeKind, times float64, name string, ops Range, size float64) {
	latency := 0.0
	if ops.Value > 0 && kind != OfCrowd { // where it depends on who is left, or joins
		latency = max(d.alone/2, d.loops[0].n/ops.Value-d.loops[0].elsewhere)
	}
	f.Changes = append(f.Changes, Change{kind, times, name, ops, size, latency})
}

// served is what is done where a request takes so long: likely, and where the most
// that can be gained is.
func (d *device) served(likely, best float64) Range {
	return ordered(d.loops[0].rate(likely), d.loops[1].rate(likely), d.loops[2].rate(best))
}

// limited is with a limit so many times as high: that, or what comes at the latency of
// requests that are alone on the device.
func (d *device) limited(times float64) Range {
	cap := d.ops * times
	if times <= 1 {
		return Range{cap, cap, cap}
	}
	r := d.served(d.alone, d.alone)
	return ordered(min(cap, r.Value), max(d.ops, min(cap, r.Low)), min(cap, r.High))
}

// crowd is with so many times as many requests in flight. What the device does at a
// depth is known where it was seen there; above that, it does at least as much as now
// and at most in proportion.
func (d *device) crowd(times float64) Range {
	switch {
	case d.flat.Found && times > 1:
		return Range{d.ops, d.ops, d.ops}
	case times > 1:
		all := d.ops * times
		for _, r := range d.rates {
			if r.Depth >= d.loops[0].n*times*0.9 {
				seen := min(all, max(d.ops, r.Ops))
				return Range{seen, min(seen, 0.9*all), all}
			}
		}
		return Range{all, d.ops, all}
	}
	l := d.loops[0]
	l.n = max(1, l.n*times)
	if l.n >= d.loops[0].n {
		return Range{d.ops, d.ops, d.ops} // one at a time already
	}
	slowest, fastest := l.rate(d.latency), min(d.ops, l.rate(d.alone))
	return ordered(math.Sqrt(slowest*fastest), slowest, fastest)
}

// sized is with requests so many times as large. At a limit the rate that it holds
// stays; else a request takes longer, at most in proportion to its size, and likely by
// what is transferred, which is half of one of 256 KiB.
func (d *device) sized(limit string, times float64) Range {
	switch {
	case limit == LimitBytes:
		return Range{d.ops / times, d.ops / times, d.ops / times}
	case limit == LimitOps && times <= 1:
		return Range{d.ops, d.ops, d.ops}
	case limit == LimitOps: // a limit of bytes may be next
		return Range{d.ops, d.ops / times, d.ops}
	}
	const half = 256 << 10
	transfer := d.size / (d.size + half)
	same, all := d.loops[0].rate(d.latency), d.loops[0].rate(d.latency*times)
	return ordered(d.loops[0].rate(d.latency*(1+(times-1)*transfer)), same, all)
}

// ordered is a value and two ends, in whatever order they are.
func ordered(value, a, b float64) Range {
	return Range{value, min(value, a, b), max(value, a, b)}
}
