package diagnose

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"iocause/internal/sample"
)

// A change is another window of a machine on which the same is slow for the same
// reason, and the same question asked of it. It never writes to what it is given.
type change struct {
	name string
	do   func(w *sample.Window, target Target, random *rand.Rand) (*sample.Window, Target)
}

// changes are what a verdict must not depend on. Of processors there is none: a window
// has no figure of a single one. It counts them (cpu.count, proc.processors), and adds up
// what they did.
func changes() []change {
	return []change{
		{"rename processes", renameProcesses},
		{"permute pids", permutePIDs},
		{"permute devices", permuteDevices},
		{"permute cgroups", permuteCgroups},
		{"half as fast", halfAsFast},
		{"split processes", splitProcesses},
		{"add idle threads", addIdleThreads},
		{"add idle processes", addIdleProcesses},
		{"shift the clock", shiftClock},
		{"drop a tenth of events", dropEvents},
		{"repeat the window", repeatWindow},
	}
}

// units are the catalog by name.
var units = func() map[sample.Metric]sample.Info {
	all := map[sample.Metric]sample.Info{}
	for _, i := range sample.Catalog() {
		all[i.Metric] = i
	}
	return all
}()

// copied is a window with the same processes, files and gaps, whose series and
// histograms are what the two functions make of each; what is nil is left out.
func copied(w *sample.Window, series func(sample.Metric, sample.Entity, *sample.Series) (sample.Entity, *sample.Series),
	shape func(sample.Metric, sample.Entity, *sample.Hist) (sample.Entity, *sample.Hist),
) *sample.Window {
	to := sample.NewWindow(w.Start, w.Length)
	to.Processes, to.Files, to.Gaps, to.Told = maps.Clone(w.Processes), maps.Clone(w.Files), slices.Clone(w.Gaps), w.Told
	for _, m := range w.Metrics() {
		w.Each(m, func(e sample.Entity, s *sample.Series) {
			if e, s := series(m, e, &sample.Series{Source: s.Source, Points: slices.Clone(s.Points)}); s != nil {
				to.SetSeries(m, e, s)
			}
		})
		w.EachHistogram(m, func(e sample.Entity, h *sample.Hist) {
			now := *h
			if e, h := shape(m, e, &now); h != nil {
				to.SetHistogram(m, e, h)
			}
		})
	}
	return to
}

// mapped is a window on other entities.
func mapped(w *sample.Window, f func(sample.Entity) sample.Entity) *sample.Window {
	return copied(w, func(_ sample.Metric, e sample.Entity, s *sample.Series) (sample.Entity, *sample.Series) {
		return f(e), s
	},
		func(_ sample.Metric, e sample.Entity, h *sample.Hist) (sample.Entity, *sample.Hist) { return f(e), h })
}

// keptShape leaves histograms as they are.
func keptShape(_ sample.Metric, e sample.Entity, h *sample.Hist) (sample.Entity, *sample.Hist) {
	return e, h
}

// sortedPIDs are all processes that the window tells of.
func sortedPIDs(w *sample.Window) []int {
	pids := map[int]bool{}
	for pid := range w.Processes {
		pids[pid] = true
	}
	for _, m := range w.Metrics() {
		w.Each(m, func(e sample.Entity, _ *sample.Series) { pids[e.PID] = true })
	}
	delete(pids, 0)
	return slices.Sorted(maps.Keys(pids))
}

// renameProcesses gives every program another name, and the programs of one name
// one. What the kernel's threads are called tells what they are.
func renameProcesses(w *sample.Window, target Target, random *rand.Rand) (*sample.Window, Target) {
	other := otherNames(random)
	name := func(comm string) string { return strings.Replace(other(comm), "nvme", "x", 1) }
	to := mapped(w, func(e sample.Entity) sample.Entity { return e })
	for pid, p := range to.Processes {
		if !p.Kernel {
			p.Comm = name(p.Comm)
			to.Processes[pid] = p
		}
	}
	target.Comm = name(target.Comm)
	return to, target
}

func permutePIDs(w *sample.Window, target Target, random *rand.Rand) (*sample.Window, Target) {
	pids := sortedPIDs(w)
	fresh := random.Perm(len(pids))
	now := map[int]int{0: 0}
	for i, pid := range pids {
		now[pid] = 100 + fresh[i]
	}
	to := mapped(w, func(e sample.Entity) sample.Entity { e.PID = now[e.PID]; return e })
	to.Processes = map[int]sample.Process{}
	for pid, p := range w.Processes {
		to.Processes[now[pid]] = p
	}
	target.PIDs = slices.Clone(target.PIDs)
	for i, pid := range target.PIDs {
		if n, ok := now[pid]; ok {
			target.PIDs[i] = n
		} else {
			target.PIDs[i] = pid + 1<<20 // it is in no series: nobody else must have its number now
		}
	}
	return to, target
}

func permuteDevices(w *sample.Window, target Target, random *rand.Rand) (*sample.Window, Target) {
	now := otherNames(random)
	to := mapped(w, func(e sample.Entity) sample.Entity { e.Device = now(e.Device); return e })
	for id, f := range to.Files {
		f.Device = now(f.Device)
		to.Files[id] = f
	}
	target.Device = now(target.Device)
	return to, target
}

// otherNames gives another name for each, in no order of the old ones, and of one
// seed always the same.
func otherNames(random *rand.Rand) func(string) string {
	salt := random.Uint32()
	return func(name string) string {
		if name == "" {
			return ""
		}
		h := fnv.New32a()
		_, _ = fmt.Fprintf(h, "%d %s", salt, name)
		return fmt.Sprintf("nvme%dn1", h.Sum32()>>8)
	}
}

// permuteCgroups renames each part of the paths, so that what is below what
// stays so.
func permuteCgroups(w *sample.Window, target Target, random *rand.Rand) (*sample.Window, Target) {
	now := otherNames(random)
	path := func(p string) string {
		parts := strings.Split(p, "/")
		for i, part := range parts {
			parts[i] = strings.Replace(now(part), "nvme", "c", 1)
		}
		return strings.Join(parts, "/")
	}
	to := mapped(w, func(e sample.Entity) sample.Entity { e.Cgroup = path(e.Cgroup); return e })
	for pid, p := range to.Processes {
		p.MemoryCgroup, p.IOCgroup, p.CPUCgroup = path(p.MemoryCgroup), path(p.IOCgroup), path(p.CPUCgroup)
		to.Processes[pid] = p
	}
	target.Cgroup = path(target.Cgroup)
	return to, target
}

// halfAsFast is a machine that takes twice as long for all that it does: every
// time doubles, every count stays, and what is a second (limits) halves.
func halfAsFast(w *sample.Window, target Target, _ *rand.Rand) (*sample.Window, Target) {
	to := copied(w, func(m sample.Metric, e sample.Entity, s *sample.Series) (sample.Entity, *sample.Series) {
		k := 1.0
		switch m {
		case sample.CgroupIOLimit, sample.WritebackRate, sample.NetSpeed:
			k = 0.5
		default:
			if units[m].Unit == sample.Seconds {
				k = 2
			}
		}
		binned := strings.HasPrefix(string(m), "block.bin_") || strings.HasPrefix(string(m), "block.fine_")
		// where the two stand, so that each is in a bin of its own: see figure.DeviceBins and bursts
		halves := []time.Duration{-50 * time.Millisecond, 50 * time.Millisecond}
		if strings.HasPrefix(string(m), "block.fine_") {
			halves = []time.Duration{-fineBin, 0}
		}
		var points []sample.Point
		for _, p := range s.Points {
			if binned { // what came in one bin comes in two
				for _, at := range halves {
					points = append(points, sample.Point{At: 2*p.At + at, Value: p.Value * k / 2})
				}
				continue
			}
			points = append(points, sample.Point{At: 2 * p.At, Value: p.Value * k})
		}
		s.Points = points
		return e, s
	}, func(_ sample.Metric, e sample.Entity, h *sample.Hist) (sample.Entity, *sample.Hist) {
		if h.Unit == "nanoseconds" {
			last := h.Counts[len(h.Counts)-1]
			copy(h.Counts[1:], h.Counts[:len(h.Counts)-1])
			h.Counts[len(h.Counts)-1] += last
			h.Counts[0] = 0
			h.Sum *= 2
		}
		return e, h
	})
	to.Length *= 2
	return to, target
}

// splitProcesses makes two of every program: of one with several threads two with
// half of them each, of one with a single thread two that run one after the other.
// Each has half of what was counted, and is all that the other is.
func splitProcesses(w *sample.Window, target Target, _ *rand.Rand) (*sample.Window, Target) {
	pids := sortedPIDs(w)
	twin := map[int]int{}
	next := 1
	if len(pids) > 0 {
		next = pids[len(pids)-1] + 1
	}
	for _, pid := range pids {
		if !w.Processes[pid].Kernel {
			twin[pid] = next
			next++
		}
	}
	// half of a value belongs to each, but for sizes and the longest of something.
	share := func(m sample.Metric, pid int, v float64) (a, b float64) {
		switch m {
		case sample.WaitThreads, sample.WaitHeld, sample.WaitRan, sample.ReclaimThreads, sample.LockThreads, sample.ProcThreads:
			a = math.Ceil(v / 2)
			return a, max(v-a, min(v, 1))
		case sample.WaitWorst: // of two at a time both have such a thread, as far as there is so much to wait
			if waiting, _ := w.Value(sample.WaitThreads, sample.Entity{PID: pid}); waiting > 1 {
				v = min(v, blockedIn(w, pid)/2)
				return v, v
			}
		case sample.CacheLongest, sample.WritebackRate:
			return v, v
		}
		return v / 2, v / 2
	}
	to := copied(w, func(m sample.Metric, e sample.Entity, s *sample.Series) (sample.Entity, *sample.Series) {
		if twin[e.PID] != 0 {
			for i := range s.Points {
				s.Points[i].Value, _ = share(m, e.PID, s.Points[i].Value)
			}
		}
		return e, s
	}, keptShape)
	for _, m := range w.Metrics() {
		w.Each(m, func(e sample.Entity, s *sample.Series) {
			if twin[e.PID] == 0 {
				return
			}
			other := &sample.Series{Source: s.Source, Points: slices.Clone(s.Points)}
			for i := range other.Points {
				_, other.Points[i].Value = share(m, e.PID, other.Points[i].Value)
			}
			e.PID = twin[e.PID]
			to.SetSeries(m, e, other)
		})
	}
	newest := time.Duration(0)
	for _, p := range w.Processes {
		newest = max(newest, p.Start)
	}
	for pid, other := range twin {
		if p, ok := w.Processes[pid]; ok {
			if threads, _ := w.Value(sample.ProcThreads, sample.Entity{PID: pid}); threads <= 1 {
				p.Start = newest + w.Length/2 // when the first one has ended
			}
			to.Processes[other] = p
		}
	}
	target.PIDs = slices.Clone(target.PIDs)
	for _, pid := range slices.Clone(target.PIDs) {
		if twin[pid] != 0 {
			target.PIDs = append(target.PIDs, twin[pid])
		}
	}
	return to, target
}

// blockedIn is the seconds, summed over threads, that a process is blocked on I/O or
// paused.
func blockedIn(w *sample.Window, pid int) float64 {
	sum, _ := w.Sum(sample.WaitDirtyPause, sample.Entity{PID: pid})
	w.Each(sample.WaitIO, func(e sample.Entity, s *sample.Series) {
		if e.PID == pid && e.Class != sample.ClassAsync {
			sum += s.Sum()
		}
	})
	return sum
}

// accounted is a window of an earlier version as today's accounts for it, which follows
// each thread: all that waited wait alike, and compute alike. A window that has that
// account, or never can have it, stays as it is.
func accounted(w *sample.Window) *sample.Window {
	if w.Told || !w.Has(sample.WaitIO) || w.Has(sample.WaitWeighted) || w.Has(sample.WaitSnapshots) {
		return w
	}
	to := mapped(w, func(e sample.Entity) sample.Entity { return e })
	seconds := w.Seconds()
	for _, pid := range sortedPIDs(w) {
		e := sample.Entity{PID: pid}
		waits := blockedIn(w, pid)
		if waits == 0 {
			continue
		}
		of := func(m sample.Metric) float64 { v, _ := w.Sum(m, e); return v }
		threads, _ := w.Value(sample.WaitThreads, e)
		threads = max(1, threads, math.Ceil(waits/seconds))
		computed := of(sample.ProcUser) + of(sample.ProcSystem) + of(sample.ProcRunDelay)
		own := min(waits+computed, threads*seconds) // of the threads that waited
		ran, held := threads, threads
		if computed > own-waits {
			ran += math.Ceil((computed - (own - waits)) / seconds)
		}
		if waits < waitShareLimit*own {
			held = 0
		}
		for m, v := range map[sample.Metric]float64{
			sample.WaitAwake: waits + computed, sample.WaitWeighted: waits * waits / own, sample.WaitWorst: waits / threads,
			sample.WaitHeld: held, sample.WaitRan: ran,
		} {
			to.SetSeries(m, e, &sample.Series{Source: "test", Points: []sample.Point{{At: w.Length, Value: v}}})
		}
	}
	return to
}

// addIdleThreads gives every program a pool of threads that do nothing, but that each
// of them woke up once: some ran for a moment, some read a page on the way, and where
// memory is short some had to free a little. A thread that waited for a lock for 10 ms,
// from which on lock.threads counts it, is not idle.
func addIdleThreads(w *sample.Window, target Target, random *rand.Rand) (*sample.Window, Target) {
	const woke = 1e-4 // seconds that each of them was awake
	idle := float64(1 + random.IntN(200))
	ran := math.Ceil(idle * random.Float64())
	waited := math.Ceil(ran * random.Float64())
	raise := map[sample.Metric]float64{
		sample.ProcThreads: idle, sample.WaitRan: ran, sample.WaitThreads: waited, sample.WaitHeld: waited, sample.ReclaimThreads: waited,
		sample.WaitAwake: ran * woke, sample.WaitWeighted: waited * woke / 4,
	}
	if w.Told { // a text counts those that it tells of
		raise = map[sample.Metric]float64{sample.ProcThreads: idle}
	}
	to := copied(w, func(m sample.Metric, e sample.Entity, s *sample.Series) (sample.Entity, *sample.Series) {
		if n := len(s.Points); n > 0 && units[m].Kind == sample.Counter {
			s.Points[n-1].Value += raise[m]
			return e, s
		}
		for i := range s.Points {
			if s.Points[i].Value > 0 { // of who never waited there is no row
				s.Points[i].Value += raise[m]
			}
		}
		return e, s
	}, keptShape)
	for _, pid := range sortedPIDs(w) {
		if w.Told || to.Get(sample.WaitThreads, sample.Entity{PID: pid}) == nil {
			continue
		}
		e := sample.Entity{PID: pid, Class: sample.ClassOther}
		s := &sample.Series{Source: to.Source(sample.WaitIO), Points: []sample.Point{{At: w.Length, Value: 0}}}
		if old := to.Get(sample.WaitIO, e); old != nil && len(old.Points) > 0 {
			s = old
		}
		s.Points[len(s.Points)-1].Value += waited * woke / 2
		to.SetSeries(sample.WaitIO, e, s)
	}
	return to, target
}

// addIdleProcesses adds programs that wake up now and then for nearly nothing.
func addIdleProcesses(w *sample.Window, target Target, random *rand.Rand) (*sample.Window, Target) {
	to := mapped(w, func(e sample.Entity) sample.Entity { return e })
	pids := sortedPIDs(w)
	next := 1
	if len(pids) > 0 {
		next = pids[len(pids)-1] + 1
	}
	if w.Told {
		return to, target // a text may tell of no process at all, and then one of nearly nothing is whom it tells of
	}
	put := func(m sample.Metric, e sample.Entity, v float64) {
		if w.Has(m) { // what no process has could not be read
			to.SetSeries(m, e, &sample.Series{Source: w.Source(m), Points: []sample.Point{{At: w.Length, Value: v}}})
		}
	}
	for pid := next; pid < next+1+random.IntN(50); pid++ {
		to.Processes[pid] = sample.Process{Comm: fmt.Sprintf("idle%d", pid), MemoryCgroup: "/", IOCgroup: "/", CPUCgroup: "/"}
		e := sample.Entity{PID: pid}
		put(sample.ProcUser, e, 0.001)
		put(sample.ProcRunDelay, e, 0.0001)
		put(sample.ProcThreads, e, 4)
		put(sample.WaitThreads, e, 1)
		put(sample.WaitRan, e, 1)
		put(sample.WaitAwake, e, 0.0013)
		put(sample.WaitWeighted, e, 0.00003)
		put(sample.WaitWorst, e, 0.0002)
		put(sample.WaitHeld, e, 1)
		put(sample.WaitIO, sample.Entity{PID: pid, Class: "other"}, 0.0002)
	}
	return to, target
}

func shiftClock(w *sample.Window, target Target, random *rand.Rand) (*sample.Window, Target) {
	to := mapped(w, func(e sample.Entity) sample.Entity { return e })
	to.Start = to.Start.Add(time.Duration(random.Int64N(int64(365 * 24 * time.Hour))))
	return to, target
}

// dropEvents loses a tenth of what the kernel programs saw, as when a map is
// full: of one program a little more than of another. An event is lost whole, its
// bytes and its time with it. What the kernel itself counts stays.
func dropEvents(w *sample.Window, target Target, random *rand.Rand) (*sample.Window, Target) {
	kept := map[string]float64{}
	for _, room := range []string{"cache", "direct", "wait", "block", "writeback", "reclaim", "lock"} {
		kept[room] = 0.89 + 0.02*random.Float64()
	}
	return copied(w, func(m sample.Metric, e sample.Entity, s *sample.Series) (sample.Entity, *sample.Series) {
		room, _, _ := strings.Cut(string(m), ".")
		if k, ok := kept[room]; ok && units[m].Kind == sample.Counter {
			for i := range s.Points {
				s.Points[i].Value *= k
			}
		}
		return e, s
	}, func(m sample.Metric, e sample.Entity, h *sample.Hist) (sample.Entity, *sample.Hist) {
		for i, n := range h.Counts {
			h.Counts[i] = n - n/10
		}
		h.Sum *= 0.9
		return e, h
	}), target
}

// repeatWindow goes on for as long again, with the same in it. What fills in a text goes on filling;
// what is followed is followed on; and of reads at random more come back, the more there were.
func repeatWindow(w *sample.Window, target Target, _ *rand.Rand) (*sample.Window, Target) {
	to := copied(w, func(m sample.Metric, e sample.Entity, s *sample.Series) (sample.Entity, *sample.Series) {
		times, more := 1.0, 0.0
		switch n := float64(len(s.Points)); {
		case m == sample.LockFutexes:
			more = s.Last()
		case m == sample.BlockDirectAgn:
			times = againLater(w, e.PID)
		case w.Told && n >= 2 && units[m].Kind == sample.Gauge && units[m].Unit == sample.Bytes:
			more = (s.Last() - s.Points[0].Value) * n / (n - 1)
		}
		for _, p := range slices.Clone(s.Points) {
			s.Points = append(s.Points, sample.Point{At: p.At + w.Length, Value: times*p.Value + more})
		}
		return e, s
	}, func(_ sample.Metric, e sample.Entity, h *sample.Hist) (sample.Entity, *sample.Hist) {
		for i := range h.Counts {
			h.Counts[i] *= 2
		}
		h.Sum *= 2
		return e, h
	})
	to.Length *= 2
	return to, target
}

// againLater is how many times as many of a process's direct reads come back in the second
// of two like windows. Of N draws from D pages N - D(1-exp(-N/D)) had been drawn before.
// Who comes back to less than that reads its files in some order, and goes on so.
func againLater(w *sample.Window, pid int) float64 {
	e := sample.Entity{PID: pid}
	read, _ := w.Sum(sample.BlockDirect, e)
	again, _ := w.Sum(sample.BlockDirectAgn, e)
	size := 0.0
	w.Each(sample.DirectReadBytes, func(of sample.Entity, _ *sample.Series) {
		if of.PID == pid {
			size += float64(w.Files[of.File].Size)
		}
	})
	came := func(n float64) float64 { return n + size*math.Expm1(-n/size) }
	if size == 0 || again < 0.9*came(read) {
		return 1
	}
	return came(2*read)/came(read) - 1
}
