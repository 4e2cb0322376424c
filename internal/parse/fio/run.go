package fio

import (
	"cmp"
	"strconv"
	"strings"

	"iocause/internal/parse/lines"
)

// run is one run of fio.
type run struct {
	rw, engine string
	block      float64 // bytes of one operation, 0 not known
	depth      float64
	file       string
	size       float64 // of the file, 0 not known
	direct     bool
	jobs       []*job
	disks      []disk
	closed     bool // the totals were seen
}

// job is one section of a report: a job, or a group of like jobs.
type job struct {
	name     string
	pid      int
	threads  float64
	ops      map[string]*operation // by direction
	last     string                // the direction that lines now speak of
	usr, sys float64               // shares of the run time of one thread
	hasCPU   bool
	reads    float64 // issued; -1 not known
	writes   float64
	sync     latency // of fsync and similar
	syncs    float64 // issued; 0 not known
	buckets  []bucket
	line     int
}

type bucket struct{ upTo, share float64 }

// operation is the figures of one direction.
type operation struct {
	iops, bw, io, runtime float64 // a second, bytes a second, bytes, seconds
	clat, lat             latency
	points                []bucket // percentiles: up to this latency, this share
	line                  int
}

type latency struct {
	min, max, mean float64 // seconds
	known          bool
	line           int
}

type disk struct {
	name                                      string
	reads, writes, readTime, writeTime, queue float64 // requests, seconds
	readBytes, writeBytes                     float64
	util                                      float64
	timed                                     bool
	sized                                     bool // the bytes are known
	line                                      int
}

// sector is the unit of the kernel's counts of what disks move, in bytes.
const sector = 512

// job is the section that lines now speak of.
func (x *run) job() *job {
	if len(x.jobs) == 0 {
		x.jobs = []*job{newJob()}
	}
	return x.jobs[len(x.jobs)-1]
}

func newJob() *job { return &job{threads: 1, ops: map[string]*operation{}, reads: -1, writes: -1} }

// measured tells whether any figure of the run was seen.
func (x *run) measured() bool { return x.ended() || len(x.jobs) > 0 }

// ended tells whether what comes after the jobs was seen.
func (x *run) ended() bool { return x.closed || len(x.disks) > 0 }

// options takes what a command says.
func (x *run) options(command string) {
	f := strings.Fields(strings.ReplaceAll(command, "=", " "))
	for i := 0; i+1 < len(f); i++ {
		v := f[i+1]
		switch f[i] {
		case "--rw", "--readwrite":
			x.rw = v
		case "--bs", "--blocksize":
			x.block, _ = lines.Binary(v, 1)
		case "--ioengine":
			x.engine = v
		case "--iodepth":
			x.depth, _ = lines.Number(v)
		case "--filename":
			x.file = v
		case "--filesize", "--size":
			x.size, _ = lines.Binary(v, 1)
		case "--direct":
			x.direct = v != "0"
		}
	}
}

// described takes the line that opens a job: what it is about to do.
func (x *run) described(rw, block, engine, depth string) {
	x.rw, x.engine = rw, engine
	if v, ok := lines.Binary(block, 1); ok && v > 0 {
		x.block = v
	}
	if v, ok := lines.Number(depth); ok {
		x.depth = v
	}
}

func (x *run) begin(name, threads, pid string, n int) (lines.Use, error) {
	p, err := strconv.Atoi(pid)
	if err != nil || p > 1<<22 {
		return broken("the pid", pid)
	}
	for _, old := range x.jobs {
		if old.pid == p && p != 0 {
			return lines.Another, nil
		}
	}
	if len(x.jobs) >= 4096 {
		return broken("the number of jobs", ">4096")
	}
	j := newJob()
	j.name, j.pid, j.line = name, p, n
	if v, ok := lines.Number(threads); ok {
		j.threads = max(1, v)
	}
	x.jobs = append(x.jobs, j)
	return lines.Used, nil
}

// operation takes the line of one direction.
func (x *run) operation(direction, iops, bw, io, runtime, unit string, n int) (lines.Use, error) {
	o := operation{line: n}
	var ok [4]bool
	o.iops, ok[0] = lines.Scaled(iops)
	o.bw, ok[1] = lines.Binary(strings.ReplaceAll(bw, " ", ""), 1)
	o.io, ok[2] = lines.Binary(io, 1)
	o.runtime, ok[3] = lines.Number(runtime)
	o.runtime *= seconds(unit)
	if ok != [4]bool{true, true, true, true} || o.io == 0 || o.runtime == 0 || o.bw == 0 {
		return broken("an operation's line", iops+" "+bw+" "+io+" "+runtime)
	}
	if x.ended() || direction == "" && len(x.job().ops) > 0 {
		return x.same(&o), nil
	}
	direction = cmp.Or(direction, x.direction())
	if j := x.job(); j.ops[direction] != nil {
		old := j.ops[direction]
		if old.io == o.io && old.iops == o.iops {
			return lines.Used, nil // the same again
		}
		return lines.Another, nil
	} else {
		j.ops[direction], j.last = &o, direction
		j.line = cmp.Or(j.line, n)
	}
	return lines.Used, nil
}

// same tells whether a quoted line repeats one of the run, or begins another.
func (x *run) same(o *operation) lines.Use {
	for _, j := range x.jobs {
		for _, old := range j.ops {
			if old.io == o.io && old.iops == o.iops {
				return lines.Used
			}
		}
	}
	return lines.Another
}

// direction is what the run is known to do, where a line does not say.
func (x *run) direction() string {
	if strings.Contains(x.rw, "write") {
		return "write"
	}
	return "read"
}

// latencyOf reads what fio prints of latencies, in that unit, on line n.
func latencyOf(unit, low, high, mean string, n int) (v latency, ok bool) {
	lowest, ok1 := lines.Scaled(low)
	highest, ok2 := lines.Scaled(high)
	middle, ok3 := lines.Scaled(mean)
	scale := seconds(unit)
	return latency{known: true, line: n, min: lowest * scale, max: highest * scale, mean: middle * scale}, ok1 && ok2 && ok3
}

func (x *run) latency(kind, unit, low, high, mean string, n int) (lines.Use, error) {
	if x.ended() && x.job().last == "" {
		return lines.Another, nil
	}
	v, ok := latencyOf(unit, low, high, mean, n)
	if !ok {
		return broken("a latency", low+" "+high+" "+mean)
	}
	j := x.job()
	o := j.ops[j.last]
	if o == nil {
		return lines.Skipped, nil // of which run is not known
	}
	to := &o.clat
	if kind == "lat" {
		to = &o.lat
	}
	if !to.known {
		*to = v
	}
	return lines.Used, nil
}

// percentile takes one point of the distribution.
func (j *job) percentile(share, latency float64) {
	if o := j.ops[j.last]; o != nil && len(o.points) < 64 && share <= 1 {
		o.points = append(o.points, bucket{latency, share})
	}
}

func (j *job) shares(unit float64, all [][]string) {
	for _, m := range all {
		upTo, ok1 := lines.Number(m[2])
		share, ok2 := lines.Percent(m[3])
		if ok1 && ok2 && len(j.buckets) < 64 {
			j.buckets = append(j.buckets, bucket{upTo * unit, share})
		}
	}
}

func (x *run) processor(usr, sys string) (lines.Use, error) {
	u, ok1 := lines.Percent(usr)
	s, ok2 := lines.Percent(sys)
	if !ok1 || !ok2 {
		return broken("the processor time", usr+" "+sys)
	}
	j := x.job()
	j.usr, j.sys, j.hasCPU = u, s, true
	return lines.Used, nil
}

// synced takes the latency of fsync, fdatasync or sync_file_range.
func (x *run) synced(unit, low, high, mean string, n int) (lines.Use, error) {
	v, ok := latencyOf(unit, low, high, mean, n)
	if !ok {
		return broken("the latency of syncs", low+" "+high+" "+mean)
	}
	if j := x.job(); !j.sync.known {
		j.sync = v
	}
	return lines.Used, nil
}

func (x *run) count(reads, writes, syncs string) (lines.Use, error) {
	r, ok1 := lines.Number(reads)
	w, ok2 := lines.Number(writes)
	if !ok1 || !ok2 {
		return broken("what was issued", reads+" "+writes)
	}
	j := x.job()
	j.reads, j.writes = r, w
	j.syncs, _ = lines.Number(syncs) // older reports do not tell
	// a quoted line without its direction: this says which it was
	if o := j.ops["read"]; o != nil && r == 0 && w > 0 && j.ops["write"] == nil {
		j.ops = map[string]*operation{"write": o}
		j.last = "write"
	}
	return lines.Used, nil
}

func (x *run) disk(f []string, n int) (lines.Use, error) {
	var v [10]float64
	for i, s := range f[1:] {
		v[i], _ = lines.Number(s)
	}
	if len(x.disks) >= 256 {
		return broken("the number of disks", ">256")
	}
	for _, d := range x.disks {
		if d.name == f[0] {
			return lines.Skipped, nil
		}
	}
	x.disks = append(x.disks, disk{
		name: f[0], reads: v[0], writes: v[1], readTime: v[6] / 1e3, writeTime: v[7] / 1e3,
		queue: v[8] / 1e3, util: min(v[9]/100, 1), timed: f[9] != "", line: n,
		readBytes: v[2] * sector, writeBytes: v[3] * sector, sized: f[3] != "",
	})
	return lines.Used, nil
}

// total takes the line of a group; alone it is a run by itself.
func (x *run) total(direction, io, runtime, unit string) (lines.Use, error) {
	x.closed = true
	size, ok1 := lines.Binary(io, 1)
	t, ok2 := lines.Number(runtime)
	if !ok1 || !ok2 || t == 0 || size == 0 || len(x.jobs) > 0 {
		return lines.Used, nil
	}
	j := x.job()
	t *= seconds(unit)
	j.ops[strings.ToLower(direction)] = &operation{io: size, runtime: t, bw: size / t}
	j.last = strings.ToLower(direction)
	return lines.Used, nil
}
