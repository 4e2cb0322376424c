package diagnose

import (
	"cmp"
	"fmt"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// Windows that were read out of a text (sample.Window.Told) hold what tools
// printed: figures of the host and its devices, seldom of processes. The
// victim is then whoever waits on the host, and causes are judged by figures
// that stand in for the probes'. This file has what is special about that.

// slowCopy is how fast a slow machine copies to or from its page cache, bytes
// a second: calls that take longer than that have waited.
const slowCopy = 1 << 30

// diskSeek is what one random request takes on a hard disk, in seconds; other
// devices are faster.
const diskSeek = 0.010

// calmRate is what may go to and come from devices, bytes a second, without
// anybody having to wait for it.
const calmRate = 1 << 20

// tellVictim picks the host as the victim where no process is seen waiting.
func (c *Case) tellVictim() {
	if !c.w.Told || c.notable(&c.victim) > 0 {
		return
	}
	if v := c.measure(0); c.victim.pid == 0 || c.notable(&v) > 0 {
		c.victim = v
	}
}

// tell adds to a victim what the text says in place of the probes.
func (c *Case) tell(v *victim) {
	if !c.w.Told {
		return
	}
	c.tellCalls(v)
	if c.tellServed(v) {
		return
	}
	s := c.w.Seconds()
	if v.pid == 0 || v.known {
		v.outstanding = max(v.outstanding, c.toldWaiting()/s)
	}
	if flight, ok := c.w.Sum(sample.CallTime, sample.Entity{PID: v.pid, Class: sample.ClassFlight}); ok {
		v.outstanding, v.known = max(v.outstanding, flight/s), true
	}
	if v.pid != 0 || v.known || v.outstanding >= outstandingLimit {
		return
	}
	for _, m := range []struct {
		metric sample.Metric
		entity sample.Entity
	}{{sample.PSISome, sample.Entity{Class: sample.ClassIO}}, {sample.CPUIOWait, sample.Entity{}}} {
		if t, ok := c.w.Sum(m.metric, m.entity); ok && t/s >= waitShareLimit {
			v.wait[sample.ClassOther] = min(s, t)
			v.waitTotal = v.wait[sample.ClassOther]
			return
		}
	}
	share := 0.0
	if d, all := c.sleeping(); all > 0 {
		share = d / all
	}
	if t, journal := c.toldJournal(); journal != "" {
		share = max(share, t)
		v.process.Comm = journal // who syncs a file waits for it
	}
	if n, ok := c.all(sample.TasksHung); ok && n > 0 { // without a break for two minutes, as a rule
		share = 1
	}
	if share >= waitShareLimit {
		v.wait[sample.ClassOther] = s * share
		v.waitTotal = v.wait[sample.ClassOther]
	}
}

// tellCalls takes the times that a program measured itself: what is more than
// its processor time, or than copying takes, it has waited.
func (c *Case) tellCalls(v *victim) {
	system, timed := c.w.Sum(sample.ProcSystem, sample.Entity{PID: v.pid})
	total := 0.0
	calls := map[string]float64{}
	for _, class := range []string{sample.ClassRead, sample.ClassWrite} {
		if t, ok := c.w.Sum(sample.CallTime, sample.Entity{PID: v.pid, Class: class}); ok {
			calls[class] = t
			total += t
			v.known = true
		}
	}
	if t, ok := c.w.Sum(sample.CallTime, sample.Entity{PID: v.pid, Class: sample.ClassSync}); ok { // all of it is waiting
		v.wait[sample.ClassSync] += t
		v.waitTotal += t
		v.known = true
	}
	for class, t := range calls {
		moved, _ := c.w.Sum(map[string]sample.Metric{sample.ClassRead: sample.ProcReadChars, sample.ClassWrite: sample.ProcWriteChars}[class], sample.Entity{PID: v.pid})
		busy := moved / slowCopy
		if timed && total > 0 {
			busy = system * t / total
		}
		v.wait[class] = max(0, t-busy)
		v.waitTotal += v.wait[class]
	}
}

// sleeping is how many threads of a list are in uninterruptible sleep, and how
// many it has.
func (c *Case) sleeping() (d, all float64) {
	c.w.Each(sample.ThreadsInState, func(e sample.Entity, s *sample.Series) {
		n := s.Sum()
		all += n
		if e.Class == sample.ClassBlocked {
			d += n
		}
	})
	return d, all
}

// toldBlind tells whether the text leaves open whether anybody waits.
func (c *Case) toldBlind() bool {
	if c.victim.known {
		return false
	}
	s := c.w.Seconds()
	if t, ok := c.w.Sum(sample.PSISome, sample.Entity{Class: sample.ClassIO}); ok {
		return t/s >= waitShareLimit
	}
	if t, ok := c.all(sample.CPUIOWait); ok && t/s >= waitShareLimit {
		return true
	}
	if c.w.Has(sample.DiskWeighted) || c.w.Has(sample.DiskBusy) {
		busy := false
		for _, m := range []sample.Metric{sample.DiskWeighted, sample.DiskBusy} {
			c.w.Each(m, func(_ sample.Entity, x *sample.Series) { busy = busy || x.Sum()/s >= waitShareLimit })
		}
		return busy
	}
	// vmstat: nobody is blocked, and little goes to or comes from devices
	in, _ := c.all(sample.VMPageIn)
	out, _ := c.all(sample.VMPageOut)
	b := c.w.Get(sample.ProcsBlocked, sample.Entity{})
	return b == nil || b.Mean() >= waitShareLimit || (in+out)/s > calmRate
}

// toldSource is where a figure stands that stands in for another.
func (c *Case) toldSource(m sample.Metric) string {
	for _, other := range map[sample.Metric][]sample.Metric{
		sample.BlockOps:        {sample.DiskReads, sample.DiskWrites, sample.ProcReadCalls, sample.ProcWriteCalls},
		sample.BlockBytes:      {sample.DiskReadBytes, sample.DiskWriteBytes, sample.ProcReadChars, sample.ProcWriteChars},
		sample.BlockDeviceTime: {sample.DiskReadTime, sample.DiskWeighted, sample.CallTime},
		sample.BlockDepthTime:  {sample.HistDevice, sample.DiskReadTime, sample.CallTime},
		sample.BlockBinOps:     {sample.DiskReads},
		sample.BlockBinTime:    {sample.DiskWeighted, sample.DiskReadTime, sample.CallTime},
		sample.WaitIO:          {sample.CallTime, sample.DiskReadTime},
		sample.ProcBlkioDelay:  {sample.CallTime},
		sample.ProcReadBytes:   {sample.VMPageIn},
		sample.CacheReread:     {sample.VMRefaultFile},
	}[m] {
		if at := c.toldOn(other); at != "" {
			return at
		}
	}
	return ""
}

// toldOn is where a metric of the victim's device, or of the host, stands.
func (c *Case) toldOn(m sample.Metric) string {
	for _, e := range []sample.Entity{{Device: c.device}, {PID: c.victim.pid}} {
		if s := c.w.Get(m, e); s != nil {
			return s.Source
		}
	}
	return c.w.Source(m)
}

// deviceTold is what one device did, by the counters that every kernel has.
func (c *Case) deviceTold() deviceView {
	w, s := c.w, c.w.Seconds()
	e := sample.Entity{Device: c.device}
	if c.device == "" {
		if w.Has(sample.DiskReads) || w.Has(sample.DiskReadBytes) {
			return deviceView{known: true, why: "no device did any I/O"}
		}
		if d, ok := c.ownFlight(); ok {
			return d
		}
		return deviceView{why: w.WhyAbsent(sample.BlockOps)}
	}
	sum := func(m sample.Metric) float64 { v, _ := w.Sum(m, e); return v }
	reads := figure.Reads(w, c.device)
	all := reads.Plus(figure.Writes(w, c.device))
	ops, took := all.Count, all.Seconds
	if !w.Has(sample.DiskReads) || !w.Has(sample.DiskReadTime) {
		return deviceView{why: "the pasted output does not show how long requests take: paste iostat -xz 1 5"}
	}
	if ops == 0 {
		return deviceView{known: true, why: c.device + " did no I/O"}
	}
	await, _ := all.Await()
	d := deviceView{
		known: true, ops: ops / s, bytes: (sum(sample.DiskReadBytes) + sum(sample.DiskWriteBytes)) / s,
		latency: await, depth: took / s, size: (sum(sample.DiskReadBytes) + sum(sample.DiskWriteBytes)) / ops,
	}
	if q, ok := w.Sum(sample.DiskWeighted, e); ok {
		d.depth = q / s
	}
	if await, ok := reads.Await(); ok && c.victim.known && c.victim.wait[sample.ClassRead] > 0.8*c.victim.waitTotal {
		// it waits for reads: what others write in the meantime is not its time
		size := sum(sample.DiskReadBytes)
		d.ops, d.latency, d.depth, d.bytes, d.size = reads.Count/s, await, reads.Seconds/s, size/s, size/reads.Count
	}
	d.base, d.baseBound = c.toldBase(&d)
	d.flat = c.findPlateau()
	return d
}

// ownFlight is the device as a program has seen it that measured how long its
// asynchronous requests were in flight, where the text has no figures of devices.
func (c *Case) ownFlight() (deviceView, bool) {
	s := c.w.Seconds()
	flight, ok := c.w.Sum(sample.CallTime, sample.Entity{PID: c.victim.pid, Class: sample.ClassFlight})
	n := c.of(sample.ProcReadCalls) + c.of(sample.ProcWriteCalls)
	if !ok || n == 0 {
		return deviceView{}, false
	}
	moved := c.of(sample.ProcReadChars) + c.of(sample.ProcWriteChars)
	d := deviceView{known: true, ops: n / s, bytes: moved / s, latency: flight / n, depth: flight / s, size: moved / n}
	d.base, d.baseBound = c.toldBase(&d)
	return d, true
}

// toldBase is the latency in the intervals in which one request at a time was
// in flight, else a bound from a histogram of latencies.
func (c *Case) toldBase(d *deviceView) (seconds float64, bound bool) {
	if d.depth <= 1.2 && d.ops*c.w.Seconds() >= baseOps {
		return d.latency, false
	}
	var took, ops float64
	for _, b := range c.toldBins() {
		if b.Depth <= 1.2 && b.Ops*b.Seconds >= baseOps {
			ops += b.Ops * b.Seconds
			took += b.Depth * b.Seconds
		}
	}
	if ops > 0 {
		return took / ops, false
	}
	var h sample.Histogram
	c.w.EachHistogram(sample.HistDevice, func(e sample.Entity, x *sample.Hist) {
		if e.Device == "" || e.Device == c.device {
			h.Merge(&x.Histogram)
		}
	})
	switch {
	case h.N() >= 100:
		return h.Quantile(0.01) / 1e9, true
	case d.depth > 1.2 && d.latency >= slowFlash:
		d.assumed = true
		return c.assumedBase(d), false
	}
	return 0, false
}

// Of a device of which only means are known it can still be told that requests
// queue. A disk that turns serves one request at a time, in the time that it is
// busy for each of them, at most about a seek. Flash takes them side by side, and
// one alone takes it less than flashBase, and the time to move its bytes at
// flashRate; slower than slowFlash it is only for what is in front.
const (
	flashBase = 0.0015    // seconds: a disk over a network of the same data centre
	flashRate = 200 << 20 // bytes a second
	slowFlash = 0.005     // seconds
)

// assumedBase is the latency of one request alone on whichever kind of device it
// is, at most.
func (c *Case) assumedBase(d *deviceView) float64 {
	flash := flashBase + d.size/flashRate
	if busy, ok := c.w.Sum(sample.DiskBusy, sample.Entity{Device: c.device}); ok && d.ops > 0 {
		return max(flash, min(diskSeek, busy/c.w.Seconds()/d.ops))
	}
	return max(flash, diskSeek)
}

// toldBins are the intervals of the device's counters.
func (c *Case) toldBins() []figure.Bin {
	e := sample.Entity{Device: c.device}
	reads := c.w.Get(sample.DiskReads, e)
	if reads == nil || len(reads.Points) < 2 {
		return nil
	}
	slots := map[int64]*figure.Bin{}
	var before float64
	for _, p := range reads.Points {
		slots[int64(p.At)] = &figure.Bin{Seconds: p.At.Seconds() - before}
		before = p.At.Seconds()
	}
	add := func(m sample.Metric, to func(*figure.Bin, float64)) {
		s := c.w.Get(m, e)
		if s == nil {
			return
		}
		for _, p := range s.Points {
			if b := slots[int64(p.At)]; b != nil && b.Seconds > 0 {
				to(b, p.Value/b.Seconds)
			}
		}
	}
	add(sample.DiskReads, func(b *figure.Bin, v float64) { b.Ops += v })
	add(sample.DiskWrites, func(b *figure.Bin, v float64) { b.Ops += v })
	add(sample.DiskReadBytes, func(b *figure.Bin, v float64) { b.Bytes += v })
	add(sample.DiskWriteBytes, func(b *figure.Bin, v float64) { b.Bytes += v })
	add(sample.DiskReadTime, func(b *figure.Bin, v float64) { b.Depth += v })
	add(sample.DiskWriteTime, func(b *figure.Bin, v float64) { b.Depth += v })
	var out []figure.Bin
	for _, b := range slots {
		if b.Seconds > 0 {
			out = append(out, *b)
		}
	}
	return out
}

// noCapTold says what a text tells of a cap of the device when no plateau was
// found.
func (c *Case) noCapTold(d *deviceView) Verdict {
	if d.depth < 1.5 {
		return no(fmt.Sprintf("only %.1f requests are in flight on average: that does not fill a device", d.depth))
	}
	return cannotTell(fmt.Sprintf("a cap shows as a constant rate while the number in flight varies, but that is always %.1f here: compare %.0f operations/s and %s/s with the limits of %s",
		d.depth, d.ops, bytes(d.bytes), c.device))
}

// deviceEvidenceTold is what every device cause shows of a text.
func (c *Case) deviceEvidenceTold(d *deviceView) []Evidence {
	e := append(c.callEvidence(), []Evidence{
		c.figure("operations on "+cmp.Or(c.device, "the device"), d.ops, "count/s", sample.BlockOps).as("operations"),
		c.figure("latency", d.latency, "seconds", sample.BlockDeviceTime),
		c.figure("mean in flight", d.depth, "count", sample.BlockBinTime),
	}...)
	if d.bytes > 0 {
		e = append(e, c.figure("bandwidth of "+cmp.Or(c.device, "the device"), d.bytes, "bytes/s", sample.BlockBytes).as("bandwidth"))
	}
	if busy, ok := c.w.Sum(sample.DiskBusy, sample.Entity{Device: c.device}); ok {
		e = append(e, Evidence{Name: "of the time with I/O in flight", Value: busy / c.w.Seconds(), Unit: "ratio", Source: c.toldOn(sample.DiskBusy)})
	}
	if d.base > 0 && d.depth > 1.2 {
		name := "latency with one in flight"
		if d.baseBound {
			name = "fastest percent of requests"
		}
		one := c.figure(name, d.base, "seconds", sample.BlockDepthTime).as("base-latency")
		if d.assumed {
			one.Name, one.Source = "one request alone, at most", "derived from the time busy"
		}
		e = append(e, one)
	}
	return e
}

// callEvidence is what the victim itself measured of its calls.
func (c *Case) callEvidence() []Evidence {
	var out []Evidence
	for _, k := range []struct {
		class string
		calls sample.Metric
	}{{sample.ClassRead, sample.ProcReadCalls}, {sample.ClassWrite, sample.ProcWriteCalls}, {sample.ClassSync, sample.ProcSyncCalls}} {
		t, ok := c.w.Sum(sample.CallTime, sample.Entity{PID: c.victim.pid, Class: k.class})
		if n := c.of(k.calls); ok && n > 0 {
			out = append(out, c.figure(k.class+"s of "+c.victim.process.Comm, n/c.w.Seconds(), "count/s", k.calls).as("calls"),
				Evidence{ID: "time-of-one-call", Name: "time of one " + k.class, Value: t / n, Unit: "seconds",
					Source: c.w.Get(sample.CallTime, sample.Entity{PID: c.victim.pid, Class: k.class}).Source})
		}
	}
	return out
}
