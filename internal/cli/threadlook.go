package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// takeIn has a probe take in what it has seen, twice a second, for a time or
// until ctx ends.
func takeIn(ctx context.Context, length time.Duration, take func() error) error {
	watch, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	for watch.Err() == nil {
		select {
		case <-watch.Done():
		case <-time.After(500 * time.Millisecond):
		}
		if err := take(); err != nil {
			return err
		}
	}
	return nil
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
