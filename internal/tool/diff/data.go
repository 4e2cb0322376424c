// Package diff compares two recordings, or two times of one: findings, figures and
// settings, each with how sure it is that it differs.
package diff

import (
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/store/recording"
)

// Difference is what two recordings differ in.
type Difference struct {
	Version  int               `json:"version"`
	Sides    [2]Side           `json:"sides"` // A and B
	Findings []Finding         `json:"findings"`
	Evidence []Evidence        `json:"evidence"`
	Figures  []Figure          `json:"figures"`
	Settings []host.Difference `json:"settings"`
	Notes    []string          `json:"notes"`
}

// Side is one side: what it is, and what was found in it.
type Side struct {
	File    string           `json:"file"`
	Start   time.Time        `json:"start"`
	Seconds float64          `json:"seconds"`
	Windows int              `json:"windows"`
	Command string           `json:"command,omitempty"`
	Run     *recording.Run   `json:"run,omitempty"`
	Primary diagnose.ID      `json:"primary"`
	Title   string           `json:"title"`
	Victim  diagnose.Culprit `json:"victim"`
}

// Finding is one cause that holds on one side at least.
type Finding struct {
	Cause diagnose.ID `json:"cause"`
	Title string      `json:"title"`
	Sides [2]State    `json:"sides"`
}

// State is how a cause stands on one side.
type State struct {
	Answer     diagnose.Answer `json:"answer"`
	Primary    bool            `json:"primary"`
	Confidence float64         `json:"confidence,omitempty"`
	Weight     float64         `json:"weight,omitempty"`
	Why        string          `json:"why,omitempty"` // ruled out, or not to be told
}

// Evidence is a figure that proves a cause; null where a side has it not.
type Evidence struct {
	Cause  diagnose.ID `json:"cause"`
	ID     string      `json:"id"` // of the figure, as in a finding
	Name   string      `json:"name"`
	Unit   string      `json:"unit"`
	Source string      `json:"source"`
	A      *float64    `json:"a"`
	B      *float64    `json:"b"`
}

// Figure is a figure of both sides, null where a side has it not.
type Figure struct {
	Key    string   `json:"key"`
	Name   string   `json:"name"`
	Unit   string   `json:"unit"`
	Source string   `json:"source"`
	A      *float64 `json:"a"`
	B      *float64 `json:"b"`
	// Superiority is the share of pairs of windows in which B is larger; absent
	// where there are too few, and for sizes.
	Superiority *float64 `json:"superiority,omitempty"`
	StandsOut   bool     `json:"stands_out"`
	factor      float64
	beside      bool // a size that is shown because another one stands out
}
