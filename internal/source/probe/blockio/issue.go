package blockio

import "iocause/internal/bpf"

// issue keeps the program at block_rq_issue attached only where it is needed: where
// requests are found by their bios, or some device's queue keeps no issue time.
type issue struct {
	probe    *bpf.Probe
	needed   bool
	detached bool
}

// look takes the program away once requests have completed and all had an issue time,
// and brings it back when one has not.
func (i *issue) look() error {
	if i.needed {
		return nil
	}
	var want, timed uint32
	if err := i.probe.Variable("want_issue", &want); err != nil {
		return err
	}
	if want != 0 {
		i.needed = true
		return i.probe.Attach("on_issue")
	}
	if i.detached {
		return nil
	}
	if err := i.probe.Variable("timed", &timed); err != nil {
		return err
	}
	if timed == 0 {
		return nil // no request yet
	}
	i.detached = true
	return i.probe.Detach("on_issue")
}
