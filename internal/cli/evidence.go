package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/incident"
	"iocause/internal/version"
)

// evidenceKinds is all evidence of an incident.
func evidenceKinds(h *host.Host) []incident.Kind { return incident.Kinds(h, version.Program()) }

// readEvidence reads what a command without answer in recordings finds in an
// incident: nil where nothing is to be played.
func readEvidence(e *env, c *cobra.Command, p *playback, section string) ([]byte, error) {
	if is, err := p.asked(c); err != nil || !is {
		return nil, err
	}
	return incident.Evidence(newOpener(e, p.dir), p.file, p.interval(), section, c.Name())
}

// onlyLive refuses arguments and flags that evidence has no answer for: it is of
// one time, so that there are no intervals of it.
func onlyLive(c *cobra.Command, args []string, why string, flags ...string) error {
	if len(args) > 0 {
		return &ask.Error{Err: errors.New("reading the arguments: the evidence of an incident has no intervals"), Next: "leave out INTERVAL"}
	}
	for _, name := range changed(c, flags...) {
		return &ask.Error{Err: fmt.Errorf("reading the flags: --%s and --recording cannot be combined: %s", name, why), Next: "leave it out"}
	}
	return nil
}

// evidenceOf is what an incident holds of T, and whom of it is asked for.
func evidenceOf[T any](c *cobra.Command, f *filter, section string, data []byte) (*T, diagnose.Target, error) {
	target, err := f.Recorded(f.given(c))
	if err != nil {
		return nil, target, err
	}
	was, err := incident.As[T](data, section)
	return was, target, err
}
