package pagecache

import (
	"fmt"
	"time"

	"iocause/internal/bpf"
	"iocause/internal/sample"
)

// courseLeast is from how much waiting on a process is told of: thousands that
// wait a little would else fill the window with points. What is less is kept for
// the next time.
const courseLeast = 10 * time.Millisecond

// emitCourse emits how long each process was blocked on I/O or paused since it was
// told of, so that the window has when that was. A wait counts where it ends. With
// a nil into it only takes down how things stand.
func (p *Probe) emitCourse(into sample.Sink) error {
	told := make(map[uint32]uint64, len(p.course))
	err := bpf.Each(p.probe.Map("waits"), func(tgid uint32, w pagecacheWaitTimes) { told[tgid] = p.tellCourse(tgid, &w, into) })
	if err != nil {
		return fmt.Errorf("reading the account of waits: %w", err)
	}
	p.course = told
	return nil
}

// tellCourse does it for one process, and returns the ns that are told by now.
func (p *Probe) tellCourse(tgid uint32, w *pagecacheWaitTimes, into sample.Sink) uint64 {
	total, told := w.PauseNs, p.course[tgid]
	for class, name := range waitClasses() {
		if name != sample.ClassAsync {
			total += w.Ns[class]
		}
	}
	switch {
	case into == nil:
		return total
	case total < told+uint64(courseLeast) || tgid == uint32(p.host.Self):
		return told
	}
	into.Put(sample.WaitCourse, sample.Entity{PID: int(tgid)}, seconds(total-told), fromSwitch)
	return total
}
