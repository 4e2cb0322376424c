package incident

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"iocause/internal/store/incidents"
)

// LongestWatch is how long each kind of evidence watches, at most.
const LongestWatch = 5 * time.Second

// Gather takes the evidence of each kind by turns, each for a bounded time. What fails is a note: the rest is worth having.
func Gather(ctx context.Context, kinds []Kind, by Gathering) (sections []incidents.Section, notes []string) {
	by.Length = min(by.Length, LongestWatch)
	kinds = slices.SortedStableFunc(slices.Values(kinds), func(x, y Kind) int { return cmp.Compare(x.Turn, y.Turn) })
	for i := range kinds {
		k := &kinds[i]
		if k.Observe == nil {
			continue
		}
		if ctx.Err() != nil {
			notes = append(notes, k.Section+": interrupted before that")
			continue
		}
		data, err := k.Observe(ctx, &by)
		debug.FreeOSMemory() // of tables of symbols above all: the service has little
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s: %v", k.Section, err))
			continue
		}
		sections = append(sections, incidents.Section{Name: k.Section, Type: k.Type, Data: data})
	}
	return sections, notes
}
