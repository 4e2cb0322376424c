package fio

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"iocause/internal/parse/lines"
)

// jsonLimit is how much of a report in JSON is kept, in bytes.
const jsonLimit = 16 << 20

// json collects a report until its braces balance. It begins with the line of
// the version; the brace before that is put back.
func (r *reader) json(text string, n int) (lines.Use, error) {
	if r.depth == 0 {
		if r.run.measured() || r.buffer.Len() > 0 {
			return lines.Another, nil
		}
		r.depth = 1
		r.buffer.WriteString("{")
	}
	if c := strings.TrimSpace(text); c != "" && !strings.ContainsRune("\"{}[],-0123456789tfn", rune(c[0])) {
		r.depth, r.dead = 0, true
		return lines.Foreign, nil // cut off
	}
	if r.buffer.Len()+len(text) > jsonLimit {
		r.depth, r.dead = 0, true
		return lines.Broken, fmt.Errorf("the JSON is larger than %d MiB", jsonLimit>>20)
	}
	r.buffer.WriteString(text)
	r.buffer.WriteByte('\n')
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			r.depth++
		case c == '}':
			r.depth--
		}
		if r.depth == 0 {
			return r.decode(n)
		}
	}
	r.dead = true // until it ends
	return lines.Used, nil
}

type document struct {
	Version string `json:"fio version"`
	Jobs    []struct {
		Name    string            `json:"jobname"`
		Options map[string]string `json:"job options"`
		Read    direction         `json:"read"`
		Write   direction         `json:"write"`
		Sync    struct {
			Total float64 `json:"total_ios"`
			Lat   struct {
				Min  float64 `json:"min"`
				Max  float64 `json:"max"`
				Mean float64 `json:"mean"`
				N    float64 `json:"N"`
			} `json:"lat_ns"`
		} `json:"sync"`
		Usr   float64            `json:"usr_cpu"`
		Sys   float64            `json:"sys_cpu"`
		Nano  map[string]float64 `json:"latency_ns"`
		Micro map[string]float64 `json:"latency_us"`
		Milli map[string]float64 `json:"latency_ms"`
	} `json:"jobs"`
	Global map[string]string `json:"global options"`
	Disks  []struct {
		Name       string  `json:"name"`
		ReadIOs    float64 `json:"read_ios"`
		WriteIOs   float64 `json:"write_ios"`
		Read       *uint64 `json:"read_sectors"`
		Written    uint64  `json:"write_sectors"`
		ReadTicks  float64 `json:"read_ticks"`
		WriteTicks float64 `json:"write_ticks"`
		InQueue    float64 `json:"in_queue"`
		Util       float64 `json:"util"`
	} `json:"disk_util"`
}

type direction struct {
	Bytes   float64 `json:"io_bytes"`
	KBytes  float64 `json:"io_kbytes"`
	IOPS    float64 `json:"iops"`
	Runtime float64 `json:"runtime"` // ms
	Total   float64 `json:"total_ios"`
	Clat    spread  `json:"clat_ns"`
	Micro   spread  `json:"clat"` // of version 2, in microseconds
}

// spread is what fio tells of latencies.
type spread struct {
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
}

func (s *spread) latency(unit float64, n int) latency {
	return latency{min: s.Min * unit, max: s.Max * unit, mean: s.Mean * unit, known: true, line: n}
}

func (r *reader) decode(n int) (lines.Use, error) {
	var d document
	err := json.Unmarshal([]byte(r.buffer.String()), &d)
	r.dead = err != nil
	if err != nil {
		return lines.Broken, fmt.Errorf("reading the JSON: %w", err)
	}
	x := &r.run
	old := strings.HasPrefix(d.Version, "fio-2.") // its io_bytes are KiB
	x.option(d.Global)
	for i, from := range d.Jobs {
		if i >= 4096 {
			break
		}
		x.option(from.Options)
		j := newJob()
		j.name, j.line = from.Name, n
		if v, err := strconv.Atoi(cmp.Or(from.Options["numjobs"], d.Global["numjobs"])); err == nil && v > 0 && len(d.Jobs) == 1 {
			j.threads = float64(v)
		}
		j.usr, j.sys, j.hasCPU = from.Usr/100, from.Sys/100, true
		j.reads, j.writes = from.Read.Total, from.Write.Total
		if l := from.Sync.Lat; l.Mean > 0 {
			j.sync = latency{min: l.Min / 1e9, max: l.Max / 1e9, mean: l.Mean / 1e9, known: true, line: n}
			j.syncs = max(l.N, from.Sync.Total)
		}
		from.Read.into(j, "read", old, n)
		from.Write.into(j, "write", old, n)
		for unit, shares := range map[float64]map[string]float64{1e-9: from.Nano, 1e-6: from.Micro, 1e-3: from.Milli} {
			for upTo, percent := range shares {
				if v, ok := lines.Number(strings.TrimPrefix(upTo, ">=")); ok && len(j.buckets) < 64 {
					j.buckets = append(j.buckets, bucket{v * unit, percent / 100})
				}
			}
		}
		x.jobs = append(x.jobs, j)
	}
	for _, k := range d.Disks {
		if len(x.disks) < 256 {
			y := disk{
				name: k.Name, reads: k.ReadIOs, writes: k.WriteIOs, readTime: k.ReadTicks / 1e3,
				writeTime: k.WriteTicks / 1e3, queue: k.InQueue / 1e3, util: min(k.Util/100, 1), timed: true, line: n,
			}
			if k.Read != nil {
				y.readBytes, y.writeBytes, y.sized = float64(*k.Read)*sector, float64(k.Written)*sector, true
			}
			x.disks = append(x.disks, y)
		}
	}
	x.closed = true
	return lines.Used, nil
}

// option takes options as the JSON lists them.
func (x *run) option(all map[string]string) {
	var command []string
	for k, v := range all {
		command = append(command, "--"+k, v)
	}
	x.options(strings.Join(command, " "))
}

func (d *direction) into(j *job, name string, old bool, n int) {
	io := max(d.Bytes, d.KBytes*1024)
	if old && d.KBytes == 0 {
		io = d.Bytes * 1024
	}
	if io == 0 || d.Runtime == 0 {
		return
	}
	t := d.Runtime / 1e3
	o := &operation{iops: d.IOPS, io: io, runtime: t, bw: io / t, line: n}
	switch {
	case d.Clat.Mean > 0:
		o.clat = d.Clat.latency(1e-9, n)
	case old && d.Micro.Mean > 0:
		o.clat = d.Micro.latency(1e-6, n)
	}
	j.ops[name], j.last = o, name
}
