package fleet

import (
	"fmt"
	"slices"

	"iocause/internal/fleet"
)

// Common is what the hosts with one cause have in common.
type Common struct {
	Cause    string
	Affected int // hosts that had it
	Healthy  int // hosts that had nothing, which they are compared with
	Tested   int // facts
	Factors  []fleet.Factor
	Why      string // there is no answer
}

// fewest hosts of each kind, for a comparison.
const fewest = 3

// NoSuchCause is one that no host had.
type NoSuchCause struct {
	Cause string
	There []string
}

func (e *NoSuchCause) Error() string {
	return fmt.Sprintf("no host had %q in this time; the causes were %v", e.Cause, e.There)
}

// Common compares the hosts that had a cause with those that had nothing. Hosts
// with another cause, and those that nobody looked at, are neither.
func (f *Fleet) Common(cause string) (*Common, error) {
	out := &Common{Cause: cause}
	var hosts []fleet.Host
	for i := range f.Hosts {
		h := &f.Hosts[i]
		switch {
		case h.Is(cause):
			out.Affected++
		case h.Is(healthy):
			out.Healthy++
		default:
			continue
		}
		hosts = append(hosts, fleet.Host{Affected: h.Is(cause), Facts: h.Facts})
	}
	switch {
	case out.Affected == 0 || cause == healthy:
		return nil, &NoSuchCause{cause, f.causes()}
	case out.Affected < fewest || out.Healthy < fewest:
		out.Why = fmt.Sprintf("%d hosts had it and %d were healthy: a comparison needs %d of each", out.Affected, out.Healthy, fewest)
		return out, nil
	}
	out.Factors, out.Tested = fleet.Common(hosts)
	return out, nil
}

// causes are those of the time, those of most hosts first; without healthy.
func (f *Fleet) causes() []string {
	n := map[string]int{}
	var out []string
	for i := range f.Hosts {
		for cause := range f.Hosts[i].Causes {
			if cause != healthy && n[cause] == 0 {
				out = append(out, cause)
			}
			n[cause]++
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		if n[a] != n[b] {
			return n[b] - n[a]
		}
		if a < b {
			return -1
		}
		return 1
	})
	return out
}
