package figure

import (
	"math"
	"slices"
	"time"

	"iocause/internal/sample"
)

// What a device does at a cap, and with how many requests in flight. The plateau rule
// is the one of closed queueing systems: with more in flight a device does more, until
// it is at a cap; throughput that stays flat while the depth doubles is a cap.
const (
	FlatCV      = 0.05 // coefficient of variation of the rate at a cap
	DepthVaries = 2.0  // by how much the depth must vary at that rate
	binsNeeded  = 4
	depthOps    = 20 // operations at a depth that tell of it
)

// Plateau is the verdict on flat throughput.
type Plateau struct {
	Found      bool
	OpsCV      float64 // coefficients of variation
	BytesCV    float64
	DepthRatio float64 // largest to smallest depth at the flat rate
	Ops, Bytes float64 // mean rates a second of the bins that were judged
}

// sizesVary is the coefficient of variation from which on a rate is less flat than the
// other: below, requests have one size, and what is left is of the clocks.
const sizesVary = 0.002

// FlatterOps and FlatterBytes tell which of the two rates a cap holds, where
// sizes vary enough to tell.
func (p *Plateau) FlatterOps() bool   { return p.BytesCV >= sizesVary && p.OpsCV < 0.7*p.BytesCV }
func (p *Plateau) FlatterBytes() bool { return p.OpsCV >= sizesVary && p.BytesCV < 0.7*p.OpsCV }

// Bin is a stretch of the window on one device.
type Bin struct{ Ops, Bytes, Depth, Seconds float64 }

// DeviceBins are the window's full stretches with I/O, long enough to hold some
// 200 operations each (a tenth of a second to one second), as rates a second.
func DeviceBins(w *sample.Window, device string) []Bin {
	e := sample.Entity{Device: device}
	ops, size, busy := w.Get(sample.BlockBinOps, e), w.Get(sample.BlockBinBytes, e), w.Get(sample.BlockBinTime, e)
	if ops == nil || size == nil || busy == nil {
		return nil
	}
	total := ops.Sum()
	const unit = 100 * time.Millisecond
	per := 1
	if mean := total / (w.Seconds() * 10); mean < 200 {
		per = min(10, int(math.Ceil(200/max(mean, 1))))
	}
	slots := map[int]*Bin{}
	for i := range ops.Points {
		at := int(ops.Points[i].At/unit) / per
		b := slots[at]
		if b == nil {
			b = &Bin{}
			slots[at] = b
		}
		b.Ops += ops.Points[i].Value
		b.Bytes += size.Points[i].Value
		b.Depth += busy.Points[i].Value
	}
	first, last := -1, -1
	for at := range slots {
		if first < 0 || at < first {
			first = at
		}
		last = max(last, at)
	}
	seconds := float64(per) * unit.Seconds()
	var out []Bin
	for at, b := range slots {
		if at == first || at == last {
			continue // may be partly outside the load
		}
		out = append(out, Bin{b.Ops / seconds, b.Bytes / seconds, b.Depth / seconds, seconds})
	}
	return out
}

// FindPlateau looks for throughput that stays flat while the depth varies,
// in the upper three quarters of the bins by depth.
func FindPlateau(bins []Bin) Plateau {
	if len(bins) < binsNeeded {
		return Plateau{}
	}
	slices.SortFunc(bins, func(a, b Bin) int {
		if a.Depth < b.Depth {
			return -1
		}
		return 1
	})
	bins = bins[len(bins)/4:]
	var ops, size []float64
	for _, b := range bins {
		ops = append(ops, b.Ops)
		size = append(size, b.Bytes)
	}
	p := Plateau{OpsCV: variation(ops), BytesCV: variation(size), DepthRatio: bins[len(bins)-1].Depth / max(bins[0].Depth, 1e-9), Ops: mean(ops), Bytes: mean(size)}
	p.Found = min(p.OpsCV, p.BytesCV) < FlatCV && p.DepthRatio >= DepthVaries && bins[len(bins)-1].Depth >= DepthVaries
	return p
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// variation is the coefficient of variation.
func variation(x []float64) float64 {
	m := mean(x)
	if m == 0 {
		return 0
	}
	var squares float64
	for _, v := range x {
		squares += (v - m) * (v - m)
	}
	return math.Sqrt(squares/float64(len(x))) / m
}

// DepthRate is what a device does with so many requests in flight.
type DepthRate struct {
	Depth   float64 // the middle of its class
	Latency float64 // mean seconds of one
	Ops     float64 // a second
}

// enoughOfThem is the share of the requests that a depth must have to be one at
// which the device works, and not where a batch begins or ends.
const enoughOfThem = 0.05

// DepthRates are the rates of the kind of requests that a device gets
// most, from the lowest depth that was seen often enough to the highest.
func DepthRates(w *sample.Window, device string) []DepthRate {
	type kind struct {
		op   string
		size uint64
	}
	type sums struct{ ops, time float64 }
	by := map[kind]map[uint64]sums{}
	total := map[kind]float64{}
	w.Each(sample.BlockDepthOps, func(e sample.Entity, s *sample.Series) {
		t, timed := w.Sum(sample.BlockDepthTime, e)
		of, ok := sample.ParseIOClass(e.Class)
		if !ok || e.Device != device || !timed {
			return
		}
		k, depth := kind{of.Op, of.Size}, of.Depth
		if by[k] == nil {
			by[k] = map[uint64]sums{}
		}
		by[k][depth] = sums{s.Sum(), t}
		total[k] += s.Sum()
	})
	var main kind
	for k, n := range total {
		if n > total[main] || n == total[main] && (k.op < main.op || k.op == main.op && k.size < main.size) {
			main = k
		}
	}
	var out []DepthRate
	for depth := uint64(1); depth <= 1<<20; depth *= 2 {
		d := by[main][depth]
		if d.ops < depthOps || d.ops < enoughOfThem*total[main] || d.time <= 0 {
			continue
		}
		// the class is of all up to twice the depth, or to the most that there were
		middle, latency := (3*float64(depth)-1)/2, d.time/d.ops
		if most, ok := w.Value(sample.BlockMaxFlight, sample.Entity{Device: device}); ok && most >= float64(depth) {
			middle = min(middle, (float64(depth)+most)/2)
		}
		out = append(out, DepthRate{middle, latency, middle / latency})
	}
	return out
}
