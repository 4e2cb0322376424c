package diagnose

import (
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"iocause/internal/sample"
)

// mostPressure is the share of the window from which on a stall of some thread for I/O, by
// the kernel's own account, rules "healthy" out, where no thread of the kernel waits.
const mostPressure = 0.25

// TestSynthetic judges windows that nobody recorded: a verdict may not be right
// of them, but it may not be nonsense. IOCAUSE_SYNTHETIC is how many, or which, as
// 200000..400000 (the last one is left out); `make laws` takes a million, in half an hour.
func TestSynthetic(t *testing.T) {
	from, to := uint64(0), uint64(5000)
	if v := os.Getenv("IOCAUSE_SYNTHETIC"); v != "" {
		first, last, part := strings.Cut(v, "..")
		if !part {
			first, last = "0", v
		}
		var err1, err2 error
		from, err1 = strconv.ParseUint(first, 10, 64)
		if to, err2 = strconv.ParseUint(last, 10, 64); err1 != nil || err2 != nil || to <= from {
			t.Fatalf("IOCAUSE_SYNTHETIC: %q is neither a number nor FROM..TO", v)
		}
	}
	n := to - from
	type broken struct {
		times int
		seed  uint64
		why   string
	}
	var mutex sync.Mutex
	laws, primaries := map[string]*broken{}, map[ID]int{}
	var wait sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for worker := range workers {
		wait.Go(func() {
			mine := map[ID]int{}
			for seed := from + uint64(worker); seed < to; seed += uint64(workers) {
				w, bent := syntheticWindow(seed)
				r := Judge(w, Target{})
				mine[r.Primary]++
				breaks(w, bent, r, func(law, why string) {
					mutex.Lock()
					defer mutex.Unlock()
					if laws[law] == nil {
						laws[law] = &broken{seed: seed, why: why}
					}
					laws[law].times++
				})
			}
			mutex.Lock()
			defer mutex.Unlock()
			for id, k := range mine {
				primaries[id] += k
			}
		})
	}
	wait.Wait()
	for _, law := range slices.Sorted(maps.Keys(laws)) {
		b := laws[law]
		t.Errorf("%s: %d of %d windows, as that of seed %d: %s", law, b.times, n, b.seed, b.why)
	}
	for _, id := range slices.Sorted(maps.Keys(primaries)) {
		t.Logf("%7d %s", primaries[id], id)
	}
	for _, c := range List() {
		if primaries[c.ID] == 0 {
			t.Logf("no window has %s", c.ID)
		}
	}
}

// breaks names the laws that a report breaks. Of a bent window a part may be more
// than the whole, and then a report says so.
func breaks(w *sample.Window, bent bool, r *Report, say func(law, why string)) {
	for i := range r.Findings {
		f := &r.Findings[i]
		for _, v := range []float64{f.Confidence, f.Weight} {
			if !(v >= 0 && v <= 1) {
				say("a share is not from 0 to 1", fmt.Sprintf("%s: confidence %g, weight %g", f.Cause, f.Confidence, f.Weight))
			}
		}
		for _, e := range f.Evidence {
			if math.IsNaN(e.Value) || math.IsInf(e.Value, 0) {
				say("evidence is no number", fmt.Sprintf("%s: %s is %g", f.Cause, e.Name, e.Value))
			}
			if e.Value < 0 && !bent {
				say("evidence is below zero", fmt.Sprintf("%s: %s is %g %s", f.Cause, e.Name, e.Value, e.Unit))
			}
			if !bent && e.Unit == "ratio" && e.Value > 1+1e-9 && !strings.Contains(e.Name, "processor") && !strings.Contains(e.Name, "latency to") && !strings.Contains(e.Name, "amplification") {
				say("a part is more than the whole: "+string(f.Cause)+": "+e.Name, fmt.Sprintf("%g", e.Value))
			}
		}
		for _, a := range f.Advice {
			if text := a.Do + " " + a.Expect; notNumber.MatchString(text) {
				say("advice of no number", string(f.Cause)+": "+text)
			}
			if from, to, ok := raised(a.Do); ok && to <= from {
				say("advice lowers a limit that it calls raised", string(f.Cause)+": "+a.Do)
			}
		}
		if f.Cause == Healthy {
			unwell(w, r, say)
		} else if why := contradicts(w, f, r.Victim.PID); why != "" {
			say("a figure contradicts "+string(f.Cause), why)
		}
	}
	if total, of := explained(r.Findings); total > 1+1e-9 {
		say("causes of different waits explain more than all waiting", fmt.Sprintf("%.3f: %v", total, of))
	}
	if r.Primary != Unknown && (len(r.Findings) == 0 || r.Findings[0].Cause != r.Primary) {
		say("the primary cause is not the first finding", string(r.Primary))
	}
}

// unwell says what rules "healthy" out.
func unwell(w *sample.Window, r *Report, say func(law, why string)) {
	if p, ok := w.Sum(sample.PSISome, sample.Entity{Class: "io"}); ok && p/w.Seconds() >= mostPressure {
		say("healthy with I/O pressure", fmt.Sprintf("%.2f of the time", p/w.Seconds()))
	}
	for pid := range w.Processes {
		waits := 0.0
		for _, class := range []string{"read", "write", "sync", "fault", "other"} {
			v, _ := w.Sum(sample.WaitIO, sample.Entity{PID: pid, Class: class})
			waits += v
		}
		pause, _ := w.Sum(sample.WaitDirtyPause, sample.Entity{PID: pid})
		threads, _ := w.Value(sample.WaitThreads, sample.Entity{PID: pid})
		if threads == 0 { // lost: those that were awake are no fewer
			threads, _ = w.Value(sample.WaitRan, sample.Entity{PID: pid})
		}
		if share := (waits + pause) / (w.Seconds() * max(1, threads)); share > waitShareLimit {
			say("healthy while a program waits", fmt.Sprintf("process %d for %.2f of its threads' time", pid, share))
		}
	}
}

var (
	notNumber = regexp.MustCompile(`\b(NaN|Inf)\b`)
	raising   = regexp.MustCompile(`raise .* from ([0-9.,]+) ([KMGT]?i?B) to (?:about |at least )?([0-9.,]+) ([KMGT]?i?B)`)
)

// raised reads "raise X from A to B".
func raised(text string) (from, to float64, ok bool) {
	m := raising.FindStringSubmatch(text)
	if m == nil {
		return 0, 0, false
	}
	size := func(n, unit string) float64 {
		v, err := strconv.ParseFloat(strings.ReplaceAll(n, ",", ""), 64)
		if err != nil {
			return math.NaN()
		}
		return v * math.Pow(1024, float64(strings.Index("BKMGT", unit[:1])))
	}
	return size(m[1], m[2]), size(m[3], m[4]), true
}

// waitsOf are causes that explain different waits, which therefore do not explain
// more than all of them together.
var waitsOf = map[ID]string{
	"sync-writes": "syncs", "journal-commit": "the journal", "dirty-throttling": "pauses", "reclaim-stall": "memory", "compaction-stall": "memory", "swap-thrash": "swap",
	"lock-contention": "locks", "cpu-saturated": "processors", "direct-io": "direct reads",
	"cache-busting": "cached reads", "cold-cache": "cached reads", "cgroup-cache-limit": "cached reads",
	"cache-pollution": "cached reads", "readahead-waste": "cached reads", "metadata-bound": "cached reads",
}

// explained is the part of the waiting that findings explain together. A limit that makes
// a program read again explains the room that this takes, too.
func explained(found []Finding) (sum float64, of map[string]float64) {
	of = map[string]float64{}
	for _, f := range found {
		kind := waitsOf[f.Cause]
		if kind == "" || f.WeightOf != OfWaiting {
			continue
		}
		if kind == "memory" && slices.ContainsFunc(found, func(g Finding) bool { return g.Cause == CgroupCacheLimit }) {
			kind = waitsOf[CgroupCacheLimit]
		}
		of[kind] = max(of[kind], f.Weight)
	}
	for _, w := range of {
		sum += w
	}
	return sum, of
}

// contradicts names a figure of the window without which a cause cannot be: it was
// measured, and it is zero, or on the wrong side.
func contradicts(w *sample.Window, f *Finding, victim int) string {
	theirs := map[int]bool{} // and those of like processes, of which one stands for all
	for pid, p := range w.Processes {
		for _, one := range []int{victim, f.Culprit.PID} {
			if of := w.Processes[one]; pid == one || one != 0 && p.Comm == of.Comm && p.MemoryCgroup == of.MemoryCgroup {
				theirs[pid] = true
			}
		}
	}
	of := func(ms ...sample.Metric) (sum float64, known bool) {
		for _, m := range ms {
			for pid := range theirs {
				w.Each(m, func(e sample.Entity, s *sample.Series) {
					known = true
					if e.PID == pid && e.File == (sample.FileID{}) {
						sum += s.Sum()
					}
				})
			}
		}
		return sum, known
	}
	zero := func(what string, ms ...sample.Metric) string {
		if v, known := of(ms...); known && v == 0 {
			return "no " + what
		}
		return ""
	}
	switch f.Cause {
	case "dirty-throttling":
		return zero("pause of the writer", sample.WaitDirtyPause)
	case "swap-thrash":
		return zero("byte from swap", sample.BlockSwapIn, sample.BlockSwapOut)
	case "reclaim-stall":
		return zero("time in reclaim", sample.ReclaimTime, sample.CompactTime)
	case "lock-contention":
		return zero("wait for a lock", sample.LockWait)
	case "direct-io":
		return zero("direct byte", sample.DirectReadBytes, sample.DirectWriteByte, sample.BlockDirect)
	case "cold-cache", "cache-busting", "cgroup-cache-limit", "cache-pollution", "cache-squeezed", "readahead-waste":
		return zero("page from disk", sample.CacheMisses, sample.CacheMappedMisses, sample.CacheInserted)
	case "cpu-saturated":
		return zero("wait for a processor", sample.ProcRunDelay)
	case "sync-writes":
		sync, known := 0.0, w.Has(sample.WaitIO)
		for pid := range theirs {
			v, _ := w.Sum(sample.WaitIO, sample.Entity{PID: pid, Class: "sync"})
			sync += v
		}
		if known && sync == 0 {
			return "no wait in a sync"
		}
	case "noisy-neighbour":
		if f.Culprit.PID != 0 && f.Culprit.PID == victim {
			return "the victim is its own neighbour"
		}
	case "device-latency-bound", "device-queueing", "device-iops-limit", "device-bandwidth-limit":
		ops, known := 0.0, false
		w.Each(sample.BlockOps, func(e sample.Entity, s *sample.Series) {
			known = true
			if e.Device == f.Culprit.Device {
				ops += s.Sum()
			}
		})
		if known && ops == 0 {
			return "no request on " + f.Culprit.Device
		}
	}
	return ""
}
