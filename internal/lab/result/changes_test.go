package result

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"iocause/internal/lab"
)

// What changed at the time of a change is named with it, what changed at
// another is not; nor is a load's own latency.
func TestChangesInAPhase(t *testing.T) {
	start := time.Unix(1000, 0)
	step := func(of, name, source string, at int, from, to float64) lab.Series {
		s := lab.Series{Of: of, Name: name, Unit: "count/s", Source: source, Start: start, Step: time.Second, Values: slices.Repeat([]float64{from}, 120)}
		for i := at; i < 120; i++ {
			s.Values[i] = to
		}
		return s
	}
	p := &lab.PhaseResult{Phase: "p", Repeat: 2, Started: start, Series: []lab.Series{
		step("load l", "calls", loadSource, 60, 900, 300),
		step("load l", "latency p50", loadSource, 60, 1, 3),
		step("host", "memory available", "/proc/meminfo", 59, 8e9, 1e9),
		step("disk a", "reads", "stat", 90, 10, 100),
		step("neighbour rsync", "read and written", "io", 62, 0, 1e6),
		step("load paced", "calls", loadSource, 0, 7, 7),
		step("load paced", "latency p99", loadSource, 90, 1, 3),
		step("load slower", "latency p99", loadSource, 80, 2, 3), // by less than what counts
	}}
	for i, cause := range []string{"healthy", "healthy", "cache-busting"} {
		p.Watched = append(p.Watched, lab.Watched{Started: start.Add(time.Duration(i) * 30 * time.Second), Primary: cause})
	}
	got := changesIn(p)
	if len(got) != 2 || got[1].Load != "paced" || got[1].Figure != "latency p99" || got[1].To != 3 || len(got[1].Also) != 1 {
		t.Fatalf("%+v", got)
	}
	c := got[0]
	if c.Load != "l" || c.Repeat != 2 || !c.At.Equal(start.Add(time.Minute)) || c.From != 900 || c.To != 300 || c.Before != "healthy" || c.Later != "cache-busting" {
		t.Errorf("%+v", c)
	}
	var also []string
	for _, a := range c.Also {
		also = append(also, fmt.Sprint(a.Of, a.After))
	}
	if strings.Join(also, " ") != "host-1 neighbour rsync2" {
		t.Errorf("%q", also)
	}
	if _, err := json.Marshal(c); err != nil {
		t.Error(err)
	}
}
