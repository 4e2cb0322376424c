package sample

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
	"time"
)

// Every metric that can be emitted is in the catalog, once.
func TestCatalogIsComplete(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "metrics.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			names += len(v.Names)
		}
		return true
	})
	seen := map[Metric]bool{}
	for _, i := range Catalog() {
		if seen[i.Metric] {
			t.Errorf("%s is in the catalog twice", i.Metric)
		}
		seen[i.Metric] = true
		if i.Unit == "" || i.On == "" || i.Help == "" {
			t.Errorf("%s lacks a unit, what it is measured on, or its meaning", i.Metric)
		}
	}
	if len(seen) != names {
		t.Errorf("the catalog has %d metrics, metrics.go %d", len(seen), names)
	}
}

func TestWindowTellsAbsentFromZero(t *testing.T) {
	start := time.Unix(100, 0)
	r := NewRecorder(start)
	r.Put(CacheMisses, Entity{PID: 1}, 0, "here")
	r.At(start.Add(time.Second))
	r.Put(CacheMisses, Entity{PID: 1}, 5, "here")
	w := r.Window(start.Add(2 * time.Second))
	if v, ok := w.Sum(CacheMisses, Entity{PID: 1}); v != 5 || !ok {
		t.Errorf("got %g, %v, want 5, true", v, ok)
	}
	if _, ok := w.Sum(CacheMisses, Entity{PID: 2}); ok {
		t.Error("a process that was not measured has a value")
	}
	if _, ok := w.SumWhere(CacheAccesses, func(Entity) bool { return true }); ok {
		t.Error("a metric that was not measured has a value")
	}
	if w.Seconds() != 2 {
		t.Errorf("the window has %g s, want 2", w.Seconds())
	}
}

func TestHistogram(t *testing.T) {
	h := Histogram{Unit: "bytes"}
	for _, v := range []uint64{0, 1, 2, 3, 4, 1023, 1024} {
		h.Add(v)
	}
	if h.N() != 7 || h.Sum != 2057 {
		t.Errorf("%d values with sum %g, want 7 and 2057", h.N(), h.Sum)
	}
	for bucket, want := range map[int]uint64{0: 2, 1: 2, 2: 1, 9: 1, 10: 1} {
		if h.Counts[bucket] != want {
			t.Errorf("bucket %d holds %d, want %d", bucket, h.Counts[bucket], want)
		}
	}
	if q := h.Quantile(1); q < 1024 || q > 2048 {
		t.Errorf("the largest is %g, want 1024 to 2048", q)
	}
	var empty Histogram
	if empty.Quantile(0.5) != 0 {
		t.Error("an empty histogram has a median")
	}
}
