package threads

import (
	"fmt"

	"iocause/internal/bpf"
	"iocause/internal/sample"
)

// Waits are the lengths, in nanoseconds, of the waits of one state of the
// threads of one name in one process. A wait is counted when it ends.
type Waits struct {
	PID     int
	Comm    sample.RawName
	State   State
	Lengths sample.Histogram
}

// Waits returns the waits that ended since the last call; none unless
// Options.Waits is set.
func (p *Probe) Waits() ([]Waits, error) {
	var all []Waits
	err := bpf.Each(p.probe.Map("waits"), func(k threadsWaitKey, v threadsWaitLengths) {
		before := p.waits[k]
		p.waits[k] = v
		w := Waits{PID: int(k.Tgid), Comm: name(&k.Comm), State: State(k.State)}
		w.Lengths.Unit = "nanoseconds"
		w.Lengths.Sum = float64(v.Ns - before.Ns)
		n := uint64(0)
		for i := range v.Slots {
			w.Lengths.Counts[i] = v.Slots[i] - before.Slots[i]
			n += w.Lengths.Counts[i]
		}
		if n > 0 {
			all = append(all, w)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("reading the lengths of waits: %w", err)
	}
	return all, nil
}
