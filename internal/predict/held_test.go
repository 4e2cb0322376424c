package predict

import "testing"

// What a short window saw of pages for the first time is in a cache that holds all files
// which are read over and over, and unknown where a file is read once.
func TestAllFilesFit(t *testing.T) {
	const room, pages, n = 4096, 3 * 4096, 30_000 // most pages are seen, a third of the reads are the first
	const memory = int64(room * PageSize)
	trace, act, _ := run(uniform(pages), pages, room, n)
	for page := range pages {
		trace.Places = append(trace.Places, int64(page))
	}
	sizes := []int64{memory, 2 * memory, 4 * memory}
	curve := func(tr *Trace) *Curve {
		c, err := Work(tr, Setting{Memory: memory, Cache: memory, Room: memory, Active: act}, sizes)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	before := curve(trace)
	if x := before.Points[2]; !x.Open || x.High-x.Low < 0.1 {
		t.Errorf("sizes of files not known: %.3f (%.3f to %.3f), open %v", x.Hit, x.Low, x.High, x.Open)
	}
	trace.Sizes = []int64{pages * PageSize}
	now := curve(trace)
	if x := now.Points[2]; x.Open || x.Hit < 0.999 || x.Low < 0.99 || x.Disk > 0.001*now.Asked {
		t.Errorf("all fits: %.3f (%.3f to %.3f), open %v, %.1f of %.1f pages a second from disk", x.Hit, x.Low, x.High, x.Open, x.Disk, now.Asked)
	}
	for i := range 2 { // smaller than the file
		if x, y := now.Points[i], before.Points[i]; x.Hit != y.Hit || x.Disk != y.Disk {
			t.Errorf("smaller than the file: %+v, before %+v", x, y)
		}
	}
	const once = 7 * room / 2
	scan, act, _ := run(loop(once), once, room, once-100)
	scan.Sizes = []int64{once * PageSize}
	for page := range once {
		scan.Places = append(scan.Places, int64(page))
	}
	if x := curve(scan).Points[2]; !x.Open {
		t.Errorf("read once: %.3f (%.3f to %.3f)", x.Hit, x.Low, x.High)
	}
}
