package predict

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
)

// PageSize is the page that reads, sizes and the trace are counted in, in bytes.
const PageSize = 4096

// Setting is where the pages are kept: a memory cgroup with a limit, or the host.
type Setting struct {
	Memory int64   // bytes: the limit, or what the machine has
	Cache  int64   // bytes: page cache of it, all that could be evicted
	Room   int64   // bytes: what the cache could have; more than Cache while memory is free
	Active float64 // share of the cache that is on the active list
	Host   bool    // it is the host
	Lists  Lists   // how the kernel keeps the pages
}

// Lists is how a kernel keeps the pages of its cache.
type Lists int

// The kinds.
const (
	TwoLists      Lists = iota // an active list and an inactive one
	MGLRU                      // generations, by the rules of Linux 6.12
	MGLRUSince614              // by those of Linux 6.14
)

// Point is what a size of memory would do. Ratios are of the pages asked for.
type Point struct {
	Memory int64   `json:"memory_bytes"`
	Cache  int64   `json:"cache_bytes"` // what of it page cache can have
	Hit    float64 `json:"hit_ratio"`
	Low    float64 `json:"hit_ratio_low"`
	High   float64 `json:"hit_ratio_high"`
	Disk   float64 `json:"disk_reads_per_s"` // pages that come from disk, at the rate of asking of now
	Saved  Share   `json:"disk_reads_saved"` // of those of now; negative: so many more
	LRU    float64 `json:"hit_ratio_lru"`    // of a cache that evicts what was used longest ago: reference
	Median *Share  `json:"read_p50_seconds"` // of read calls; null where it is not known
	P99    *Share  `json:"read_p99_seconds"`
	Open   bool    `json:"open"` // the window was too short to fill a cache of that size: the interval is what is possible
}

// Share is a part with the interval that nine of ten such statements lie in.
type Share struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Curve is what sizes of memory would do, smallest first.
type Curve struct {
	Points    []Point `json:"points"`
	Now       float64 `json:"hit_ratio_now"`             // measured, of the watched pages
	Model     float64 `json:"hit_ratio_now_by_model"`    // what the model says of the size of now
	Disk      float64 `json:"disk_reads_now_per_s"`      // measured: pages, read-ahead included
	Used      float64 `json:"disk_pages_used_now_per_s"` // of these, the ones that anybody asked for
	Asked     float64 `json:"pages_asked_per_s"`
	Sampled   int     `json:"sampled_accesses"`
	Pages     int     `json:"sampled_pages"`
	Scale     int     `json:"one_page_in"`
	Early     Share   `json:"-"`               // hit ratio in the first part of the time that is judged, and its range over time
	Wanders   float64 `json:"hit_ratio_range"` // how far apart the hit ratio of parts of the window is
	Distinct  float64 `json:"distinct_bytes"`  // different pages that were used in the window
	Elsewhere float64 `json:"-"`               // bytes that are cached when the trace ends beyond what this cache has then, at least: pages of other cgroups
	around    *around // where what is read ahead is simulated
	lags      bool    // which rule of the kernel's was found to hold: follow
	near      float64 // share of what is asked for that was asked for just before
}

// What is too little to say anything. Errors wrap one of these.
var (
	ErrNothing = errors.New("no read through the page cache was seen")
	ErrFew     = errors.New("too few reads were seen")
	ErrMapped  = errors.New("files were read through mappings only")
)

// least is how many reads of watched pages there must be.
const least = 300

// Sizes are the memories of a curve: from a quarter to four times, and those
// that are asked for.
func Sizes(memory int64, asked []int64) []int64 {
	sizes := slices.Clone(asked)
	for step := -8; step <= 8; step++ {
		sizes = append(sizes, int64(float64(memory)*math.Pow(2, float64(step)/4)))
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// Work works the curve out.
func Work(t *Trace, s Setting, sizes []int64) (*Curve, error) {
	if err := t.enough(); err != nil {
		return nil, err
	}
	p := t.prepare(watched(s.Cache, t.Scale), s)
	now := p.observed()
	asked, _, _, disk := now.sums(now.settled)
	seconds := t.Length.Seconds() * float64(blocks-now.settled) / blocks
	if asked < least/2 {
		return nil, fmt.Errorf("%w: %.0f watched pages in the second half of the window", ErrFew, asked)
	}
	scale := float64(t.Scale)
	missed, _ := now.missing()
	c := &Curve{Now: 1 - missed, Disk: disk * scale / seconds, Used: now.used() * scale / seconds, Asked: now.all() * scale / seconds, Sampled: len(t.Events), Pages: t.Pages, Scale: t.Scale,
		Distinct: float64(t.Pages) * scale * PageSize, Wanders: now.wanders()}
	if n := float64(t.left()); !s.Host {
		c.Elsewhere = max(0, (n-4*math.Sqrt(n))*scale*PageSize-float64(s.Cache))
	}
	taken := s.Memory - s.Room
	var fit []int64
	var rooms []int
	for _, m := range sizes {
		if room := watched(m-taken, t.Scale); room >= 8 {
			fit, rooms = append(fit, m), append(rooms, room)
		}
	}
	ready := make(chan *histogram, 1)
	go func() { ready <- p.histogram() }() // beside the sizes
	var base *tally
	here := max(1, watched(s.Cache, t.Scale))
	if t.Places != nil && c.unused() >= 0.02 {
		base = p.aheadOfMisses(here, c, perAsked(now))
	} else {
		base = p.follow(here, c.Now)
	}
	c.around = p.around
	c.lags = p.lags
	tallies := p.all(rooms, map[int]*tally{here: base})
	missed, _ = base.missing()
	c.Model = 1 - missed
	stack := <-ready
	c.near = max(0, 1-(1-stack.hit(watched(warm, p.Scale)))*asked/now.all()) // of all: the hottest pages may not be watched
	for i, m := range fit {
		c.Points = append(c.Points, c.point(p, tallies[i], base, now, m, m-taken, stack))
	}
	c.widen(s.Memory)
	return c, nil
}

// watched is how many watched pages so many bytes hold.
func watched(bytes int64, scale int) int { return int(max(0, bytes) / PageSize / int64(scale)) }

// enough fails for a trace that says too little.
func (t *Trace) enough() error {
	reads, faults := t.Uses()
	switch {
	case reads == 0 && faults > 0:
		return fmt.Errorf("%w: accesses through mappings leave no trace", ErrMapped)
	case reads == 0:
		return ErrNothing
	case reads < least:
		return fmt.Errorf("%w: %d of watched pages, %d are needed", ErrFew, reads, least)
	}
	return nil
}

// all plays so many watched pages on all processors, but for what is known. Whatever is
// more than all pages does the same.
func (p *played) all(rooms []int, known map[int]*tally) []*tally {
	for i := range rooms {
		rooms[i] = min(max(1, rooms[i]), max(p.pages(), holding(p.whole))+1)
	}
	var left []int
	for _, room := range rooms {
		if _, ok := known[room]; !ok {
			known[room] = nil
			left = append(left, room)
		}
	}
	out := make([]*tally, len(left))
	next := make(chan int)
	var done sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(left)) {
		done.Go(func() {
			for i := range next {
				out[i] = p.play(left[i])
			}
		})
	}
	for i := range left {
		next <- i
	}
	close(next)
	done.Wait()
	for i, room := range left {
		known[room] = out[i]
	}
	all := make([]*tally, len(rooms))
	for i, room := range rooms {
		all[i] = known[room]
	}
	return all
}

// point is what one size does. The model's error at the size of now is taken
// out: misses of larger caches are those that are measured now, in the proportion
// that the model finds; hits of smaller ones likewise.
func (c *Curve) point(p *played, t, base, now *tally, memory, cache int64, stack *histogram) Point {
	asked, cold, unknown, disk := t.sums(t.settled)
	open := unknown / 2 / t.all()
	x := Point{Memory: memory, Cache: cache, Open: !t.full && unknown > 0}
	miss, sd := t.missing()
	room, have := 1-c.Model, 1-c.Now
	anchor := func(m float64) float64 {
		switch {
		case m <= room && room > 0:
			return m * have / room
		case room < 1:
			return 1 - (1-m)*c.Now/(1-room)
		}
		return m
	}
	x.Hit = 1 - anchor(miss)
	raw, lru := (cold-unknown/2)/asked, stack.hit(watched(cache, p.Scale))
	x.LRU = 1 - miss + (lru-1+raw)*asked/t.all()
	sd = math.Hypot(sd, t.overTime())
	wasted := 0.5 * c.unused()
	if p.around != nil {
		wasted /= 2 // how many come is simulated
	}
	half := 0.003 + 1.645*sd + 0.5*math.Abs(1-miss-x.LRU) + (math.Abs(c.Now-c.Model)+wasted)*unlike(miss, room)
	if p.lists != TwoLists {
		half += generationsOff * miss * (1 - miss)
	}
	x.Low = max(0, 1-anchor(min(1, miss+open))-half)
	x.High = min(1, 1-anchor(max(0, miss-open))+half)
	if baseDisk := perAsked(base); baseDisk > 0 && cold > 0 {
		x.Disk = c.Disk * (disk - unknown/2) / asked / baseDisk
	} else {
		x.Disk = c.Asked * (1 - x.Hit)
	}
	x.Disk = max(0, x.Disk)
	if c.Disk > 0 {
		x.Saved.Value = 1 - x.Disk/c.Disk
		per := 0.0 // how much is saved for each miss that is
		if have > 0 && math.Abs(have-(1-x.Hit)) > 1e-9 {
			per = x.Saved.Value / (x.Hit - c.Now)
		} else if have > 0 {
			per = 1 / have
		}
		x.Saved.Low = min(x.Saved.Value, x.Saved.Value-per*(x.Hit-x.Low))
		x.Saved.High = max(x.Saved.Value, min(1, x.Saved.Value+per*(x.High-x.Hit)))
	}
	return x
}

// unused is the share of the pages from disk that nobody asks for. They take room, and
// how many there are changes with the memory, since the kernel reads further ahead
// where it finds neighbours in the cache.
func (c *Curve) unused() float64 {
	if c.Disk <= c.Used {
		return 0
	}
	return 1 - c.Used/c.Disk
}

// perAsked is how many pages come from disk for each that is asked for.
func perAsked(t *tally) float64 {
	asked, _, unknown, disk := t.sums(t.settled)
	if asked == 0 {
		return 0
	}
	return (disk - unknown/2) / asked
}

// generationsOff is how far hits of a cache that is kept by generations may be off beside
// all that a trace tells of itself: 0.03 of all reads at most, where half of them are hits
// (docs/predict.md).
const generationsOff = 0.12

// unlike is how far two sizes are from each other in what they do, 0 to 1: what
// the model gets wrong at the one says nothing of the other where they differ.
func unlike(a, b float64) float64 {
	if a == b {
		return 0
	}
	return math.Abs(a-b) / max(a, b, 1-a, 1-b)
}

// widen adds what the number of watched pages leaves open about the size of the
// cache: the curve is read a little to the left and to the right.
func (c *Curve) widen(memory int64) {
	hit := make([]float64, len(c.Points))
	for i := range c.Points {
		hit[i] = c.Points[i].Hit
	}
	for i := range c.Points {
		x := &c.Points[i]
		if x.Memory == memory {
			continue
		}
		slope := 0.0 // of the hit ratio, for a cache e times as large
		if i > 0 {
			slope = max(slope, c.slope(hit, i-1, i))
		}
		if i+1 < len(c.Points) {
			slope = max(slope, c.slope(hit, i, i+1))
		}
		by := 0.5 * slope / math.Sqrt(max(1, float64(x.Cache)/PageSize/float64(c.Scale)))
		x.Low, x.High = max(0, x.Low-by), min(1, x.High+by)
	}
}

func (c *Curve) slope(hit []float64, a, b int) float64 {
	return math.Abs(hit[b]-hit[a]) / math.Log(float64(c.Points[b].Cache)/float64(c.Points[a].Cache))
}
