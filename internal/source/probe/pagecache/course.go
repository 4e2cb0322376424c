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
	now := make(map[uint32]uint64, len(p.course))
	classes := waitClasses()
	err := bpf.Each(p.probe.Map("waits"), func(tgid uint32, w pagecacheWaitTimes) {
		total := w.PauseNs
		for class, name := range classes {
			if name != sample.ClassAsync {
				total += w.Ns[class]
			}
		}
		told := p.course[tgid]
		if into == nil {
			told = total
		} else if total >= told+uint64(courseLeast) && tgid != uint32(p.host.Self) {
			into.Put(sample.WaitCourse, sample.Entity{PID: int(tgid)}, seconds(total-told), fromSwitch)
			told = total
		}
		now[tgid] = told
	})
	if err != nil {
		return fmt.Errorf("reading the account of waits: %w", err)
	}
	p.course = now
	return nil
}
