package show

import (
	"slices"
	"strings"
	"testing"

	"iocause/internal/diagnose"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/tool/check"
)

// A way is named with its grade and its proof, what was preferred to it with the
// reason, and many functions by the first of them.
func TestWayLines(t *testing.T) {
	for _, c := range []struct {
		way  sample.Way
		want []string
	}{
		{sample.Way{What: "reads", By: "function", Hooks: []string{"fexit:filemap_get_pages"}, Grade: "exact", Proof: "counted 4 pages read by 3 calls"},
			[]string{"reads: fexit:filemap_get_pages, exact (counted 4 pages read by 3 calls)"}},
		{sample.Way{What: "locks", By: "function", Hooks: []string{"a", "b", "c", "d"}, Grade: "exact"}, []string{"locks: a and b and 2 more, exact"}},
		{sample.Way{What: "direct", Rejected: []string{"tp:x: not in this kernel"}}, []string{"direct: not counted", "not by tp:x: not in this kernel"}},
	} {
		if got := wayLines(&c.way); !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// What several sources do alike is said once.
func TestCheckSaysTheSameOnce(t *testing.T) {
	var b strings.Builder
	way := sample.Way{What: "figures of each thread", By: "hash", Hooks: []string{"a hash"}, Grade: "exact", Rejected: []string{"task storage: no"}}
	found := &check.Found{Sources: []check.Source{
		{Name: "reclaim", State: check.Works, Ways: []sample.Way{way}}, {Name: "locks", State: check.Works, Ways: []sample.Way{way}},
	}}
	require.NoError(t, Check(&b, found, 80))
	if n := strings.Count(b.String(), "task storage"); n != 1 || !strings.Contains(b.String(), "figures of each thread: as for reclaim") {
		t.Errorf("said %d times:\n%s", n, b.String())
	}
}

// What a source that does not work needs stands below it, inside the width.
func TestCheckFitsTheWidth(t *testing.T) {
	var b strings.Builder
	found := &check.Found{
		Sources:  []check.Source{{Name: "pagecache", State: check.NotSupported, Costs: []diagnose.ID{"cold-cache"}, Replaced: []diagnose.ID{"cache-busting"}, Why: []string{strings.Repeat("why ", 40)}, Needs: "a newer kernel"}},
		Verdicts: []check.Verdict{{Cause: "cold-cache", Missing: []string{"cache.misses"}}},
	}
	require.NoError(t, Check(&b, found, 60))
	for line := range strings.Lines(b.String()) {
		if len(line) > 61 {
			t.Errorf("%d columns: %q", len(line)-1, line)
		}
	}
	if !strings.Contains(b.String(), "costs the verdict on cold-cache; cache-busting") || !strings.Contains(b.String(), "needs a newer kernel") || !strings.Contains(b.String(), "Impossible here: 1 of 1 verdict.") {
		t.Errorf("%s", b.String())
	}
}
