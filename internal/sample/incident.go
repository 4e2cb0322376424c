package sample

import "time"

// Limit is a hard limit that was reached: it opens an incident at once,
// whatever is normal. Both are data from the system.
type Limit struct {
	Kind string `json:"kind"`         // LimitErrors and its like
	Of   string `json:"of,omitempty"` // device, file system, cgroup, group of processes or counter
	What string `json:"what"`         // which device, cgroup or figure, and how much
}

// The kinds of hard limits.
const (
	LimitErrors    = "errors"    // a device or file system failed requests
	LimitCap       = "cap"       // a cgroup is at its memory limit, and reads again what it had
	LimitThrottled = "throttled" // a cgroup's limit of I/O or processor time held it back
	LimitByHand    = "by hand"   // somebody asked for it, and may have said why
	LimitOOM       = "oom-near"  // memory is about to run out, or did
	// LimitStandstill is work that stopped while the threads that do it wait.
	LimitStandstill = "standstill"
	// LimitWaiting is a group of processes that waits far more than it did.
	LimitWaiting = "waiting"
)

// Reason is a signal that was off.
type Reason struct {
	Signal string  `json:"signal"`
	Unit   string  `json:"unit"`
	Value  float64 `json:"value"`
	Normal float64 `json:"normal"` // the median of the reference
	Low    float64 `json:"low"`    // 5 % of the reference were below
	High   float64 `json:"high"`   // 5 % were above
	Z      float64 `json:"z"`      // spreads between value and normal, to the bad side
	Basis  string  `json:"basis"`  // what the reference is
	Days   int     `json:"days"`   // that the reference was made of
}

// Incident is an anomaly of the host: from when to when, and why.
type Incident struct {
	Start   time.Time `json:"start"`   // of the first bad sample
	Opened  time.Time `json:"opened"`  // when it was told
	End     time.Time `json:"end"`     // of the last bad sample so far
	Reasons []Reason  `json:"reasons"` // of the worst sample
	Limits  []Limit   `json:"limits"`  // each kind of a thing once, as it was first
	Samples int       `json:"samples"` // that were bad
	Lasting bool      `json:"lasting"` // it goes on, and is learned as normal
}
