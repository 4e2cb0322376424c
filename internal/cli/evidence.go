package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"iocause/internal/host"
	"iocause/internal/incident"
	"iocause/internal/replay"
)

// evidenceKinds is all evidence of an incident.
func evidenceKinds(h *host.Host) []incident.Kind { return incident.Kinds(h, programName()) }

// programName is what files say of who wrote them.
func programName() string { return "iocause " + buildVersion().String() }

// readEvidence reads what a command without answer in recordings finds in an
// incident: nil where nothing is to be played.
func readEvidence(e *env, c *cobra.Command, p *playback, section string) ([]byte, error) {
	if is, err := p.asked(c); err != nil || !is {
		return nil, err
	}
	if p.file == "" {
		return newOpener(e, p.dir).Evidence(p.span(), section)
	}
	if p.from != "" || p.to != "" {
		return nil, &usageError{errors.New("reading the flags: the evidence of an incident is of one time"), "leave out --from and --to"}
	}
	x, err := newOpener(e, p.dir).Incident(p.file)
	if err != nil {
		return nil, err
	}
	if x == nil {
		u := notInRecordings()[c.Name()]
		return nil, &usageError{fmt.Errorf("reading --recording: %s", u.why), u.instead}
	}
	return replay.SectionOf(x, p.file, section)
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
