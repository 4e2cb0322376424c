package agent

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// An agent that takes more than it may reads the source that costs most less
// often, and says which, how often and why: in its log and in its series.
func TestAgentShedsTheCostliestSource(t *testing.T) {
	c := quickConfig(filepath.Join(t.TempDir(), "rec"))
	c.Limits.CPU = 1e-6
	a := start(t, c)
	line := regexp.MustCompile(`the most expensive source is read less often" source=(\S+) interval=(\S+) why="the agent takes [0-9.]+ % of a processor, more than 0.00 %"`)
	until(t, "a source to be spared", func() bool { return line.MatchString(a.log.String()) })
	said := line.FindStringSubmatch(a.log.String())
	interval, err := time.ParseDuration(said[2])
	if err != nil {
		t.Fatal(err)
	}
	base := c.Interval
	for _, f := range a.agent.feeds {
		if f.entry.Name == said[1] {
			base = f.base
		}
	}
	if interval != 2*base {
		t.Errorf("%s is read every %v instead of %v", said[1], interval, base)
	}
	shown := regexp.MustCompile(fmt.Sprintf(`\niocause_agent_interval_seconds\{class=%q\} (\S+)\n`, said[1]))
	until(t, "that to be shown", func() bool {
		_, body := a.get(t, "/metrics")
		m := shown.FindStringSubmatch(body)
		return m != nil && m[1] != fmt.Sprint(base.Seconds())
	})
	if err := a.stop(); err != nil {
		t.Error(err)
	}
	if strings.Contains(a.log.String(), "values were lost") {
		t.Error(a.log)
	}
}
