package agent

import (
	"log/slog"
	"sync"
	"time"
)

// shortage is what was removed before its age, because the parts of the
// recording may not take more room. Safe for concurrent use.
type shortage struct {
	log *slog.Logger
	now func() time.Time

	mu    sync.Mutex
	spans map[string]time.Duration // by part
	told  map[string]time.Time
}

// shortageTold is how long it is not said again: a recording that has reached
// its limit loses something every half hour.
const shortageTold = 24 * time.Hour

func newShortage(log *slog.Logger, now func() time.Time) *shortage {
	return &shortage{log: log, now: now, spans: map[string]time.Duration{}, told: map[string]time.Time{}}
}

func (s *shortage) dropped(part string, from, to time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spans[part] += to.Sub(from)
	now := s.now()
	if told := s.told[part]; !told.IsZero() && now.Sub(told).Abs() < shortageTold {
		return
	}
	s.told[part] = now
	s.log.Warn("the history is at its size limit: its oldest part is removed early",
		"part", part, "from", from.UTC().Format(time.RFC3339), "to", to.UTC().Format(time.RFC3339), "removed_since_the_start", s.spans[part].String())
}

// of is how much time of a part was removed.
func (s *shortage) of(part string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spans[part]
}
