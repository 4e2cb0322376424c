package agent

import "time"

// Quick is an agent's configuration for a test that waits for what comes of advice.
func Quick(dir string) Config {
	c := quickConfig(dir)
	c.Listen, c.Incidents.Diagnose = "", 3*time.Second
	c.watchEvery, c.adviceSettles = time.Second, 2*time.Second
	return c
}

// HoldAtOnce has it tell limits of cgroups that are seen for the first time after seconds
// in place of minutes.
func (a *Agent) HoldAtOnce() {
	a.cgroupLimits.holds, a.cgroupLimits.seen = 3*time.Second, 0
	for _, f := range a.feeds {
		if f.entry.Name == limitSource {
			f.base = time.Second
		}
	}
}
