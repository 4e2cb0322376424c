// Package incident gathers the evidence of an incident, reads it, and keeps
// what was captured with the incidents of the agent.
package incident

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"iocause/internal/agent"
	"iocause/internal/ask"
	"iocause/internal/replay"
)

// The evidence of an incident, by the names of its sections. Of each, the
// command of the same name shows what it would have shown then.
const (
	SectionRecording = replay.SectionRecording // windows, of diagnose and its kin
	SectionNormal    = replay.SectionNormal    // a window of better times, that it was judged against
	SectionTop       = agent.SectionTop        // what the agent kept of processes and cgroups
	SectionThreads   = "threads"
	SectionOffCPU    = "offcpu"
	SectionOnCPU     = "oncpu"
	SectionLatency   = "latency"
	SectionResident  = "resident"
	SectionMem       = "mem"
	SectionTrace     = "trace" // of burst, too
)

// Media types of sections.
const (
	TypeJSON      = "application/json"
	TypeRecording = "application/x-iocause-recording"
	TypeTrace     = "application/x-iocause-trace"
)

// Kind is one kind of evidence: how it is observed, and how it is shown.
type Kind struct {
	Section string // its name in an incident
	Type    string // media type of what is kept
	// Observe takes it. It is nil where the evidence comes with the window that
	// was judged, or from the agent.
	Observe func(context.Context, *Gathering) ([]byte, error)
	Turn    int  // of Observe: what passes soonest has the first
	Watches bool // for Gathering.Length; else it reads once
	Views   []View
}

// View is a command that shows a kind of evidence.
type View struct {
	Command string
	Args    []string // beside --recording
	Long    bool     // too long to be shown with all others
	// Lacking is why a recording of 'iocause record' has no answer for the command, whose
	// evidence is kept with incidents alone, and Instead what to do; "" where it has one.
	Lacking, Instead string
}

// Gathering is what one gathering goes by. It is handed from kind to kind, by
// their turns.
type Gathering struct {
	Length time.Duration // of each kind that watches
	// Victim is the command name of who is held up, "" when it is not known. A
	// kind that finds out sets it for those that follow.
	Victim string
}

// Watching is how long the kinds together watch, one after the other, where each shall
// for that length.
func Watching(kinds []Kind, length time.Duration) (sum time.Duration) {
	for i := range kinds {
		if kinds[i].Watches {
			sum += min(length, LongestWatch)
		}
	}
	return sum
}

// JSON writes evidence.
func JSON(x any) ([]byte, error) {
	b, err := json.Marshal(x)
	if err != nil {
		return nil, fmt.Errorf("writing it: %w", err)
	}
	return b, nil
}

// As reads evidence that is JSON.
func As[T any](data []byte, section string) (*T, error) {
	to := new(T)
	if err := json.Unmarshal(data, to); err != nil {
		return nil, fmt.Errorf("reading the %s evidence: %w", section, err)
	}
	return to, nil
}

// Evidence reads what a command without an answer in recordings shows: of the incident
// of that name or, without one, of the newest in an interval of the agent's history.
func Evidence(o *replay.Opener, name string, s *replay.Interval, section, command string) ([]byte, error) {
	if name == "" {
		return o.Evidence(s, section)
	}
	if s.From != "" || s.To != "" {
		return nil, &ask.Error{Err: errors.New("reading the flags: the evidence of an incident covers one time only"), Next: "leave out --from and --to"}
	}
	x, err := o.Incident(name)
	if err != nil {
		return nil, err
	}
	if x == nil {
		v := ViewOf(command)
		return nil, &ask.Error{Err: fmt.Errorf("reading --recording: %s", v.Lacking), Next: v.Instead}
	}
	return replay.SectionOf(x, name, section)
}

// ViewOf is how a command shows evidence; nothing for one that shows none.
func ViewOf(command string) (of View) {
	for _, k := range Kinds(nil, "") {
		for _, v := range k.Views {
			if v.Command == command {
				of = v
			}
		}
	}
	return of
}
