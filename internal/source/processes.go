package source

import (
	"errors"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source/probe/tasks"
	"iocause/internal/source/proc/pid"
)

// processes is what /proc/PID tells of the processes that live when a window ends,
// and what the kernel tells of those that ended within it.
type processes struct {
	host   *host.Host
	living sample.Source
	ended  sample.Source // nil where its program cannot be loaded
}

func openProcesses(h *host.Host) (sample.Source, error) {
	p := &processes{host: h}
	ended, err := tasks.OpenEnded(h)
	if err != nil { // why it cannot is told by the probes, that need the same
		p.living, err = pid.Open(h)
	} else { // it has looked at all processes by the time that these are
		p.ended = ended
		p.living, err = pid.OpenBeside(h, ended.Rested)
	}
	if err != nil && p.ended != nil {
		err = errors.Join(err, p.ended.Close())
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Collect implements sample.Source.
func (p *processes) Collect(phase sample.Phase, into sample.Sink) error {
	var err error
	if p.ended != nil { // first: who ends between the two is in the next window, not in this one twice
		err = p.ended.Collect(phase, into)
	} else if phase.Closes() {
		why := "the CPU time of processes that ended is missing: the BPF program that counts it could not be loaded"
		if p.host.HasOwnPIDs() {
			why = host.NumbersApart + ", so what a process uses and what it waits for are told of two; " + host.SharePIDs
		}
		into.PutGap(sample.Gap{Why: why})
	}
	return errors.Join(err, p.living.Collect(phase, into))
}

// Close implements sample.Source.
func (p *processes) Close() error {
	err := p.living.Close()
	if p.ended != nil {
		err = errors.Join(err, p.ended.Close())
	}
	return err
}
