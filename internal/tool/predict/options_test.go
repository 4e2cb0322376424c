package predict

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/predict"
	"iocause/internal/sample"
)

// A cgroup that may cache 1,000 watched pages: process 7 reads 800 pages at random,
// process 8 reads each page of a far larger file once, as often. The cache is an LRU
// one, whose events are what the kernel would tell.
func polluted(filter Filter) (*Observer, *Prediction) {
	const room, set, reads = 1000, 800, 40000
	own := sample.FileID{Dev: 1, Ino: 10}
	scanned := sample.FileID{Dev: 1, Ino: 11}
	o := &Observer{host: host.Live(), filter: filter, scale: 8, pages: map[pageKey]uint32{}, cgroups: []string{"/db"}, comms: map[int]string{7: "db", 8: "backup"}}
	r := rand.New(rand.NewPCG(1, 2))
	used, inside := map[uint32]int{}, []uint32{}
	page := func(key pageKey) uint32 {
		n, ok := o.pages[key]
		if !ok {
			n = uint32(len(o.hashes))
			o.pages[key], o.hashes = n, append(o.hashes, n)
		}
		return n
	}
	for i := range reads {
		at := uint32(i * 10000 / reads)
		add := func(kind predict.Kind, n uint32, pid int32) {
			o.events = append(o.events, event{predict.Event{Page: n, At: at, Kind: kind, Asked: true}, 0, pid})
		}
		pid, n := int32(7), uint32(0)
		if i%2 == 0 {
			n = page(pageKey{own, uint64(r.IntN(set))})
		} else {
			pid, n = 8, page(pageKey{scanned, uint64(i)})
		}
		if _, ok := used[n]; !ok {
			if len(inside) >= room {
				oldest := 0
				for k, x := range inside {
					if used[x] < used[inside[oldest]] {
						oldest = k
					}
				}
				add(predict.Evicted, inside[oldest], pid)
				delete(used, inside[oldest])
				inside[oldest] = n
			} else {
				inside = append(inside, n)
			}
			add(predict.Added, n, pid)
		}
		used[n] = i
		add(predict.Read, n, pid)
	}
	const bytes = room * 8 * predict.PageSize
	p := &Prediction{Seconds: 10, Place: &Place{Cgroup: "/db", Memory: bytes, Used: bytes, Cache: bytes, Room: bytes}}
	return o, p
}

// What others keep out of the cache, what a locked file gives and takes, and what the
// memory holds of files, on a load whose figures are known: without the scan all 800
// pages fit.
func TestOptions(t *testing.T) {
	o, p := polluted(Filter{PIDs: []int{7}})
	chosen := o.choose()
	trace, pages := o.trace(p.Place, o.selection(chosen), 10*time.Second)
	var err error
	if p.Curve, err = predict.Work(trace, p.Place.setting(), predict.Sizes(p.Place.Memory, nil)); err != nil {
		t.Fatal(err)
	}
	if p.Curve.Now < 0.3 || p.Curve.Now > 0.95 {
		t.Fatalf("%.3f are hits now: the scan should cost it some", p.Curve.Now)
	}
	o.open = map[sample.FileID]host.OpenFile{{Dev: 1, Ino: 10}: {Path: "/db/data", Size: 800 * 8 * predict.PageSize}}
	w := &whole{o, p, chosen, trace, pages}
	p.Files, p.Options = w.files(), w.options()
	if len(p.Options) != 2 {
		t.Fatalf("%+v, want two ways", p.Options)
	}
	bound, pin := p.Options[0], p.Options[1]
	if bound.Saves == nil || bound.Saves.Value < 0.97 || bound.Saves.Low < 0.9 || !strings.Contains(bound.Do, "backup (pid 8)") || !strings.Contains(bound.Price, "0 %") {
		t.Errorf("%+v: without the scan nothing comes from disk", bound)
	}
	if pin.Saves == nil || pin.Saves.Value < 0.99 || !strings.Contains(pin.Do, "Lock /db/data") || !strings.HasPrefix(pin.Price, "25 MiB that nothing else can use") {
		t.Errorf("%+v: all that it reads is in that file", pin)
	}
	var held [2]float64
	for _, f := range p.Files {
		if f.Path == "/db/data" {
			held = [2]float64{f.Half, f.Now}
		}
	}
	if whole := 800.0 * 8 * predict.PageSize; held[1] < 0.5*whole || held[1] > whole || held[0] > held[1] {
		t.Errorf("half of the memory holds %.0f, all %.0f bytes of it", held[0], held[1])
	}
	if p.Curve.Used <= 0 || p.Curve.Used > p.Curve.Disk {
		t.Errorf("%.0f of %.0f pages a second from disk are used", p.Curve.Used, p.Curve.Disk)
	}
	if s := (&Option{Do: "x", Price: "y", Saves: &predict.Share{Value: 0.3, High: 0.3}}).String(); s != "x: saves at most 30 % of the misses; price: y." {
		t.Error(s)
	}
}
