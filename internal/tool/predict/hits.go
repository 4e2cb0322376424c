package predict

import (
	"os"
	"runtime"
	"slices"
	"time"

	"iocause/internal/host"
	"iocause/internal/predict"
	"iocause/internal/sample"
)

// hitCost is what the kernel takes to read cached pages, in seconds for a call and for each
// page that it copies.
type hitCost struct{ call, page float64 }

// costOfHits measures it on this machine, of pages that the processor has in its own
// cache. Both are 0 where that cannot be measured.
func costOfHits() hitCost {
	const pages, rounds = 16, 40
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return hitCost{}
	}
	defer f.Close()
	buf := make([]byte, pages*predict.PageSize)
	least := func(size int) float64 { // of several rounds: others take the processor now and then
		best := time.Hour
		for range rounds {
			began := time.Now()
			for range 10 {
				if _, err := f.ReadAt(buf[:size], 0); err != nil {
					return 0
				}
			}
			best = min(best, time.Since(began)/10)
		}
		return best.Seconds()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	least(len(buf)) // they are cached from then on
	one, many := least(predict.PageSize), least(len(buf))
	page := max(0, (many-one)/(pages-1))
	return hitCost{max(0, one-page), page}
}

// costOfColdPages measures what the kernel takes for a call and for each page of data
// that no processor has in its own cache, as those of a program that goes through more
// than that: pages of iocause's own binary, each once. ok is false where too little of it
// is cached.
func costOfColdPages() (cost hitCost, ok bool) {
	const pages = 16
	f, err := host.OpenCached("/proc/self/exe")
	if err != nil {
		return cost, false
	}
	defer f.Close()
	st, err := os.Stat("/proc/self/exe")
	if err != nil {
		return cost, false
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	buf := make([]byte, pages*predict.PageSize)
	var one, many []float64
	for at, i := int64(0), 0; at+int64(len(buf)) <= st.Size(); at, i = at+int64(len(buf)), i+1 {
		size, to := len(buf), &many
		if i%2 == 0 {
			size, to = predict.PageSize, &one
		}
		began := time.Now()
		n := f.Read(buf[:size], at)
		if took := time.Since(began); n == size {
			*to = append(*to, took.Seconds())
		}
	}
	if len(one) < leastTimed || len(many) < leastTimed {
		return cost, false
	}
	slices.Sort(one)
	slices.Sort(many)
	page := max(0, (predict.Middle(many)-predict.Middle(one))/(pages-1))
	return hitCost{max(0, predict.Middle(one)-page), page}, true
}

// mostTimed is how many calls are timed, and leastTimed how many it takes to tell.
const mostTimed, leastTimed = 512, 32

// timeHits reads watched pages that are cached, of files that the processes in question
// have open, each once: so long a call takes that misses none. Only pages are taken that
// were read twice since they came in, and so are active: one more read changes nothing.
// Others would be kept for it, with all of their folio. Fastest first; nil where there
// are too few. there is what a call takes more because of the programs.
func (o *Observer) timeHits(chosen func(int, string) bool, there float64) []float64 {
	files := map[sample.FileID]*host.CachedFile{}
	for id, known := range o.known(chosen) {
		if f, err := host.OpenCached(known.Link); err == nil {
			defer f.Close()
			files[id] = f
		}
	}
	reads := make([]int, len(o.hashes)) // since it came in
	for i := range o.events {
		switch e := &o.events[i]; e.Kind {
		case predict.Added, predict.Evicted, predict.Dropped:
			reads[e.Page] = 0
		case predict.Read:
			reads[e.Page]++
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	buf := make([]byte, predict.PageSize)
	var times []float64
	for key, page := range o.pages {
		f := files[key.file]
		if f == nil || reads[page] < 2 {
			continue
		}
		began := time.Now()
		n := f.Read(buf, int64(key.page)*predict.PageSize)
		if took := time.Since(began); n > 0 {
			times = append(times, max(0, took.Seconds()-there))
		}
		if len(times) == mostTimed {
			break
		}
	}
	if len(times) < leastTimed {
		return nil
	}
	slices.Sort(times)
	return times
}
