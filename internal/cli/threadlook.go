package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"iocause/internal/session"
)

// drainEvery is how often probes take in what has ended meanwhile.
const drainEvery = 500 * time.Millisecond

// takeIn has a probe take in what it has seen, twice a second, for a time or
// until ctx ends.
func takeIn(ctx context.Context, length time.Duration, take func() error) error {
	loop := session.Loop{Every: length, Count: 1, Tick: drainEvery, During: take}
	return loop.Run(ctx, func(session.Interval) error { return take() })
}

// newLosses say what was lost beyond what was before.
func newLosses(now, before map[string]uint64) (notes []string) {
	for _, what := range slices.Sorted(maps.Keys(now)) {
		if n := now[what] - before[what]; n > 0 {
			notes = append(notes, fmt.Sprintf("%d %s", n, what))
		}
	}
	return notes
}
