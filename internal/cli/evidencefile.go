package cli

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"iocause/internal/replay"
)

// The evidence of an incident, by the names of its sections. Of each, the
// command of the same name shows what it would have shown then.
const (
	sectionRecording = replay.SectionRecording // windows, of diagnose and its kin
	sectionNormal    = replay.SectionNormal    // a window of better times, that it was judged against
	sectionThreads   = "threads"
	sectionOffCPU    = "offcpu"
	sectionOnCPU     = "oncpu"
	sectionLatency   = "latency"
	sectionResident  = "resident"
	sectionMem       = "mem"
	sectionTrace     = "trace" // of burst, too
)

// Types of sections.
const (
	typeRecording = "application/x-iocause-recording"
	typeTrace     = "application/x-iocause-trace"
)

// evidence reads what a command without answer in recordings finds in an
// incident: nil where nothing is to be played.
func (a *app) evidence(c *cobra.Command, p *playback, section string) ([]byte, error) {
	if is, err := p.asked(c); err != nil || !is {
		return nil, err
	}
	if p.file == "" {
		return a.opener(p.dir).Evidence(p.span(), section)
	}
	if p.from != "" || p.to != "" {
		return nil, &usageError{errors.New("reading the flags: the evidence of an incident is of one time"), "leave out --from and --to"}
	}
	x, err := a.opener(p.dir).Incident(p.file)
	if err != nil {
		return nil, err
	}
	if x == nil {
		u := notInRecordings()[c.Name()]
		return nil, &usageError{fmt.Errorf("reading --recording: %s", u.why), u.instead}
	}
	return replay.SectionOf(x, p.file, section)
}

// keptAs reads evidence that is JSON.
func keptAs[T any](data []byte, section string) (*T, error) {
	to := new(T)
	if err := json.Unmarshal(data, to); err != nil {
		return nil, fmt.Errorf("reading the %s evidence: %w", section, err)
	}
	return to, nil
}

// onlyLive refuses flags that evidence has no answer for.
func onlyLive(c *cobra.Command, why string, flags ...string) error {
	for _, name := range flags {
		if c.Flags().Changed(name) {
			return &usageError{fmt.Errorf("reading the flags: --%s and --recording exclude each other: %s", name, why), "leave it out"}
		}
	}
	return nil
}

// oneTime refuses intervals of evidence that is of one time.
func oneTime(args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &usageError{errors.New("reading the arguments: the evidence of an incident is one look, without intervals"), "leave out INTERVAL"}
}
