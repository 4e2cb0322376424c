package agent

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"iocause/internal/require"
	"iocause/internal/store/series"
)

// What is removed is added up for each part, and said once a day.
func TestShortageIsSaidOnceADay(t *testing.T) {
	var log require.Output
	now := time.Unix(1_700_000_000, 0)
	s := newShortage(slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return now })
	for range 2 * 48 { // two days of half hours
		s.dropped("raw", now.Add(-48*time.Hour), now.Add(-48*time.Hour+30*time.Minute))
		now = now.Add(30 * time.Minute)
	}
	s.dropped(TablesIn, now.Add(-time.Hour), now)
	if s.of("raw") != 48*time.Hour || s.of(TablesIn) != time.Hour || s.of("5m") != 0 {
		t.Errorf("%v, %v and %v were removed", s.of("raw"), s.of(TablesIn), s.of("5m"))
	}
	got := log.String()
	if strings.Count(got, "part=raw") != 2 || strings.Count(got, "part=tables") != 1 || !strings.Contains(got, "from=2023-11-12T22:13:20Z to=2023-11-12T22:43:20Z") {
		t.Error(got)
	}
}

// An agent that may take less room than there is taken makes room, and says what
// that cost.
func TestAgentMakesRoom(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rec")
	r, err := series.Open(series.Options{Dir: dir, Keep: [series.Tiers]time.Duration{48 * time.Hour, 0, 0}, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	var all []*series.Series
	for i := range 20 {
		all = append(all, series.New("iocause_cpus", series.Label{Name: "class", Value: fmt.Sprint(i)}))
	}
	var frames []series.Frame
	for at := time.Now().Add(-9 * time.Hour).Truncate(time.Minute); at.Before(time.Now().Add(-time.Hour)); at = at.Add(10 * time.Second) {
		f := series.Frame{At: at}
		for _, x := range all {
			f.Values = append(f.Values, series.Value{Of: x, V: rand.Float64()})
		}
		frames = append(frames, f)
	}
	if _, err := r.Append(frames); err != nil {
		t.Fatal(err)
	}
	if err := r.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	oldest := r.Oldest(0)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	c := quickConfig(dir)
	c.Limits.Disk = 1 << 20
	a := start(t, c)
	shown := regexp.MustCompile(`\niocause_agent_dropped_seconds_total\{class="raw"\} [1-9]`)
	until(t, "what was removed to be shown", func() bool {
		_, body := a.get(t, "/metrics")
		return shown.MatchString(body)
	})
	a.says(t, `iocause_agent_dropped_seconds_total{class="1h"} 0`)
	a.says(t, `iocause_agent_dropped_seconds_total{class="tables"} 0`)
	if err := a.stop(); err != nil {
		t.Error(err)
	}
	if got := a.log.String(); strings.Count(got, "is removed early") != 1 || !strings.Contains(got, "from="+oldest.UTC().Format(time.RFC3339)) {
		t.Errorf("%v is the oldest; said is %s", oldest, got)
	}
}
