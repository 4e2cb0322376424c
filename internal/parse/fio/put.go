package fio

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// fromCache is the latency below which a read cannot have come from a device:
// 20 us is less than the fastest flash needs.
const fromCache = 20e-6

const page = 4096

// put hands the run over, as the figures of the processes that fio is.
func (x *run) put(into lines.Values) {
	var length float64
	for _, j := range x.jobs {
		for _, d := range directions() {
			if o := j.ops[d]; o != nil {
				o.repair(into)
				length = max(length, o.runtime)
			}
		}
	}
	if length == 0 {
		return // pieces that belong to no run
	}
	x.identify(into)
	var cold, reads float64
	threads := map[int]float64{}
	for _, j := range x.jobs {
		threads[j.pid] += j.threads // in JSON all are of process 0
	}
	for pid, n := range threads {
		into.Put(sample.WaitThreads, sample.Entity{PID: pid}, n)
	}
	for _, j := range x.jobs {
		j.line = max(j.line, 1)
		c, r := x.putJob(j, into)
		cold, reads = cold+c, reads+r
	}
	x.putDisks(cold, reads, length, into)
	into.Tick(length)
}

func directions() []string { return []string{"read", "write", "trim"} }

// identify names the run by what it moved in which time.
func (x *run) identify(into lines.Values) {
	var id []string
	for _, j := range x.jobs {
		for _, d := range directions() {
			if o := j.ops[d]; o != nil {
				id = append(id, fmt.Sprintf("%s %.0f/%.0f", d, o.io, o.runtime*1e3))
			}
		}
	}
	into.Identity(strings.Join(id, " "))
}

// repair mends a run time whose unit does not fit to the amount and the rate.
func (o *operation) repair(into lines.Values) {
	want := o.io / o.bw
	if o.runtime > 0.5*want && o.runtime < 2*want {
		return
	}
	for _, unit := range []float64{1e-6, 1e-3, 1e3, 1e6} {
		if t := o.runtime * unit; t > 0.5*want && t < 2*want {
			into.At(max(o.line, 1))
			into.Doubt(fmt.Sprintf("fio: amount divided by rate is %.4g s, not the %.4g s printed: the unit is damaged", want, o.runtime))
			o.runtime = t
			return
		}
	}
	into.Doubt(fmt.Sprintf("fio: amount divided by rate is %.4g s, not the %.4g s printed", want, o.runtime))
}

// synchronous tells engines that have one operation at a time in each thread.
func (x *run) synchronous() bool {
	switch x.engine {
	case "", "sync", "psync", "vsync", "pvsync", "pvsync2", "mmap":
		return x.depth <= 1 || x.engine != ""
	}
	return false
}

// putJob hands over one section. It returns the bytes that came from a device
// and the bytes read.
func (x *run) putJob(j *job, into lines.Values) (cold, read float64) {
	e := sample.Entity{PID: j.pid}
	into.At(j.line)
	into.Process(j.pid, sample.Process{Comm: "fio"})
	var t float64
	for _, o := range j.ops {
		t = max(t, o.runtime)
	}
	if j.hasCPU {
		into.Put(sample.ProcUser, e, j.usr*t*j.threads)
		into.Put(sample.ProcSystem, e, j.sys*t*j.threads)
	}
	into.Put(sample.CacheAccesses, e, 0)
	into.Put(sample.CacheMisses, e, 0)
	for _, d := range directions()[:2] {
		o := j.ops[d]
		if o == nil {
			continue
		}
		n := x.operations(j, d, o)
		x.putTime(j, d, o, n, into)
		into.At(max(o.line, j.line))
		if d == "write" {
			into.Put(sample.ProcWriteChars, e, o.io)
			into.Put(sample.ProcWriteCalls, e, n)
			if x.direct {
				into.Put(sample.DirectWrites, e, n)
				into.Put(sample.DirectWriteByte, e, o.io)
			}
			continue
		}
		into.Put(sample.ProcReadChars, e, o.io)
		into.Put(sample.ProcReadCalls, e, n)
		read += o.io
		if x.direct {
			into.Put(sample.DirectReads, e, n)
			into.Put(sample.DirectReadBytes, e, o.io)
			cold += o.io
			continue
		}
		cold += x.putCache(j, o, into)
	}
	x.putSync(j, t, into)
	return cold, read
}

// putSync hands over the time that a section spent in fsync and similar. Where
// the report does not tell how many there were, each write had one, as many as
// fit into the run.
func (x *run) putSync(j *job, length float64, into lines.Values) {
	if !j.sync.known || j.sync.mean == 0 || length == 0 {
		return
	}
	n, limit := j.syncs, length*j.threads
	if n == 0 {
		if o := j.ops["write"]; o != nil {
			n = x.operations(j, "write", o)
		}
		n = min(n, limit/j.sync.mean)
	}
	total := n * j.sync.mean
	if into.At(j.sync.line); total > 1.1*limit {
		into.Doubt(fmt.Sprintf("fio: %.0f syncs of %.4g us take longer than the run", n, j.sync.mean*1e6))
		total = limit
	}
	into.Put(sample.ProcSyncCalls, sample.Entity{PID: j.pid}, n)
	into.Put(sample.CallTime, sample.Entity{PID: j.pid, Class: sample.ClassSync}, total)
}

// operations is how many there were.
func (x *run) operations(j *job, direction string, o *operation) float64 {
	n := j.reads
	if direction == "write" {
		n = j.writes
	}
	switch {
	case n > 0:
		return n
	case x.block > 0:
		return o.io / x.block
	}
	return o.iops * o.runtime
}

// putTime hands over the time that operations took.
func (x *run) putTime(j *job, direction string, o *operation, n float64, into lines.Values) {
	e := sample.Entity{PID: j.pid, Class: direction}
	limit := o.runtime * j.threads
	l := o.clat
	if !l.known {
		l = o.lat
	}
	if !x.synchronous() {
		if l.known {
			into.At(l.line)
			e.Class = sample.ClassFlight
			into.Put(sample.CallTime, e, l.mean*n)
		}
		return
	}
	if !l.known { // one at a time in each thread: its operations fill the time
		into.At(max(o.line, 1))
		into.Put(sample.CallTime, e, limit)
		return
	}
	into.At(l.line)
	if total := l.mean * n; total > 1.1*limit {
		into.Doubt(fmt.Sprintf("fio: %.0f %ss of %.4g us take longer than the run", n, direction, l.mean*1e6))
		into.Put(sample.CallTime, e, limit)
		return
	}
	into.Put(sample.CallTime, e, l.mean*n)
}

// putCache tells from the latencies which reads the page cache served, and
// returns the bytes that it did not.
func (x *run) putCache(j *job, o *operation, into lines.Values) float64 {
	hits, how, known := j.hitShare(o)
	if !known {
		into.Note("without latencies fio's report does not show which reads the page cache served")
		return o.io
	}
	if hits > 0 && hits < 1 {
		into.Note(fmt.Sprintf("share of reads from the page cache: those below 20 us, %s", how))
	}
	host := sample.Entity{PID: j.pid}
	keys := []sample.Entity{host}
	if x.file != "" && x.size > 0 {
		id := sample.FileID{Dev: 1, Ino: hash(x.file)}
		into.File(id, sample.File{Path: x.file, Size: int64(min(x.size, math.MaxInt64/2))})
		keys = append(keys, sample.Entity{PID: j.pid, File: id})
	}
	into.At(max(o.clat.line, j.line))
	for _, k := range keys {
		into.Put(sample.CacheAccesses, k, o.io/page)
		into.Put(sample.CacheMisses, k, o.io/page*(1-hits))
	}
	return o.io * (1 - hits)
}

func hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64() | 1
}

// hitShare is the share of reads faster than any device.
func (j *job) hitShare(o *operation) (share float64, how string, known bool) {
	var sum, fast float64
	for _, b := range j.buckets {
		sum += b.share
		if b.upTo <= fromCache*1.001 {
			fast += b.share
		}
	}
	slices.SortFunc(o.points, func(a, b bucket) int { return int(math.Copysign(1, a.share-b.share)) })
	switch {
	case o.clat.known && o.clat.min >= fromCache:
		return 0, "of which there is none", true
	case o.clat.known && o.clat.max < fromCache:
		return 1, "which all are", true
	case len(j.ops) == 1 && sum >= 0.97 && sum <= 1.03: // they hold reads and writes
		return min(1, fast/sum), "from the distribution of latencies", true
	case len(o.points) > 0:
		for _, p := range o.points {
			if p.upTo < fromCache {
				share = p.share
			}
		}
		return share, "at least, from the percentiles of the latency", true
	case o.clat.known && o.clat.mean < fromCache/4:
		return 1, "as their mean suggests", true
	}
	return 0, "", false
}

// putDisks hands over what the devices did. cold is the bytes that did not
// come from the cache, of all those read.
func (x *run) putDisks(cold, read, length float64, into lines.Values) {
	for _, d := range x.disks {
		name := d.name
		if name == "" {
			name = "device"
		}
		e := sample.Entity{Device: name}
		into.At(max(d.line, 1))
		if x.block > 0 && read > 0 && strings.Contains(x.rw, "rand") && x.block <= 128<<10 && len(x.disks) == 1 {
			if want := cold / x.block; want > 1000 && d.reads < 0.6*want {
				into.Doubt(fmt.Sprintf("fio: %.0f device reads cannot serve the %.0f reads with a device's latency: a digit is missing; %.0f is assumed", d.reads, want, want))
				d.reads = want
			}
		}
		into.Put(sample.DiskReads, e, d.reads)
		into.Put(sample.DiskWrites, e, d.writes)
		switch {
		case d.sized:
			into.Put(sample.DiskReadBytes, e, d.readBytes)
			into.Put(sample.DiskWriteBytes, e, d.writeBytes)
		case read > 0:
			into.Put(sample.DiskReadBytes, e, cold)
		}
		if !d.timed {
			continue
		}
		into.Put(sample.DiskReadTime, e, d.readTime)
		into.Put(sample.DiskWriteTime, e, d.writeTime)
		into.Put(sample.DiskWeighted, e, d.queue)
		into.Put(sample.DiskBusy, e, d.util*length)
	}
}
