package agent

import (
	"sync"
	"time"

	"iocause/internal/store/series"
)

// latest is the newest value of every series. Safe for concurrent use.
type latest struct {
	mu  sync.Mutex
	all map[*series.Series]at
}

type at struct {
	time  time.Time
	value float64
}

func (l *latest) set(f series.Frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, v := range f.Values {
		l.all[v.Of] = at{f.At, v.V}
	}
}

func (l *latest) drop(s *series.Series) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, s)
}

func (l *latest) snapshot() map[*series.Series]at {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[*series.Series]at, len(l.all))
	for s, v := range l.all {
		out[s] = v
	}
	return out
}

// ring keeps frames in memory until they are written. What finds no room
// pushes the oldest out, which is counted. Safe for concurrent use.
type ring struct {
	mu     sync.Mutex
	frames []series.Frame
	values int
	most   int // values
	lost   int
	first  time.Time // of the frames that were lost since the last call of losses
	wake   chan struct{}
}

func newRing(most int) *ring { return &ring{most: most, wake: make(chan struct{}, 1)} }

func (r *ring) push(f series.Frame) {
	r.mu.Lock()
	r.frames = append(r.frames, f)
	r.values += len(f.Values)
	for r.values > r.most && len(r.frames) > 1 {
		if r.first.IsZero() {
			r.first = r.frames[0].At
		}
		r.values -= len(r.frames[0].Values)
		r.lost += len(r.frames[0].Values)
		r.frames[0] = series.Frame{}
		r.frames = r.frames[1:]
	}
	r.mu.Unlock()
	signal(r.wake)
}

// take hands over frames of about so many values, the oldest first.
func (r *ring) take(most int) []series.Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, values := 0, 0
	for n < len(r.frames) && values < most {
		values += len(r.frames[n].Values)
		n++
	}
	out := r.frames[:n:n]
	r.frames = r.frames[n:]
	r.values -= values
	return out
}

// waiting is how many values are in memory, and how many were lost in all.
func (r *ring) waiting() (values, lost int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.values, r.lost
}

// losses is the oldest instant that was lost since the last call, zero when
// nothing was.
func (r *ring) losses() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.first
	r.first = time.Time{}
	return first
}
