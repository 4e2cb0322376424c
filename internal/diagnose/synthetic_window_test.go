package diagnose

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"iocause/internal/sample"
)

// synthetic is a window that was never recorded: a machine with processes of
// random habits, whose figures agree with each other (bytes with requests, waits
// with times) but for a few that were then changed at random.
type synthetic struct {
	random  *rand.Rand
	w       *sample.Window
	seconds float64
	devices []string
	cgroups []string
	gone    map[sample.Metric]bool // as if it could not be read
	calm    bool                   // nobody waits or works much
	crowd   bool                   // there are many, and each waits for less than a tenth of its time
	bent    bool                   // some figures do not agree with the rest
}

// syntheticWindow makes the window of a seed; bent when some of its figures do
// not agree with the rest.
func syntheticWindow(seed uint64) (w *sample.Window, bent bool) {
	s := &synthetic{random: rand.New(rand.NewPCG(seed, 1)), gone: map[sample.Metric]bool{}}
	s.seconds = s.between(1, 60)
	s.calm = s.chance(0.3)
	s.w = sample.NewWindow(epoch, time.Duration(s.seconds*1e9))
	for i := range 1 + s.random.IntN(3) {
		s.devices = append(s.devices, fmt.Sprintf("sd%c", 'a'+i))
	}
	s.cgroups = []string{"/", "/a", "/a/b", "/c"}
	for range s.random.IntN(3) { // a few metrics cannot be read
		all := sample.Catalog()
		m := all[s.random.IntN(len(all))].Metric
		s.gone[m] = true
		s.w.Gaps = append(s.w.Gaps, sample.Gap{Metrics: []sample.Metric{m}, Why: string(m) + " could not be read"})
	}
	s.host()
	most := 8
	if s.crowd = !s.calm && s.chance(0.1); s.crowd {
		most = 60
	}
	for pid := 100; pid < 101+s.random.IntN(most); pid++ {
		s.process(pid)
	}
	if s.chance(0.8) { // else an earlier version recorded it
		s.w = accounted(s.w)
	}
	s.settle()
	s.contradict()
	return s.w, s.bent
}

func (s *synthetic) between(from, to float64) float64 { return from + (to-from)*s.random.Float64() }

// scale is a value between from and to, each order of magnitude as likely.
func (s *synthetic) scale(from, to float64) float64 {
	return from * math.Pow(to/from, s.random.Float64())
}

func (s *synthetic) chance(p float64) bool { return s.random.Float64() < p }

// put adds to a counter or sets a gauge.
func (s *synthetic) put(m sample.Metric, e sample.Entity, v float64) {
	if s.gone[m] {
		return
	}
	if old := s.w.Get(m, e); old != nil {
		if units[m].Kind == sample.Counter {
			old.Points[len(old.Points)-1].Value += v
		} else {
			old.Points[len(old.Points)-1].Value = v
		}
		return
	}
	s.w.SetSeries(m, e, &sample.Series{Source: "synthetic", Points: []sample.Point{{At: s.w.Length, Value: v}}})
}

func (s *synthetic) host() {
	none := sample.Entity{}
	total := s.scale(1<<30, 1<<39)
	available := total * s.between(0.001, 0.99)
	cached := available * s.between(0.01, 0.99)
	for m, v := range map[sample.Metric]float64{
		sample.CPUCount: float64(1 + s.random.IntN(64)), sample.MemTotal: total, sample.MemAvailable: available,
		sample.MemCache: cached, sample.MemFree: available - cached, sample.MemDirty: cached * s.between(0, 0.3),
		sample.MemAnon: total - available, sample.MemShmem: (total - available) * s.between(0, 0.5),
		sample.VMDirtyLimit: available * 0.2, sample.VMDirtyBg: available * 0.1,
		sample.CPURunDelay: s.scale(1e-3, 10) * s.seconds, sample.VMSwapIn: 0, sample.VMSwapOut: 0,
	} {
		s.put(m, none, v)
	}
	for _, d := range s.devices {
		at := sample.Entity{Device: d}
		s.put(sample.DeviceReadAhead, at, s.scale(16<<10, 8<<20))
		s.put(sample.DeviceRotate, at, float64(s.random.IntN(2)))
		s.put(sample.DeviceRequests, at, 64)
	}
	for _, c := range s.cgroups[1:] {
		limit := s.scale(16<<20, total)
		used := limit * s.between(0.05, 1)
		s.put(sample.CgroupMemLimit, sample.Entity{Cgroup: c, Class: "max"}, limit)
		s.put(sample.CgroupMemUsage, sample.Entity{Cgroup: c}, used)
		s.put(sample.CgroupMemFile, sample.Entity{Cgroup: c}, used*s.between(0, 1))
		s.put(sample.CgroupMemAnon, sample.Entity{Cgroup: c}, used*s.between(0, 0.5))
		s.put(sample.CgroupLimitHits, sample.Entity{Cgroup: c}, 0)
		s.put(sample.CgroupRefault, sample.Entity{Cgroup: c}, 0)
	}
}

// request counts I/O of a process on a device: by it, by its cgroup and in all.
func (s *synthetic) request(pid int, cgroup, device, class string, n, bytes, latency, queue float64) {
	for _, e := range []sample.Entity{{PID: pid, Device: device}, {Cgroup: cgroup, Device: device}, {Device: device}} {
		e.Class = class
		s.put(sample.BlockOps, e, n)
		s.put(sample.BlockBytes, e, bytes)
		s.put(sample.BlockDeviceTime, e, n*latency)
		s.put(sample.BlockQueueTime, e, n*queue)
		s.put(sample.BlockErrors, e, 0)
	}
	d := sample.Entity{Device: device}
	ops, b, t := sample.DiskReads, sample.DiskReadBytes, sample.DiskReadTime
	if class == "write" {
		ops, b, t = sample.DiskWrites, sample.DiskWriteBytes, sample.DiskWriteTime
	}
	s.put(ops, d, n)
	s.put(b, d, bytes)
	s.put(t, d, n*(latency+queue))
	s.put(sample.DiskWeighted, d, n*(latency+queue))
	size := max(1, math.Round(bytes/max(n, 1)))
	depth := max(1, n*(latency+queue)/s.seconds)
	at := sample.Entity{Device: device, Class: fmt.Sprintf("%s %d %d", class, 1<<int(math.Log2(size)), 1<<int(math.Log2(depth)))}
	s.put(sample.BlockDepthOps, at, n)
	s.put(sample.BlockDepthTime, at, n*(latency+queue))
	s.put(sample.BlockMaxFlight, d, math.Ceil(depth))
	if s.gone[sample.HistDevice] || n < 1 {
		return
	}
	h := &sample.Hist{Histogram: sample.Histogram{Unit: "nanoseconds", Sum: n * latency * 1e9}, Source: "synthetic"}
	h.Counts[sample.Bucket(uint64(latency*1e9))] = uint64(n)
	if old := s.w.Histogram(sample.HistDevice, sample.Entity{Device: device, Class: class}); old != nil {
		h.Merge(&old.Histogram)
	}
	s.w.SetHistogram(sample.HistDevice, sample.Entity{Device: device, Class: class}, h)
}

// process is a program of a random habit: how much of its threads' time it waits,
// in what, and what it does on the way.
func (s *synthetic) process(pid int) {
	cgroup := s.cgroups[s.random.IntN(len(s.cgroups))]
	comm := fmt.Sprintf("p%d", pid%5)
	if s.crowd { // of one name they would be one program
		comm = fmt.Sprintf("p%d", pid)
	}
	s.w.Processes[pid] = sample.Process{Comm: comm, MemoryCgroup: cgroup, IOCgroup: cgroup, CPUCgroup: cgroup}
	e := sample.Entity{PID: pid}
	threads := float64(1 + s.random.IntN(32))
	device := s.devices[s.random.IntN(len(s.devices))]
	latency, queue := s.scale(2e-5, 0.2), 0.0
	if s.chance(0.3) {
		queue = s.scale(1e-5, 1)
	}
	waits := 0.0
	if s.chance(0.7) {
		waits = s.scale(1e-3, 0.98) * threads * s.seconds
	}
	most := 0.9 // of its time on processors, of which there are enough for one thread
	if s.calm {
		waits, most = waits*0.05, 0.1
	}
	if s.crowd {
		threads, queue = 1, 0
		waits = s.between(0.005, 0.04) * s.seconds
	}
	awake := max(0, threads*s.seconds-waits)
	cpu := min(awake, s.seconds) * s.scale(1e-3, most)
	delay := min(awake-cpu, s.seconds) * s.between(0, 0.3*most)
	if s.crowd { // each waits for less than a tenth of the time that it is awake
		cpu = waits * s.between(10, 20)
		delay = cpu / 50
	}
	s.put(sample.ProcRunDelay, e, delay)
	s.put(sample.ProcThreads, e, threads+float64(s.random.IntN(64)))
	s.put(sample.ProcUser, e, cpu*0.7)
	s.put(sample.ProcSystem, e, cpu*0.3)
	s.put(sample.WaitThreads, e, threads)
	n := waits / (latency + queue)
	bytes := n * s.scale(4096, 1<<20)
	file := sample.FileID{Dev: 8 << 20, Ino: uint64(pid)}
	size := s.scale(1<<20, 1<<40)
	s.w.Files[file] = sample.File{Path: fmt.Sprintf("/data/%d", pid), Size: int64(size), Device: device}
	ef := sample.Entity{PID: pid, File: file}
	in := func(class string) { s.put(sample.WaitIO, sample.Entity{PID: pid, Class: class}, waits) }
	switch s.random.IntN(8) {
	case 0, 1: // reads through the cache
		in("read")
		s.request(pid, cgroup, device, "read", n, bytes, latency, queue)
		accesses := bytes / 4096 * s.scale(1, 100)
		again := bytes / 4096 * s.between(0, 1)
		for _, at := range []sample.Entity{{}, e, ef} {
			s.put(sample.CacheAccesses, at, accesses)
			s.put(sample.CacheMisses, at, bytes/4096)
			s.put(sample.CacheInserted, at, bytes/4096)
			s.put(sample.CacheReread, at, again)
			s.put(sample.CacheWait, at, waits)
			s.put(sample.CacheWasted, at, bytes/4096*s.between(0, 0.5))
		}
		s.put(sample.ProcReadBytes, e, bytes)
		s.put(sample.CgroupRefault, sample.Entity{Cgroup: cgroup}, again)
		s.put(sample.VMRefaultFile, sample.Entity{}, again)
	case 2: // reads past it
		in("read")
		s.request(pid, cgroup, device, "read", n, bytes, latency, queue)
		for _, at := range []sample.Entity{e, ef} {
			s.put(sample.DirectReads, at, n)
			s.put(sample.DirectReadBytes, at, bytes)
		}
		s.put(sample.BlockDirect, e, bytes)
		s.put(sample.BlockDirectAgn, e, bytes*s.between(0, 1))
	case 3: // syncs
		in("sync")
		s.request(pid, cgroup, device, "write", n, bytes, latency, queue)
		s.put(sample.CacheDirtied, e, bytes/4096)
		s.put(sample.ProcWriteChars, e, bytes)
		s.put(sample.ProcWriteCalls, e, n)
	case 4: // writes faster than its device
		s.put(sample.WaitDirtyPause, e, waits)
		s.put(sample.DirtyPauses, e, waits/0.1)
		s.request(pid, cgroup, device, "write", n, bytes, latency, queue)
		s.put(sample.CacheDirtied, e, bytes/4096)
		s.put(sample.WritebackRate, e, bytes/4096/s.seconds)
	case 5: // maps
		in("fault")
		s.request(pid, cgroup, device, "read", n, bytes, latency, queue)
		for _, at := range []sample.Entity{{}, e, ef} {
			s.put(sample.CacheMappedMisses, at, bytes/4096)
			s.put(sample.CacheInserted, at, bytes/4096)
			s.put(sample.CacheReread, at, bytes/4096*s.between(0, 1))
		}
		if s.chance(0.3) {
			s.put(sample.BlockSwapIn, e, bytes)
			s.put(sample.VMSwapIn, sample.Entity{}, bytes/4096)
		}
	case 6: // wants memory
		s.put(sample.ReclaimTime, sample.Entity{PID: pid, Class: []string{"host", "cgroup"}[s.random.IntN(2)]}, waits)
		s.put(sample.ReclaimStalls, sample.Entity{PID: pid, Class: "cgroup"}, waits/1e-3)
		s.put(sample.ReclaimThreads, e, threads)
	default: // wants locks
		class := []string{"mmap_lock", "rwsem", "mutex", "other", "futex"}[s.random.IntN(5)]
		s.put(sample.LockWait, sample.Entity{PID: pid, Class: class}, waits)
		s.put(sample.LockWaits, sample.Entity{PID: pid, Class: class}, waits/1e-3)
		s.put(sample.LockThreads, e, threads)
		s.put(sample.LockOwn, e, waits*s.between(0, 1))
		s.put(sample.LockFutexes, sample.Entity{}, s.seconds)
	}
}

// settle makes the sums of what the processes did: devices' times, pressure.
func (s *synthetic) settle() {
	stalled, together := 0.0, 1.0
	for _, pid := range slices.Sorted(maps.Keys(s.w.Processes)) {
		one := 0.0
		for _, class := range []string{"read", "write", "sync", "fault", "other"} {
			t, _ := s.w.Sum(sample.WaitIO, sample.Entity{PID: pid, Class: class})
			threads, _ := s.w.Value(sample.WaitThreads, sample.Entity{PID: pid})
			one = max(one, min(s.seconds, t/max(threads, 1)))
		}
		stalled = max(stalled, one)
		together *= 1 - one/s.seconds
	}
	if s.crowd { // they wait at different times, in front of one processor
		stalled = max(stalled, s.seconds*(1-together))
	}
	if s.chance(0.05) { // by threads that no probe saw
		stalled, s.bent = s.seconds*s.between(0, 1), true
	}
	s.put(sample.PSISome, sample.Entity{Class: "io"}, stalled)
	for _, d := range s.devices {
		e := sample.Entity{Device: d}
		t, _ := s.w.Sum(sample.DiskWeighted, e)
		s.put(sample.DiskBusy, e, min(s.seconds, t))
	}
}

// contradict makes some figures wrong: nothing, far more or far less of one
// metric, everywhere. No verdict may be nonsense for that.
func (s *synthetic) contradict() {
	all := s.w.Metrics()
	for range max(0, s.random.IntN(4)-1) {
		s.bent = true
		m := all[s.random.IntN(len(all))]
		k := []float64{0, 0.01, 0.1, 10, 100}[s.random.IntN(5)]
		s.w.Each(m, func(_ sample.Entity, x *sample.Series) {
			for i := range x.Points {
				x.Points[i].Value *= k
			}
		})
	}
}
