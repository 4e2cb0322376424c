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
	Within   int           // samples of ten seconds that are looked back at
	Bad      int           // of them that hold, to open an incident
	Join     time.Duration // what comes sooner after the last bad sample is the same incident
	Lasting  time.Duration // an incident that goes on for longer is the new normal
}

// DefaultRule is the rule that docs/baselines.md gives the figures of.
func DefaultRule() Rule {
	return Rule{Families: 2, Z: 1, Sum: 5, MaxZ: 8, Within: 30, Bad: 24, Join: 15 * time.Minute, Lasting: 6 * time.Hour}
}

// holds tells whether the z of the families are off together.
func (r *Rule) holds(z [families]float64) bool {
	off, sum := 0, 0.0
	for _, v := range z {
		if v >= r.Z {
			off++
		}
		sum += min(max(v, 0), r.MaxZ)
	}
	return off >= r.Families && sum/math.Sqrt(float64(families-1)) >= r.Sum
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

// String is the action's name.
func (a Action) String() string { return [...]string{"nothing", "open", "extend", "close"}[a] }
