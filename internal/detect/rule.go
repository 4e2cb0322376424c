package detect

import (
	"math"
	"time"
)

// Rule says when signals are an incident.
type Rule struct {
	Families int     // that must be off at the same time
	Z        float64 // how many spreads a family is off to count
	Sum      float64 // of the families' z, each at most MaxZ, over the root of 3
	MaxZ     float64
	Agree    float64       // how far requests that fall count at most
	HalfHour bool          // what is done is also compared with the half hour before
	Fall     float64       // how far that falls at least for disks to be compared with it, too
	Fresh    bool          // what is done counts only where it is less than in the half hour before, too
	Sooner   bool          // what recurs is known from its first time on, not from its second
	Less     bool          // what is done must have fallen where memory and disks alone are off
	Within   int           // samples of ten seconds that are looked back at
	Bad      int           // of them that hold, to open an incident
	Join     time.Duration // what comes sooner after the last bad sample is the same incident
	Lasting  time.Duration // an incident that goes on for longer is the new normal

	// While nothing is known of what is normal: threads wait for disks for this
	// part of the time, and this part is left of what was done in the minutes
	// before.
	Blatant, Left float64
}

// DefaultRule is the rule that docs/baselines.md gives the figures of.
func DefaultRule() Rule {
	return Rule{Families: 2, Z: 1, Sum: 5, MaxZ: 8, Agree: 4, HalfHour: true, Fall: 2.5, Fresh: true, Sooner: true, Less: true, Within: 30, Bad: 24, Join: 15 * time.Minute, Lasting: 6 * time.Hour,
		Blatant: 0.9, Left: 0.5}
}

// deciding is how many families decide: processor, or requests in its place,
// memory and disk.
const deciding = 3

// holds tells whether the z of the families are off together.
func (r *Rule) holds(z [families]float64) bool {
	off, sum := r.off(z)
	return off >= r.Families && sum/math.Sqrt(deciding) >= r.Sum
}

// off is how many of the deciding families are off, and how far together. Where
// threads wait for disks, and these do less than they do else, that agrees as
// well as a processor that does less: on a host that is busy with other work it
// does not. It counts for less than a family: it agrees.
func (r *Rule) off(z [families]float64) (n int, sum float64) {
	if z[Disk] >= r.Z {
		z[CPU] = max(z[CPU], min(z[Requests], r.Agree))
	}
	for _, f := range [deciding]Family{CPU, Memory, Disk} {
		if z[f] >= r.Z {
			n++
		}
		sum += min(max(z[f], 0), r.MaxZ)
	}
	return n, sum
}

// Action is what to do after a sample.
type Action uint8

// The actions.
const (
	Nothing Action = iota
	Open           // an incident begins: gather evidence
	Extend         // it goes on: keep Decision.Incident in place of the former
	Close          // it is over; Decision.Incident is final
)
