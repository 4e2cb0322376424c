package threads

import (
	probe "iocause/internal/source/probe/threads"
)

// Share is the part of an interval that a thread was in a state, 0 to 1.
type Share struct {
	State string
	Of    float64
}

// Shares are those of one of the interval's threads: states that it was in, but for
// idle and what was not seen.
func (t *Threads) Shares(u *Thread) []Share {
	var all []Share
	for state := range probe.States {
		if state != probe.Unseen && state != probe.Idle && u.In[state] > 0 && t.Length > 0 {
			all = append(all, Share{state.Key(), u.In[state].Seconds() / t.Length.Seconds()})
		}
	}
	return all
}
