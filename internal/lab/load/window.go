package load

import (
	"math"
	"slices"
	"sync"
	"time"

	"iocause/internal/sample"
)

// Series is what a load did, window by window. A call belongs to the window
// in which it ended; all windows are equally long, but for the last.
type Series struct {
	Start   time.Time `json:"start"`          // of the first window
	Length  float64   `json:"window_seconds"` // of a whole one
	Windows []Window  `json:"windows"`
}

// Window is one of them. Latencies are in seconds, 0 when no call ended.
type Window struct {
	Seconds float64 `json:"seconds"`
	Calls   int64   `json:"calls"`
	Bytes   int64   `json:"bytes"`
	P50     float64 `json:"p50"`
	P99     float64 `json:"p99"`
	Max     float64 `json:"max"`
}

// windows are those of all threads of a load. Only windows that a thread may
// still add to keep their histogram: hours of windows stay small.
type windows struct {
	start  time.Time
	length time.Duration

	mu     sync.Mutex
	open   map[int64]*threadWindow
	at     []int64 // the window that each thread is in; math.MaxInt64 at its end
	closed []Window
	free   *threadWindow // to be used again: garbage would have to be collected
}

// threadWindow is what one thread did in the window that it is in. A nil one
// counts nothing.
type threadWindow struct {
	all   *windows
	id    int
	index int64
	end   time.Duration // since the start
	lat   sample.Times
	bytes int64
}

func newWindows(start time.Time, length time.Duration, threads int) *windows {
	return &windows{start: start, length: length, open: map[int64]*threadWindow{}, at: make([]int64, threads)}
}

func (w *windows) thread(id int) *threadWindow {
	return &threadWindow{all: w, id: id, end: w.length, lat: latencies()}
}

// add counts a call that ended so long after the start.
func (t *threadWindow) add(now, took time.Duration, bytes int64) {
	if t == nil {
		return
	}
	if now >= t.end {
		t.moveTo(int64(now / t.all.length))
		t.end = time.Duration(t.index+1) * t.all.length
	}
	t.lat.Add(took)
	t.bytes += bytes
}

// finish hands over what is left.
func (t *threadWindow) finish() {
	if t != nil {
		t.moveTo(math.MaxInt64)
	}
}

// moveTo adds what the thread did to the window of all threads, and closes
// those that no thread is in any more.
func (t *threadWindow) moveTo(next int64) {
	w := t.all
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.lat.N() > 0 {
		sum := w.open[t.index]
		if sum == nil {
			if sum, w.free = w.free, nil; sum == nil {
				sum = &threadWindow{lat: latencies()}
			}
			sum.lat.Reset()
			sum.bytes = 0
			w.open[t.index] = sum
		}
		sum.lat.Merge(&t.lat)
		sum.bytes += t.bytes
	}
	t.lat.Reset()
	t.bytes, t.index = 0, next
	w.at[t.id] = next
	if oldest := slices.Min(w.at); oldest != math.MaxInt64 {
		w.close(oldest)
	}
}

// close enters all windows before one.
func (w *windows) close(before int64) {
	for i := int64(len(w.closed)); i < before; i++ {
		x := Window{Seconds: w.length.Seconds()}
		if sum := w.open[i]; sum != nil {
			x.Calls, x.Bytes = int64(sum.lat.N()), sum.bytes
			x.P50, x.P99, x.Max = sum.lat.Quantile(0.5).Seconds(), sum.lat.Quantile(0.99).Seconds(), sum.lat.Most().Seconds()
			delete(w.open, i)
			w.free = sum
		}
		w.closed = append(w.closed, x)
	}
}

// series is all of it, of a load that took so many seconds.
func (w *windows) series(seconds float64) *Series {
	w.mu.Lock()
	defer w.mu.Unlock()
	length := w.length.Seconds()
	w.close(int64(math.Ceil(seconds / length)))
	for i := range w.open { // a call that ended on the very edge
		w.close(i + 1)
	}
	if n := len(w.closed); n > 0 {
		w.closed[n-1].Seconds = max(min(seconds-float64(n-1)*length, length), 0)
	}
	return &Series{Start: w.start, Length: length, Windows: w.closed}
}
