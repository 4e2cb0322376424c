package profile

import (
	"fmt"

	"iocause/internal/bpf"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// Sampling is how samples were taken.
type Sampling struct {
	Hz    int    `json:"hz"`
	Event string `json:"event"`
	CPUs  int    `json:"processors,omitempty"` // 0: not known
}

func samplingOf(event string, hz int) *Sampling {
	s := &Sampling{Hz: hz, Event: event}
	if cpus, err := bpf.Online(); err == nil {
		s.CPUs = cpus
	}
	return s
}

// note says what the samples of a profile are.
func (s *Sampling) note(p *sample.Profile) string {
	var n uint64
	for i := range p.Stacks {
		n += p.Stacks[i].Count
	}
	note := fmt.Sprintf("%s at %d Hz by %s, each for %s of running", sample.Counted(n, "sample"), s.Hz, s.Event, table.Duration(1/float64(max(s.Hz, 1))))
	if s.CPUs > 0 {
		note += "; " + sample.Counted(s.CPUs, "processor")
	}
	return note
}
