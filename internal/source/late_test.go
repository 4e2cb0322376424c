package source

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// What joins later counts from when it joined, and leaves no trace behind when
// it is gone.
func TestJoinAndLeave(t *testing.T) {
	ctx := context.Background()
	total := 100.0
	always := &fake{put: dirty}
	counter := func(phase sample.Phase, into sample.Sink) {
		if phase != sample.First {
			total += 7
		}
		into.PutTotal(sample.BlockErrors, sample.Entity{Device: "vda"}, total-100, "fake")
	}
	later := &fake{put: counter}
	c := Open(ctx, host.Live(), []Entry{entry("always", always, sample.MemDirty)})
	c.Begin()
	time.Sleep(time.Millisecond)
	if w := c.Next(false); w.Has(sample.BlockErrors) || !w.Has(sample.MemDirty) {
		t.Errorf("before: metrics %v", w.Metrics())
	}
	failing := Entry{Name: "fails", Metrics: []sample.Metric{sample.BlockOps}, Open: func(*host.Host) (sample.Source, error) { return nil, errors.New("no") }}
	late := OpenLate(ctx, host.Live(), []Entry{entry("later", later, sample.BlockErrors), failing})
	if got := late.Statuses(); len(got) != 2 || got[0].OpenErr != nil || got[1].OpenErr == nil {
		t.Errorf("statuses %v", got)
	}
	c.Join(late)
	for range 3 {
		w := c.Next(false)
		if v, ok := w.Sum(sample.BlockErrors, sample.Entity{Device: "vda"}); v != 7 || !ok {
			t.Errorf("a window after it joined has %g, %v; want 7", v, ok)
		}
		if !slices.ContainsFunc(w.Gaps, func(g sample.Gap) bool { return g.Source == "fails" }) {
			t.Errorf("nothing says what did not open: %v", w.Gaps)
		}
	}
	if err := c.Leave("later", "fails"); err != nil || !later.closed {
		t.Errorf("leaving: %v, closed: %v", err, later.closed)
	}
	if w := c.Next(false); w.Has(sample.BlockErrors) {
		t.Errorf("after it left: %v", w.Metrics())
	}
	if w := c.Next(false); len(w.Gaps) > 0 {
		t.Errorf("gaps of what has left: %v", w.Gaps)
	}
	total = 100
	again := &fake{put: counter}
	c.Join(OpenLate(ctx, host.Live(), []Entry{entry("later", again, sample.BlockErrors)}))
	if w := c.Next(true); func() float64 { v, _ := w.Sum(sample.BlockErrors, sample.Entity{Device: "vda"}); return v }() != 7 {
		t.Error("joined again it does not count from then")
	}
	if err := c.Close(); err != nil || !always.closed || !again.closed {
		t.Errorf("closing: %v, %v, %v", err, always.closed, again.closed)
	}
}
