package pagecache

import (
	"errors"
	"fmt"
	"slices"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/sample"
)

type waitRow struct {
	tgid  uint32
	times pagecacheWaitTimes
	ended bool // its process, and it is in the map no more
}

// waitRows are those of the processes that go on. Those of processes that have
// ended are taken out of the map, and kept for the end of the window. It emits the
// course of all, for the map is read here.
func (p *Probe) waitRows(ended func(tgid uint32, w *pagecacheWaitTimes) bool, into sample.Sink) ([]waitRow, error) {
	all := p.probe.Map("waits")
	told := make(map[uint32]uint64, len(p.course))
	var rows []waitRow
	var gone []uint32
	err := bpf.Each(all, func(tgid uint32, w pagecacheWaitTimes) {
		told[tgid] = p.tellCourse(tgid, &w, into)
		if ended(tgid, &w) {
			gone = append(gone, tgid)
		} else {
			rows = append(rows, waitRow{tgid: tgid, times: w})
		}
	})
	if err == nil {
		p.course = told
	}
	for _, tgid := range gone {
		delete(p.course, tgid)
		w, ok, e := bpf.Take[uint32, pagecacheWaitTimes](all, tgid)
		if err = errors.Join(err, e); ok {
			p.endedWaits = append(p.endedWaits, waitRow{tgid, w, true})
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the account of waits: %w", err)
	}
	return rows, nil
}

// emitWaits emits what each process waited for. Here the programs themselves have
// told which processes still live, containers' included.
func (p *Probe) emitWaits(into sample.Sink) error {
	rows, err := p.waitRows(func(_ uint32, w *pagecacheWaitTimes) bool { return w.Window+1 < p.windows }, into)
	if err != nil {
		return err
	}
	of := waitsFor()
	permit, asked := slices.Index(of[:], sample.ClassPermit), false
	for _, all := range [...][]waitRow{rows, p.endedWaits} {
		for i := range all {
			if r := &all[i]; r.tgid != uint32(p.host.Self) {
				asked = asked || r.times.ForNs[permit] > 0
				p.emitWait(sample.Entity{PID: int(r.tgid)}, &r.times, into, putting(into, r.ended))
			}
		}
	}
	p.endedWaits = nil
	// nobody waited is a measurement too
	into.Put(sample.WaitIO, sample.Entity{}, 0, fromSwitch)
	into.Put(sample.WaitWeighted, sample.Entity{}, 0, fromSpans)
	into.Put(sample.WaitCompletions, sample.Entity{}, 0, fromSwitch)
	into.Put(sample.WaitUnnamed, sample.Entity{}, 0, fromSwitch)
	into.Put(sample.WaitDirtyPause, sample.Entity{}, 0, fromBalance)
	if p.stacks {
		into.Put(sample.WaitFor, sample.Entity{}, 0, fromStack)
	}
	if asked {
		p.emitScanners(into)
	}
	return nil
}

// emitScanners emits who has to allow others to open files. All processes are looked at
// only where one that was found before is none any more.
func (p *Probe) emitScanners(into sample.Sink) {
	if len(p.scanners) == 0 || slices.ContainsFunc(p.scanners, func(pid int) bool { return !p.host.Scans(pid) }) {
		p.scanners = p.host.Scanners()
	}
	for _, pid := range p.scanners {
		into.Put(sample.WaitScanner, sample.Entity{PID: pid}, 1, "/proc/PID/fdinfo")
		comm, _ := p.host.CommOf(pid) // its number says who it is where it has ended
		into.PutProcess(pid, sample.Process{Comm: comm})
	}
}

func (p *Probe) emitWait(e sample.Entity, w *pagecacheWaitTimes, into sample.Sink, put bpf.Total) {
	for class, name := range waitClasses() {
		if ns := w.Ns[class]; ns > 0 {
			e.Class = name
			put(sample.WaitIO, e, seconds(ns), fromSwitch)
		}
	}
	for what, name := range waitsFor() {
		if ns := w.ForNs[what]; ns > 0 && p.stacks {
			e.Class = name
			put(sample.WaitFor, e, seconds(ns), fromStack)
		}
	}
	if w.Flocks > 0 || w.Ns[waitFlock] > 0 {
		e.Class = sample.ClassFile
		put(sample.LockWait, e, seconds(w.Ns[waitFlock]), fromSwitch)
		put(sample.LockWaits, e, float64(w.Flocks), fromSwitch)
	}
	e.Class = ""
	if ns := w.Ns[waitDoze]; ns > 0 {
		put(sample.WaitCompletions, e, seconds(ns), fromSwitch)
	}
	if ns := w.Ns[waitUnnamed]; ns > 0 {
		put(sample.WaitUnnamed, e, seconds(ns), fromSwitch)
	}
	into.Put(sample.WaitThreads, e, float64(w.Threads), fromSwitch)
	put(sample.WaitAwake, e, seconds(w.AwakeNs), fromSpans)
	put(sample.WaitWeighted, e, seconds(w.WeightedNs), fromSpans)
	if w.SpansWindow+1 == p.windows {
		into.Put(sample.WaitHeld, e, float64(w.Held), fromSpans)
		into.Put(sample.WaitRan, e, float64(w.Ran), fromSpans)
		into.Put(sample.WaitWorst, e, seconds(w.WorstNs), fromSpans)
	}
	if w.Pauses > 0 {
		put(sample.WaitDirtyPause, e, seconds(w.PauseNs), fromBalance)
		put(sample.DirtyPauses, e, float64(w.Pauses), fromBalance)
	}
}

// emitAsked emits how long each process waited for answers of which server or daemon.
func (p *Probe) emitAsked(phase sample.Phase, into sample.Sink) error {
	ended := p.names.lookup.Ended()
	err := bpf.Totals(p.probe.Map("asked"), phase, into, func(k *pagecacheAskedKey, _ *uint64) bool { return ended(k.Tgid) },
		func(k *pagecacheAskedKey, ns *uint64, put bpf.Total) {
			put(sample.MountWait, sample.Entity{PID: int(k.Tgid), Device: host.DevNumber(k.Dev).String()}, seconds(*ns), fromStack)
		})
	if err != nil {
		return fmt.Errorf("reading the waits for answers of servers: %w", err)
	}
	return nil
}

// emitTimed emits how long the reads and syncs of each process took that it waited in.
func (p *Probe) emitTimed(phase sample.Phase, into sample.Sink) error {
	ended := p.names.lookup.Ended()
	err := bpf.Totals(p.probe.Map("timed"), phase, into, func(k *pagecacheTimedKey, _ *pagecacheTimedCalls) bool { return ended(k.Tgid) },
		func(k *pagecacheTimedKey, c *pagecacheTimedCalls, _ bpf.Total) {
			if k.Tgid == uint32(p.host.Self) {
				return
			}
			e := sample.Entity{PID: int(k.Tgid), Class: [...]string{sample.ClassRead, sample.ClassSync}[k.Kind&1]}
			into.PutHistogram(sample.HistCalls, e, sample.Histogram{Unit: "nanoseconds", Counts: c.Slots, Sum: float64(c.Ns)}, fromSwitch)
		})
	if err != nil {
		return fmt.Errorf("reading the times of calls: %w", err)
	}
	return nil
}

func seconds(ns uint64) float64 { return float64(ns) / 1e9 }
