package sysstat

import (
	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

func (r *reader) processors(v map[string]float64, f map[string]string, into lines.Values) {
	if f["CPU"] != "all" && f["CPU"] != "-1" {
		return
	}
	lines.Processors(into, r.cpus, r.every, func(name string) float64 { return v["%"+name] })
}

func (r *reader) memory(v map[string]float64, _ map[string]string, into lines.Values) {
	kb := func(m sample.Metric, names ...string) {
		t, any := 0.0, false
		for _, name := range names {
			x, ok := v[name]
			t, any = t+x, any || ok
		}
		if any {
			into.Put(m, sample.Entity{}, t*1024)
		}
	}
	kb(sample.MemFree, "kbmemfree")
	kb(sample.MemAvailable, "kbavail")
	kb(sample.MemCache, "kbbuffers", "kbcached")
	kb(sample.MemDirty, "kbdirty")
}

func (r *reader) swap(v map[string]float64, _ map[string]string, into lines.Values) {
	into.Put(sample.SwapFree, sample.Entity{}, v["kbswpfree"]*1024)
	into.Put(sample.SwapTotal, sample.Entity{}, (v["kbswpfree"]+v["kbswpused"])*1024)
}

func (r *reader) paging(v map[string]float64, _ map[string]string, into lines.Values) {
	for _, x := range []struct {
		column string
		metric sample.Metric
		unit   float64
	}{
		{"pgpgin/s", sample.VMPageIn, 1024}, {"pgpgout/s", sample.VMPageOut, 1024}, {"majflt/s", sample.VMMajorFault, 1},
		{"pgscank/s", sample.VMScanKswapd, 1}, {"pgscand/s", sample.VMScanDirect, 1},
	} {
		if y, ok := v[x.column]; ok {
			into.Put(x.metric, sample.Entity{}, y*x.unit*r.every)
		}
	}
}

func (r *reader) swapping(v map[string]float64, _ map[string]string, into lines.Values) {
	into.Put(sample.VMSwapIn, sample.Entity{}, v["pswpin/s"]*r.every)
	into.Put(sample.VMSwapOut, sample.Entity{}, v["pswpout/s"]*r.every)
}

func (r *reader) queue(v map[string]float64, _ map[string]string, into lines.Values) {
	into.Put(sample.ProcsRunning, sample.Entity{}, v["runq-sz"])
	if b, ok := v["blocked"]; ok {
		into.Put(sample.ProcsBlocked, sample.Entity{}, b)
	}
}

// pressure reads a table of sar -q of stalls: the shares of the interval itself.
func (r *reader) pressure(v map[string]float64, _ map[string]string, into lines.Values) {
	for _, x := range []struct {
		column string
		metric sample.Metric
		class  string
	}{
		{"%scpu", sample.PSISome, "cpu"}, {"%sio", sample.PSISome, "io"}, {"%fio", sample.PSIFull, "io"},
		{"%smem", sample.PSISome, "memory"}, {"%fmem", sample.PSIFull, "memory"},
	} {
		if share, ok := v[x.column]; ok {
			into.Put(x.metric, sample.Entity{Class: x.class}, min(share, 100)/100*r.every)
		}
	}
}
