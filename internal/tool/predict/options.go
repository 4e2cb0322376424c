package predict

import (
	"fmt"
	"math"

	"iocause/internal/host"
	"iocause/internal/predict"
	"iocause/internal/procfile"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// Option is a way to keep in the cache what is read from disk now, other than a
// change of the memory, and its price.
type Option struct {
	Do    string         `json:"do"`
	Saves *predict.Share `json:"saves"` // of the pages that those in question ask for and that come from disk; null where it is not known
	Price string         `json:"price"`
}

// worthSaying is the least share of the disk reads that an option must be able to save.
const worthSaying = 0.02

func (x *Option) String() string {
	s := x.Do
	if x.Saves != nil {
		s += ": saves " + interval(*x.Saves) + " of the misses"
	}
	return s + "; price: " + x.Price + "."
}

// options are those that there are here.
func (w *whole) options() []Option {
	if w.p.Curve.Disk*w.p.Seconds < 100 {
		return nil
	}
	var out []Option
	for _, x := range []*Option{w.bound(), w.pin()} {
		if x != nil && (x.Saves == nil || x.Saves.High >= worthSaying) {
			out = append(out, *x)
		}
	}
	for _, x := range []*Option{w.ahead(), w.past()} {
		if x != nil {
			out = append(out, *x)
		}
	}
	return append(out, w.settings()...)
}

// bound is to keep the data of the program out of the cache that brings in most beside
// those in question, as a cgroup of its own, POSIX_FADV_DONTNEED or O_DIRECT do: the
// cache is simulated again without its pages.
func (w *whole) bound() *Option {
	added, shared := map[int32]int{}, make([]bool, len(w.hashes))
	user := make([]int32, len(w.hashes))
	total := 0
	in := func(e *event) bool { return w.p.Place.Cgroup == "" || below(w.cgroups[e.cgroup], w.p.Place.Cgroup) }
	for i := range w.events {
		e := &w.events[i]
		if e.Kind == predict.Evicted || e.Kind == predict.Dropped {
			continue
		}
		if e.Kind == predict.Added && in(e) {
			total++
			if w.filter.given() && !w.chosen(int(e.pid), w.cgroups[e.cgroup]) {
				added[e.pid]++
			}
		}
		shared[e.Page] = shared[e.Page] || user[e.Page] != 0 && user[e.Page] != e.pid
		user[e.Page] = e.pid
	}
	var pid int32
	for p, n := range added {
		if n > added[pid] || n == added[pid] && p < pid {
			pid = p
		}
	}
	if pid == 0 || added[pid]*20 < total {
		return nil
	}
	of := w.selection(w.chosen)
	of.skip = func(page uint32) bool { return user[page] == pid && !shared[page] }
	less, _ := w.Observer.trace(w.p.Place, of, w.trace.Length)
	s := w.p.Place.setting()
	x, ok := w.p.Curve.Without(w.trace, less, s, s.Cache)
	if !ok {
		return nil
	}
	way := option(predict.Bound(w.comm(int(pid)), int(pid), percent(float64(added[pid])/float64(total)), w.hitsOf(pid)))
	way.Saves = fewer(w.p.Curve, &x, 1)
	return way
}

// option is a way without what it saves.
func option(way predict.Way) *Option { return &Option{Do: upper(way.Do), Price: way.Price} }

// hitsOf is the share of what a program asks for that it finds in the cache; "" where
// no reads of it were seen.
func (w *whole) hitsOf(pid int32) string {
	reads, cold := 0, 0
	fresh := make([]bool, len(w.hashes))
	for i := range w.events {
		switch e := &w.events[i]; {
		case e.Kind == predict.Added:
			fresh[e.Page] = true
		case e.Kind == predict.Read && e.pid == pid:
			if reads++; fresh[e.Page] {
				cold++
			}
			fresh[e.Page] = false
		case e.Kind == predict.Read || e.Kind == predict.Faulted:
			fresh[e.Page] = false
		}
	}
	if reads == 0 {
		return ""
	}
	return percent(float64(reads-cold) / float64(reads))
}

// pin is to lock a file in memory: the one that was asked about, or the one that most
// is read from disk of. The others' cache is simulated again with so much less.
func (w *whole) pin() *Option {
	of, missed := w.fileOf(), map[sample.FileID]int{}
	all := 0
	for i := range w.trace.Events {
		if e := &w.trace.Events[i]; e.Kind == predict.Added && e.Asked {
			missed[of[w.pages[e.Page]]]++
			all++
		}
	}
	id := w.filter.File
	if id.Ino == 0 {
		for f, n := range missed {
			if n > missed[id] || n == missed[id] && f.Ino < id.Ino {
				id = f
			}
		}
	}
	size := w.open[id].Size
	if size == 0 || missed[id]*20 < all {
		return nil
	}
	x := option(predict.Lock(w.name(id), bytes(float64(size))))
	if size > w.p.Place.Room*9/10 {
		x.Do += fmt.Sprintf(": its %s do not fit into %s", bytes(float64(size)), bytes(float64(w.p.Place.Room)))
		x.Price = "not possible without more memory"
		return x
	}
	skip := func(page uint32) bool { return of[page] == id }
	setting := w.p.Place.setting()
	setting.Cache = min(setting.Cache, setting.Room)
	if w.filter.File.Ino != 0 {
		x.Saves = &predict.Share{Value: 1, Low: 0.98, High: 1} // all but what comes in before it is locked
	} else { // what else they read has less room
		x.Saves = w.rest(w.trace, w.p.Curve, w.selection(w.chosen), skip, setting, size)
	}
	if !w.filter.given() && w.filter.File.Ino == 0 {
		return x
	}
	others := selection{asks: func(e *event) bool {
		return !w.chosen(int(e.pid), w.cgroups[e.cgroup]) || of[e.Page] != id && w.filter.File.Ino != 0
	}}
	t, _ := w.Observer.trace(w.p.Place, others, w.trace.Length)
	c, err := predict.Work(t, setting, []int64{setting.Memory})
	if err != nil {
		x.Price += "; nothing else is read here often enough to say more"
		return x
	}
	switch cost := w.rest(t, c, others, skip, setting, size); {
	case cost == nil:
	case cost.Low > -0.005:
		x.Price += "; whatever else is read here misses no more than now"
	default:
		x.Price += fmt.Sprintf("; whatever else is read here then misses %s more", interval(predict.Share{Value: -cost.Value, Low: -cost.High, High: -cost.Low}))
	}
	return x
}

// rest is what is saved of the disk reads of a selection, whose curve is c, when some
// pages are locked, which take so many bytes: theirs, and those that the rest loses.
func (w *whole) rest(t *predict.Trace, c *predict.Curve, of selection, skip func(uint32) bool, s predict.Setting, size int64) *predict.Share {
	of.skip, of.exact = skip, false
	less, _ := w.Observer.trace(w.p.Place, of, w.trace.Length)
	now := *t
	now.Asked = nil
	left, _ := less.Uses()
	all, _ := t.Uses()
	if left*50 < all {
		return &predict.Share{Value: 1, Low: 0.98, High: 1} // all but what comes in before it is locked
	}
	x, ok := c.Without(&now, less, s, s.Room-size)
	if !ok {
		return nil
	}
	part := float64(left) / float64(max(1, all))
	return fewer(c, &x, part)
}

// fewer is which share of the misses of now is saved, where part of what is asked for
// is left to be missed.
func fewer(c *predict.Curve, x *predict.Point, part float64) *predict.Share {
	if c.Now >= 1 {
		return nil
	}
	saved := func(hit float64) float64 { return 1 - (1-hit)*part/(1-c.Now) }
	return &predict.Share{Value: saved(x.Hit), Low: saved(x.Low), High: saved(x.High)}
}

// ahead is to read nothing ahead, where some of it is not used: the cache is simulated
// again without what nobody asked for.
func (w *whole) ahead() *Option {
	c := w.p.Curve
	if c.Disk <= aheadShare*c.Used {
		return nil
	}
	way := option(predict.LessAhead(percent(1 - c.Used/c.Disk)))
	s := w.p.Place.setting()
	if x, ok := c.Without(w.trace, w.trace.Used(), s, s.Cache); ok {
		way.Saves = fewer(c, &x, 1)
	}
	return way
}

// past is to read past the cache.
func (w *whole) past() *Option {
	c, r := w.p.Curve, w.p.Reading
	if r == nil || r.Threads == 0 || w.filter.File.Ino != 0 || w.p.Place.Cgroup == "" && !w.filter.given() {
		return nil
	}
	then := fmt.Sprintf("each of the %s pages a second that are asked for is read from disk, in place of %s", table.Value(c.Asked, "count"), table.Value(c.Disk, "count"))
	if s, ok := w.p.direct(); ok {
		then += "; reading is then " + times(s.Low, s.High)
	}
	asked, held := make([]bool, w.trace.Pages), 0.0
	for i := range w.trace.Events {
		e := &w.trace.Events[i]
		asked[e.Page] = asked[e.Page] || e.Asked
	}
	for page, is := range w.trace.Held(w.p.Place.setting(), w.p.Place.Memory) {
		if is && asked[page] {
			held += float64(w.trace.Scale) * predict.PageSize
		}
	}
	return option(predict.Past(bytes(held), then))
}

// settings are those of the host that make room for files, as far as there is
// something to gain: what the memory holds beside them bounds that.
func (w *whole) settings() []Option {
	if w.p.Place.Cgroup != "" {
		return nil
	}
	m, err := procfile.ReadMeminfo(w.host)
	if err != nil {
		return nil
	}
	var out []Option
	say := func(way predict.Way, bytesOf *uint64) {
		if bytesOf == nil || *bytesOf == 0 {
			return
		}
		var best *predict.Share
		for i := range w.p.Curve.Points { // the smallest size that is at least as much larger
			if x := &w.p.Curve.Points[i]; x.Memory >= w.p.Place.Memory+int64(*bytesOf) {
				best = &x.Saved
				break
			}
		}
		if best == nil || best.High < worthSaying {
			return
		}
		x := option(way)
		x.Do += fmt.Sprintf(" (%s at most)", bytes(float64(*bytesOf)))
		x.Saves = &predict.Share{Value: best.High, Low: 0, High: best.High}
		out = append(out, *x)
	}
	if m.SwapFree != nil && m.Anon != nil {
		n := min(*m.SwapFree, *m.Anon)
		say(predict.Swap(), &n)
	}
	say(predict.DropInodes(), m.SReclaimable)
	if to, more := keptFree(w.host, m.Total); more > 0 {
		say(predict.KeepLessFree(to), &more)
	}
	return out
}

// keptFree is what vm.min_free_kbytes is where the kernel chooses it (calculate_min_free_kbytes
// of mm/page_alloc.c), and how many bytes of the memory are kept free beyond that: reclaim
// begins at one and a quarter times as much. 0 where it is not far more.
func keptFree(h *host.Host, total *uint64) (kib, more uint64) {
	is, err := host.ReadNumber(h.Proc("sys", "vm", "min_free_kbytes"))
	if err != nil || total == nil {
		return 0, 0
	}
	kib = uint64(min(262144, max(128, math.Sqrt(float64(*total/1024)*16))))
	if is < 2*kib {
		return 0, 0
	}
	return kib, (is - kib) * 1024 * 5 / 4
}
