package pagecache

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"

	"iocause/internal/bpf"
	"iocause/internal/sample"
)

// emitWaits emits what each process waited for, and drops the rows of those
// that have ended: nothing tells of them any more.
func (p *Probe) emitWaits(into sample.Sink) error {
	self := uint32(p.host.Self)
	rows := p.probe.Map("waits")
	var ended []uint32
	err := bpf.Each(rows, func(tgid uint32, w pagecacheWaitTimes) {
		if w.Lap+1 < p.laps {
			ended = append(ended, tgid)
		}
		if tgid != self {
			p.emitWait(sample.Entity{PID: int(tgid)}, &w, into)
		}
	})
	if err != nil {
		return fmt.Errorf("reading the account of waits: %w", err)
	}
	for _, tgid := range ended {
		if err := rows.Delete(tgid); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("dropping the account of a process that has ended: %w", err)
		}
	}
	// nobody waited is a measurement too
	into.Put(sample.WaitIO, sample.Entity{}, 0, fromSwitch)
	into.Put(sample.WaitWeighted, sample.Entity{}, 0, fromSpans)
	into.Put(sample.WaitCompletions, sample.Entity{}, 0, fromSwitch)
	into.Put(sample.WaitDirtyPause, sample.Entity{}, 0, fromBalance)
	return nil
}

func (p *Probe) emitWait(e sample.Entity, w *pagecacheWaitTimes, into sample.Sink) {
	for class, name := range waitClasses() {
		if ns := w.Ns[class]; ns > 0 {
			e.Class = name
			into.PutTotal(sample.WaitIO, e, seconds(ns), fromSwitch)
		}
	}
	e.Class = ""
	if ns := w.Ns[waitDoze]; ns > 0 {
		into.PutTotal(sample.WaitCompletions, e, seconds(ns), fromSwitch)
	}
	into.Put(sample.WaitThreads, e, float64(w.Threads), fromSwitch)
	into.PutTotal(sample.WaitAwake, e, seconds(w.AwakeNs), fromSpans)
	into.PutTotal(sample.WaitWeighted, e, seconds(w.WeightedNs), fromSpans)
	if w.SpansLap+1 == p.laps {
		into.Put(sample.WaitHeld, e, float64(w.Held), fromSpans)
		into.Put(sample.WaitRan, e, float64(w.Ran), fromSpans)
		into.Put(sample.WaitWorst, e, seconds(w.WorstNs), fromSpans)
	}
	if w.Pauses > 0 {
		into.PutTotal(sample.WaitDirtyPause, e, seconds(w.PauseNs), fromBalance)
		into.PutTotal(sample.DirtyPauses, e, float64(w.Pauses), fromBalance)
	}
}

func seconds(ns uint64) float64 { return float64(ns) / 1e9 }
