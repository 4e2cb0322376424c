// Package diagnose turns a window of samples into a verdict: one primary
// cause out of a closed list, healthy, or cannot tell. It is pure: the same
// window always gives the same report.
package diagnose

import "time"

// ID is the stable name of a cause (docs/causes.md).
type ID string

// Answer is one of three, never two.
type Answer string

// The three answers.
const (
	Yes        Answer = "yes"
	No         Answer = "no"
	CannotTell Answer = "cannot tell"
)

// Evidence is one figure that speaks for or against a cause. Unit is a base
// unit of sample.Unit or a rate of one ("bytes/s", "count/s").
type Evidence struct {
	ID     string  `json:"id"` // of the figure, for programs: stays the same when the words of Name change
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Source string  `json:"source"`
}

// Advice is what to change and what that is predicted to give. Low and High are
// by how many times as much the victim then does in the same time, at least and
// at most; 0 where that cannot be known. Expect says the same in words. Command
// does it, or shows more, where one line of a shell can; as root.
type Advice struct {
	Do      string  `json:"do"`
	Expect  string  `json:"expect"`
	Low     float64 `json:"expect_low,omitempty"`
	High    float64 `json:"expect_high,omitempty"`
	Command string  `json:"command,omitempty"`
	Saves   *Saves  `json:"saves,omitempty"` // of more memory; absent where that cannot be told
}

// Excluded is a cause that was looked at and ruled out.
type Excluded struct {
	Cause ID     `json:"cause"`
	Why   string `json:"why"`
}

// Missing is a cause that could not be judged.
type Missing struct {
	Cause   ID     `json:"cause"`
	Missing string `json:"missing"`
}

// Finding is one cause that was found.
type Finding struct {
	Cause      ID         `json:"cause"`
	Title      string     `json:"title"` // one line, for people
	Answer     Answer     `json:"answer"`
	Likely     bool       `json:"likely,omitempty"`    // best effort: who waits for what was not measured
	Confidence float64    `json:"confidence"`          // 0 to 1
	Weight     float64    `json:"weight"`              // share of what holds the victim up that it explains, 0 to 1
	WeightOf   string     `json:"weight_of,omitempty"` // what that is a share of
	Culprit    Culprit    `json:"culprit"`
	Evidence   []Evidence `json:"evidence"`
	Excluded   []Excluded `json:"excluded"`
	Disprove   string     `json:"disprove"`
	Advice     []Advice   `json:"advice"`
}

// Interval is the observed window.
type Interval struct {
	Start   time.Time `json:"start"`
	Seconds float64   `json:"seconds"`
}

// Cost is what observing took from the machine.
type Cost struct {
	CPUSeconds float64 `json:"cpu_seconds"` // iocause itself, user and system
	BPFSeconds float64 `json:"bpf_seconds"` // kernel programs, charged to the traced processes
	RSSBytes   int64   `json:"rss_bytes"`   // peak resident memory
	LostEvents uint64  `json:"lost_events"` // events that were seen but could not be kept
}

// Report is the whole answer. Primary is the cause of Findings[0], "healthy"
// or "cannot-tell".
type Report struct {
	Version    int        `json:"version"`
	Host       any        `json:"host,omitempty"` // the fingerprint, opaque to this room
	Window     Interval   `json:"window"`
	Primary    ID         `json:"primary"`
	Title      string     `json:"title"`  // the answer in one line, for people
	Victim     Culprit    `json:"victim"` // who waits; empty when nobody does
	Findings   []Finding  `json:"findings"`
	Excluded   []Excluded `json:"excluded"` // every cause that was ruled out, whatever the answer
	CannotTell []Missing  `json:"cannot_tell"`
	Gaps       []string   `json:"gaps"` // what could not be observed and why
	Cost       Cost       `json:"cost"`

	// Doubts are figures that neither a cause explains nor "healthy" allows.
	Doubts []string `json:"doubts,omitempty"`
	// Blind is why it is not known who waits, and what would help.
	Blind string `json:"blind,omitempty"`
	// VictimWaits is how long the victim is held up, and in what; nil without one.
	VictimWaits *Waiter `json:"victim_waits,omitempty"`
	// Waiters are the programs that are held up longest, whatever the answer.
	Waiters []Waiter `json:"waiters"`
	// Others are those beside the victim that are held up enough to matter, each
	// with the cause for it alone.
	Others []Other `json:"others,omitempty"`
	// When is the part of the window that the trouble was in; nil where that is not
	// known, or nothing is wrong.
	When *When `json:"when,omitempty"`
	// Calls are what the victim's own syncs and reads took, of those that waited.
	Calls []CallTime `json:"calls,omitempty"`
	// Operations are what requests to the victim's device took, by kind.
	Operations []Operation `json:"operations,omitempty"`
	// Layers are what each layer below the victim's file system took of an I/O, from
	// the top; none where it is on a disk itself.
	Layers []LayerTime `json:"layers,omitempty"`
	// Memory is who holds it, where the cause is a want of memory.
	Memory []Holder `json:"memory,omitempty"`
}
