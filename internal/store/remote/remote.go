// Package remote sends a recording to whatever takes the remote-write protocol
// of Prometheus, version 2.0 (https://prometheus.io/docs/specs/prw/remote_write_spec_2_0/)
// or 1.0 (https://prometheus.io/docs/specs/prw/remote_write_spec/), or OpenTelemetry's.
// It sends from the recording, not from memory: after an outage all that is
// still there as measured is sent, in order and once.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"iocause/internal/outbound"
	"iocause/internal/store/series"
	"iocause/internal/store/whole"
)

// Options say where to send, and what.
type Options struct {
	URL       string
	Every     time.Duration // between two values of a series
	Slowest   time.Duration // reading: a value bears the instant at which it was asked for
	Labels    []series.Label
	Version   string                                // "1.0", "2.0", "" for 2.0 where it is taken, or OTLP
	Describe  func(name string) (kind, help string) // of a series: counter or gauge; nil for nothing
	TokenFile string                                // holds a bearer token; "" for none
	CAFile    string                                // certificates that the receiver's is checked with; "" for the system's
	Cursor    string                                // file that keeps how far sending has come
	Log       *slog.Logger
	Now       func() time.Time
}

// Sender sends one recording to one place.
type Sender struct {
	o       Options
	client  *http.Client
	version string // that is spoken now
	sure    bool   // that 2.0 is understood
	classic bool   // native histograms are not taken

	// Sent and Refused are values so far; Behind is the age in nanoseconds of
	// what was sent last.
	Sent, Refused, Behind atomic.Int64
}

// New prepares a sender.
func New(o Options) (*Sender, error) {
	client, err := outbound.Client(o.CAFile)
	if err != nil {
		return nil, err
	}
	client.Timeout = patience
	return &Sender{o: o, version: cmp.Or(o.Version, version2), client: client}, nil
}

// patience is how long one request may take.
const patience = 30 * time.Second

const (
	settled   = 3 * time.Second // how old values are that are sent: the writer has to have them
	chunk     = 5 * time.Minute // of the recording, in one go
	mostBatch = 2_000           // values in one request
	slowest   = time.Minute     // between two tries
)

// errRefused is an answer that trying again will not change.
var errRefused = errors.New("the values were refused")

// Run sends until ctx ends. recording gives what to send from, nil while there
// is none.
func (s *Sender) Run(ctx context.Context, recording func() *series.Recording) {
	p, err := s.load()
	if err != nil {
		s.o.Log.Error("the position of sending is lost: it begins again with the oldest value", "why", err)
	}
	wait := time.Duration(0)
	said, back := false, false
	for {
		pause := s.o.Every
		if wait > 0 {
			pause = wait
		} else if s.o.Now().Sub(p.from) > chunk+2*s.o.Every {
			pause = 0 // there is more
		}
		if !sleep(ctx, pause) {
			return
		}
		r := recording()
		if r == nil {
			wait = s.o.Every
			continue
		}
		before := p.from
		err := s.step(ctx, r, &p)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			wait = min(max(2*wait, time.Second), slowest)
			if !said {
				s.o.Log.Error("values cannot be sent; it will be retried", "to", outbound.Host(s.o.URL), "why", err)
				said = true
			}
		default:
			if said {
				s.o.Log.Info("values can be sent again", "to", outbound.Host(s.o.URL), "from", before.UTC().Format(time.RFC3339))
			}
			wait, said = 0, false
			if p.from.Equal(before) {
				wait = s.o.Every
			}
		}
		behind := s.o.Now().Sub(p.from)
		s.Behind.Store(int64(behind))
		if behind < 0 && !back {
			s.o.Log.Warn("the clock was set back: nothing is sent until it has passed the newest value sent", "until", p.from.UTC().Format(time.RFC3339))
		}
		back = behind < 0
	}
}

// place is how far sending has come: all up to from, and of what lies between
// that and end, where it is set, so many requests. A request that was sent is
// never sent again as a part of another one: its values would be too old for
// the receiver by then, which refuses the request as a whole.
type place struct {
	from, end time.Time
	requests  int
}

// step sends the next part of the recording.
func (s *Sender) step(ctx context.Context, r *series.Recording, p *place) error {
	oldest := r.Oldest(0)
	if oldest.IsZero() {
		return nil
	}
	if p.from.Before(oldest.Add(-time.Millisecond)) {
		if !p.from.IsZero() {
			s.o.Log.Error("unsent values are no longer in the history at full resolution",
				"from", p.from.UTC().Format(time.RFC3339), "to", oldest.UTC().Format(time.RFC3339))
		}
		*p = place{from: oldest.Add(-time.Millisecond)}
	}
	if p.end.IsZero() {
		// While the disk hangs nothing new can be read, though it was measured:
		// what is written later must not be passed over.
		end := s.o.Now()
		if newest := r.Newest(0); newest.Before(end) {
			end = newest
		}
		end = end.Add(-settled - s.o.Slowest).Truncate(s.o.Every)
		if later := p.from.Add(chunk).Truncate(s.o.Every); later.Before(end) {
			end = later
		}
		if !end.After(p.from) {
			return nil
		}
		p.end, p.requests = end, 0
	}
	lines, err := r.Between(ctx, p.from, p.end, s.o.Every)
	if err != nil {
		return err
	}
	for i, batch := range batches(lines, s.o.Labels) {
		if i < p.requests {
			continue
		}
		if err := s.deliver(ctx, batch); err != nil {
			return err
		}
		p.requests++
		s.save(p)
	}
	*p = place{from: p.end}
	s.save(p)
	return nil
}

// deliver sends one request. What is refused for good is counted and done with.
func (s *Sender) deliver(ctx context.Context, b batch) error {
	taken, err := s.send(ctx, b)
	if err != nil && !errors.Is(err, errRefused) {
		return err
	}
	s.Sent.Add(int64(taken))
	if err != nil {
		samples, histograms := b.values()
		left := max(samples+histograms-taken, 0)
		s.Refused.Add(int64(left))
		s.o.Log.Error("the receiver refuses values; they are dropped", "to", outbound.Host(s.o.URL), "values", left, "why", err)
	}
	return nil
}

// batch are the values of one request: series with all their labels, sorted.
type batch []entry

// values are those of series, and histograms.
func (b batch) values() (samples, histograms int) {
	for i := range b {
		samples += len(b[i].Points)
		histograms += len(b[i].native)
	}
	return samples, histograms
}

// batches makes requests of lines. A series is in as many as it takes, its
// values in order; a histogram in one.
func batches(lines []series.Line, more []series.Label) []batch {
	var out []batch
	room := 0
	put := func(e entry, size int) {
		if room == 0 || size > room && room < mostBatch {
			out = append(out, nil)
			room = mostBatch
		}
		out[len(out)-1] = append(out[len(out)-1], e)
		room = max(room-size, 0)
	}
	for _, e := range entries(lines) {
		labels := withLabels(e.Name, e.Labels, more)
		if e.parts != nil {
			size := 0
			for i, l := range e.parts {
				e.parts[i].Labels = withLabels(l.Name, l.Labels, more)
				size += len(l.Points)
			}
			put(entry{Line: series.Line{Name: e.Name, Labels: labels}, parts: e.parts, native: e.native}, size)
			continue
		}
		for points := e.Points; len(points) > 0; {
			n := min(len(points), cmp.Or(room, mostBatch))
			put(entry{Line: series.Line{Name: e.Name, Labels: labels, Points: points[:n]}}, n)
			points = points[n:]
		}
	}
	return out
}

// withLabels are all labels of a series, sorted: those that are sent along do not
// take the place of its own.
func withLabels(name string, own, more []series.Label) []series.Label {
	all := append([]series.Label{{Name: "__name__", Value: name}}, own...)
	for _, x := range more {
		if !slices.ContainsFunc(own, func(y series.Label) bool { return x.Name == y.Name }) {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b series.Label) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// load reads how far sending had come; the zero place when nothing was sent.
func (s *Sender) load() (place, error) {
	b, err := os.ReadFile(s.o.Cursor)
	if errors.Is(err, fs.ErrNotExist) {
		return place{}, nil
	} else if err != nil {
		return place{}, err
	}
	var from, end int64
	var p place
	if _, err := fmt.Sscanf(string(b), "%d %d %d\n", &from, &end, &p.requests); err != nil || from <= 0 || p.requests < 0 {
		return place{}, fmt.Errorf("reading %s: %q is not a position in the history; delete the file to send from the oldest on", s.o.Cursor, b)
	}
	p.from = time.UnixMilli(from)
	if end > from {
		p.end = time.UnixMilli(end)
	}
	return p, nil
}

// save keeps how far sending has come.
func (s *Sender) save(p *place) {
	end := int64(0)
	if !p.end.IsZero() {
		end = p.end.UnixMilli()
	}
	line := fmt.Appendf(nil, "%d %d %d\n", p.from.UnixMilli(), end, p.requests)
	err := whole.Write(s.o.Cursor, 0o600, whole.Bytes(line)) // on the disk: after a power cut all would be sent again else
	if err != nil {                                          // it was sent, and stays so
		s.o.Log.Warn("the position of sending cannot be saved", "why", err)
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return ctx.Err() == nil
	}
}
