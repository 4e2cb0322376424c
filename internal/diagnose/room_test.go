package diagnose

import (
	"strings"
	"testing"
	"time"

	"iocause/internal/sample"
)

// Huge pages that are set aside and not used are memory that can be had at once, if
// they are enough to matter.
func TestHugePagesThatNobodyUses(t *testing.T) {
	for unused, want := range map[float64]bool{15e9: true, 1e8: false} {
		r := sample.NewRecorder(epoch)
		for m, v := range map[sample.Metric]float64{sample.MemTotal: 24e9, sample.MemHuge: 16e9, sample.MemHugeFree: unused} {
			r.Put(m, sample.Entity{}, v, "test")
		}
		c := newCase(r.Window(epoch.Add(time.Second)), Target{})
		advice := c.setFree()
		if is := len(advice) == 1 && strings.Contains(advice[0].Do, "14.9 GiB of the 22.4 GiB of memory, and nobody uses 14.0 GiB"); is != want || len(advice) > 1 {
			t.Errorf("%g bytes unused: %+v", unused, advice)
		}
		if h := c.holders(); len(h) != 1 || h[0].Kind != "huge pages" || h[0].Bytes != 16e9 {
			t.Errorf("%+v", h)
		}
	}
}
