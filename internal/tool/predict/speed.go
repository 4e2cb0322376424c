package predict

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/host"
	"iocause/internal/predict"
	"iocause/internal/procfile"
	"iocause/internal/source/probe/access"
)

// Reading is what those do whose reads are in question; null where they are files.
// Times are of all of their threads together.
type Reading struct {
	Processes int     `json:"processes"`
	Threads   int     `json:"threads"`         // that there were at once, of the processes that live
	Blocked   float64 `json:"blocked_seconds"` // waiting for I/O
	Queued    float64 `json:"queued_seconds"`  // waiting for a processor
	User      float64 `json:"user_seconds"`
	System    float64 `json:"system_seconds"`    // without watching_seconds
	Own       float64 `json:"watching_seconds"`  // what watching them took of their time, in the kernel
	Worked    float64 `json:"miss_work_seconds"` // of system_seconds, for pages that were missed
	Calls     float64 `json:"calls"`             // read calls
	Asking    float64 `json:"cache_calls"`       // of them, those that asked for pages of the cache
	Pages     float64 `json:"cache_pages"`       // that these asked for
	Waiting   float64 `json:"waiting_calls"`     // of these, those that waited for the disk
	Late      float64 `json:"late_calls"`        // of the others, those that lost the processor meanwhile
	PerCall   float64 `json:"hit_call_seconds"`  // processor time that a read call of cached pages takes here, measured
	PerPage   float64 `json:"hit_page_seconds"`  // and each of its pages
	// the same of pages that are in the processor's own cache, and of those that were last
	// used long ago
	warm, warmPage, cold, coldPage float64
	waits                          []predict.Waited
	cycles                         []predict.Waited // of some of those that missed nothing and kept it: to the next one, shortest first
	late                           []predict.Waited // calls that missed nothing and lost the processor
	hits                           []float64        // s that calls took that read a cached page of theirs, fastest first
	ended                          float64          // share of blocked_seconds of processes that have ended: what they ran is not known
}

// work is what a process has done so far.
type work struct {
	start                       string // when it began; "": it had ended
	user, system, queued, calls float64
	threads                     int
}

// workOf reads it from /proc/PID; what cannot be read is 0.
func workOf(h *host.Host, pid int) (w work) {
	const user, system, threads, tick = 11, 12, 17, 0.01 // fields behind the name; USER_HZ is 100
	if f, err := h.StatFields(pid); err == nil && len(f) > host.StatStart {
		w.start = f[host.StatStart]
		w.threads, _ = strconv.Atoi(f[threads])
		a, _ := strconv.ParseUint(f[user], 10, 64)
		b, _ := strconv.ParseUint(f[system], 10, 64)
		w.user, w.system = float64(a)*tick, float64(b)*tick
	}
	name := strconv.Itoa(pid)
	tasks, _ := filepath.Glob(h.Proc(name, "task", "*", "schedstat"))
	for _, t := range tasks {
		b, err := os.ReadFile(t)
		if f := strings.Fields(string(b)); err == nil && len(f) > 1 {
			ns, _ := strconv.ParseUint(f[1], 10, 64)
			w.queued += float64(ns) / 1e9
		}
	}
	if io, err := procfile.ReadIO(h.Proc(name, "io")); err == nil {
		w.calls = float64(io.ReadCalls)
	}
	return w
}

// reading adds up what the processes in question did.
func (o *Observer) reading(chosen func(int, string) bool) *Reading {
	all, err := o.probe.Processes()
	if err != nil {
		return nil
	}
	is := map[int]bool{}
	for i := range o.events {
		if e := &o.events[i]; e.Kind == predict.Read && !is[int(e.pid)] && chosen(int(e.pid), o.cgroups[e.cgroup]) {
			is[int(e.pid)] = true
		}
	}
	r := o.worked(is, all)
	there := r.takeHits(o.hits, costOfHits())
	r.takeOwn(o.own(all, there))
	if r.hits = o.timeHits(chosen, there); len(r.hits) > 0 {
		r.PerCall = max(r.warm, predict.Middle(r.hits)-r.PerPage)
		r.cold = r.PerCall
	}
	waits, err := o.probe.Waits()
	if err != nil {
		return nil
	}
	for _, w := range waits {
		x := predict.Waited{From: w.From.Seconds(), To: w.To.Seconds(), Calls: float64(w.Calls)}
		switch {
		case !is[w.PID]:
		case w.Cycle:
			x.From, x.To = max(0, x.From-there), max(0, x.To-there)
			r.cycles = append(r.cycles, x)
		case w.Hit:
			r.late = append(r.late, x)
			r.Late += x.Calls
		default:
			r.waits = append(r.waits, x)
			r.Waiting += x.Calls
		}
	}
	predict.SortWaits(r.cycles)
	return r
}

// worked adds up what processes have done since they were first seen. Of one that has
// ended, and whose number may be another's now, only that is known which was counted as it
// read.
func (o *Observer) worked(is map[int]bool, all map[int]access.Process) *Reading {
	r, ended := &Reading{Processes: len(is)}, 0.0
	for pid := range is {
		now, was, read := workOf(o.host, pid), o.before[pid], all[pid]
		r.Pages += float64(read.Asked)
		r.Asking += float64(read.Calls)
		r.Blocked += read.Blocked.Seconds()
		r.Worked += read.Worked.Seconds()
		if now.start == "" || now.start != was.start {
			ended += read.Blocked.Seconds()
			continue
		}
		r.Threads += min(read.Threads, max(now.threads, was.threads)) // some may have followed others
		r.Queued += max(0, now.queued-was.queued)
		r.User += max(0, now.user-was.user)
		r.System += max(0, now.system-was.system)
		r.Calls += max(0, now.calls-was.calls)
	}
	if r.Blocked > 0 {
		r.ended = ended / r.Blocked
	}
	return r
}

// mostEnded is the share of the waiting that may be of processes that have ended.
const mostEnded = 0.1

// known tells whether it is known what those did who read, beside waiting for it.
func (r *Reading) known() bool { return r != nil && r.Threads > 0 && r.ended <= mostEnded }

// takeHits takes what reads of cached pages cost here, without the programs and with them
// attached and stopped, and tells what their being there adds to a call.
func (r *Reading) takeHits(without, with hitCost) (there float64) {
	there = max(0, with.call+with.page-without.call-without.page)
	r.warm, r.warmPage = without.call, without.page
	r.cold, r.coldPage = r.warm, r.warmPage
	if cold, ok := costOfColdPages(); ok {
		r.cold, r.coldPage = max(r.warm, cold.call-there), max(r.warmPage, cold.page)
	}
	// What is read in order lies between both: the processor fetches it ahead.
	r.PerCall, r.PerPage = math.Sqrt(r.warm*r.cold), math.Sqrt(r.warmPage*r.coldPage)
	return there
}

// measuring is what the kernel's measuring itself adds to the time of a program's run: of
// programs that return at once it says 47 to 65 ns (6.18).
const measuring = 50e-9

// own is what the programs took of the time of each page that all processes asked for, with
// what their being there adds to each event.
func (o *Observer) own(all map[int]access.Process, there float64) (perPage float64) {
	seconds, runs, ok := o.probe.Cost()
	asked := 0.0
	for _, p := range all {
		asked += float64(p.Asked)
	}
	if !ok || asked == 0 {
		return 0
	}
	return max(0, seconds+runs*(there-measuring)) / asked
}

// takeOwn leaves out what watching took for each page.
func (r *Reading) takeOwn(perPage float64) {
	r.Own = min(r.System, perPage*r.Pages)
	r.System -= r.Own
}

// times is how long read calls take now, where that is known.
func (p *Prediction) times() *predict.Reads {
	r, c := p.Reading, p.Curve
	t := &predict.Reads{Calls: r.Asking, Waits: predict.SortWaits(r.waits), Late: r.late, Rate: func(x *predict.Point) float64 {
		f, ok := p.Faster(x)
		if !ok {
			return 1
		}
		return f.Value * x.Disk / c.Disk
	}}
	if r.Asking <= 0 || len(r.hits) == 0 {
		return t
	}
	more := r.PerPage * max(0, r.Pages/r.Asking-1) // pages of a call
	for _, h := range r.hits {
		t.Hits = append(t.Hits, h+more)
	}
	t.Warm = r.warm + r.warmPage + more
	return t
}

// Faster is by how many times as much is read in a time at another size.
//
// What a thread waits for I/O changes with what comes from disk, and so does the work on
// a processor, down to what it takes where all is cached. The lower end takes the rest of
// its time, in which it neither runs nor waits for I/O or a processor, for work that it
// waits for, which stays; the value and the upper end take it for idleness of threads that
// had nothing to do. Both ends leave room for what the disk does at other times.
func (p *Prediction) Faster(x *predict.Point) (s predict.Share, ok bool) {
	r := p.Reading
	if !r.known() || r.Blocked <= 0 || p.Curve.Disk <= 0 {
		return s, false
	}
	busy, work := r.Blocked+r.Queued+r.User+r.System, r.User+r.System
	rest := max(0, float64(r.Threads)*p.Seconds-r.Own-busy)
	crowd := max(0, busy/p.Seconds/float64(runtime.NumCPU())-1) // threads that wait for a processor for each that has one, where nobody waits for anything else
	of := func(saved, rest, hits float64) float64 {
		then := hits + (work-hits)*(1-saved)
		// they wait for a processor as long as those before them run
		gone := max(0, saved)
		queued := (1-gone)*r.Queued*then/max(work, 1e-9) + gone*then*crowd
		return (busy + rest) / max(r.Blocked*(1-saved)+then+queued+rest, 1e-3*busy)
	}
	likely, ends := r.hitWork(busy/(busy+rest), p.Curve.Now, p.Curve.Disk*p.Seconds)
	// whether what the rest waits for comes as often again or not, nobody knows: between both
	s.Value = math.Sqrt(of(x.Saved.Value, 0, likely) * of(x.Saved.Value, rest, likely))
	s.Low, s.High = s.Value, s.Value
	for _, hits := range append(ends, likely) {
		for _, saved := range []float64{x.Saved.Low, x.Saved.High} {
			for _, rest := range []float64{0, rest} {
				e := of(saved, rest, hits)
				s.Low, s.High = min(s.Low, e), max(s.High, e)
			}
		}
	}
	if x.Memory != p.Place.Memory {
		s.Low, s.High = s.Low*(1-otherTimes), s.High*(1+otherTimes)
	}
	return s, true
}

// hitWork is the processor time that all would take if every page were cached, with ends
// between which it lies. What a program does itself stays, and so does what the kernel does
// that is not for pages that were missed. But where several processes take turns, each finds
// a processor that others have used; calls in a row that miss nothing, the program's own work
// included, were timed one to the next, and the fastest of them are as all are without
// misses. That counts as much as all are busy (who sleeps for other reasons works where no
// two calls are in a row) and as there are hits: pages that have just come from disk are in
// the processor's own cache, which those that are kept for long are not.
func (r *Reading) hitWork(busy, hits, disk float64) (likely float64, ends []float64) {
	more := r.System - r.Worked - switching*r.Waiting
	if disk > farAhead*r.Waiting { // what is read ahead costs calls that miss nothing, too
		more = 0
	}
	stays := func(call, page float64) float64 {
		return r.User + min(r.System, max(call*r.Calls+page*r.Pages, more))
	}
	likely = stays(r.PerCall, r.PerPage)
	if r.warm > 0 {
		ends = []float64{stays(r.warm, r.warmPage), stays(r.cold, r.coldPage)}
	}
	n, sum := 0.0, 0.0
	for _, w := range r.cycles {
		n, sum = n+w.Calls, sum+w.Calls*(w.From+w.To)/2
	}
	if n < leastTimed {
		return likely, ends
	}
	of := func(call float64) float64 { return min(r.User+r.System, call*r.Asking) }
	quick := of(fastest(r.cycles))
	ends = append(ends, likely, quick, of(sum/n))
	if r.Processes > 1 {
		share := busy * min(1, hits/plentyOfHits)
		likely = share*quick + (1-share)*likely
	}
	return likely, ends
}

// fastest is the mean of the fastest third of calls, that no interrupts of requests that end
// and nothing of what they and others leave of the processor's cache made slower.
func fastest(calls []predict.Waited) float64 {
	const parts = 10
	sum := 0.0
	for i := range parts {
		sum += predict.WaitAt(calls, (float64(i)+0.5)/parts/3) / parts
	}
	return sum
}

// farAhead is how many pages come from disk for a call that waits, where they are read ahead.
const farAhead = 4

// switching is what it takes the kernel to give the processor to others and back, for a call
// that waits for a page.
const switching = 2e-6

// plentyOfHits is the hit ratio from which on calls in a row are mostly of pages that were
// kept.
const plentyOfHits = 0.5

// otherTimes is by how much more or less the same load reads from the same disk at
// another time, on a quiet machine: nine of ten lie between.
const otherTimes = 0.12

// lighter is what a direct read takes the kernel of what a miss does: 0.4 with 4 and
// 16 KiB on ext4 of 6.18.
const lighter = 0.4

// direct is by how many times as much is read in a time past the cache: each call waits
// as long as those that wait now, or, where these wait for what is read ahead for many
// calls, only for its own part of that; and it costs the kernel what a miss does.
func (p *Prediction) direct() (s predict.Share, ok bool) {
	r := p.Reading
	if !r.known() || r.Blocked <= 0 || r.Waiting < 1 || r.Asking < r.Waiting || r.Asking == 0 {
		return s, false
	}
	busy := r.Blocked + r.Queued + r.User + r.System
	rest := max(0, float64(r.Threads)*p.Seconds-r.Own-busy)
	hits := min(r.System, r.PerCall*r.Calls+r.PerPage*r.Pages)
	all := r.Asking / r.Waiting // calls that wait then for each that does now
	of := func(wait, work, rest float64) float64 {
		blocked, system := r.Blocked*all*wait, (r.System-hits)*all*work
		queued := r.Queued * (r.User + system) / max(r.User+r.System, 1e-9)
		return (busy + rest) / max(blocked+r.User+system+queued+rest, 1e-9)
	}
	ahead := max(1, p.Curve.Disk*p.Seconds/r.Waiting/max(1, r.Pages/r.Asking)) // calls' worth of pages for each wait
	ends := []float64{of(1, 1, 0), of(1, 1, rest), of(1/ahead, lighter, 0), of(1/ahead, lighter, rest)}
	s.Value, s.Low, s.High = math.Sqrt(ends[0]*ends[2]), slices.Min(ends), slices.Max(ends)
	return s, true
}
