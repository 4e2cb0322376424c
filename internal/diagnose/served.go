package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// Files that a server or a daemon has: waiting for them is no waiting for a disk of
// this machine, though a disk may be behind it.

// servedCauses are what keeps a server or a daemon from answering; whatever asks
// for needless data explains them.
func servedCauses() []ID { return []ID{FuseDaemonSlow, RemoteServerSlow, NetworkLimitsIO} }

// served is a file system of a server or a daemon.
type served struct {
	device string  // "MAJOR:MINOR", "" where it is not known which one it is
	point  string  // where it is mounted
	kind   string  // "nfs4", "fuse.sshfs"
	from   string  // "SERVER:/EXPORT"
	wait   float64 // seconds, summed over threads, that the victim waits for it
}

// String names it for people.
func (s *served) String() string {
	return fmt.Sprintf("%s at %s", cmp.Or(s.kind, "a file system"), cmp.Or(s.point, "a place that is not known"))
}

// byDaemon tells of file systems whose requests a FUSE daemon answers: of this
// machine, or of virtiofs of the one that it is a guest of.
func byDaemon(kind string) bool { return strings.HasPrefix(kind, "fuse") || kind == "virtiofs" }

// servedMounts are those that are mounted, by device.
func (c *Case) servedMounts() map[string]*served {
	all := map[string]*served{}
	for m, set := range map[sample.Metric]func(*served, string){
		sample.MountKind:  func(s *served, v string) { s.kind = v },
		sample.MountPoint: func(s *served, v string) { s.point = v },
		sample.MountFrom:  func(s *served, v string) { s.from = v },
	} {
		c.w.Each(m, func(e sample.Entity, _ *sample.Series) {
			if e.Device == "" {
				return
			}
			if all[e.Device] == nil {
				all[e.Device] = &served{device: e.Device}
			}
			set(all[e.Device], e.Class)
		})
	}
	return all
}

// servedWait is what the victim waits for file systems of daemons, or of servers:
// the one that it waits for most, and the seconds for all of them. Waits for pages
// are those of their files; which file system a thread sleeps in for an answer is
// told by the files of its calls, or where it calls by name, by whose requests took longest.
func (c *Case) servedWait(daemon bool) (most served, all float64) {
	if c.w.Told {
		return c.toldServed()
	}
	v, mounts := &c.victim, c.servedMounts()
	for device, m := range mounts {
		if byDaemon(m.kind) != daemon {
			delete(mounts, device)
		}
	}
	var pages float64
	for k, seconds := range figure.PageWaits(c.w, func(pid int) bool { return pid == v.pid }) {
		pages += seconds
		if m := mounts[k.Device]; m != nil {
			m.wait = seconds
		}
	}
	answers := v.waits[sample.ClassNetwork]
	if daemon {
		answers = v.waits[sample.ClassFUSE]
	}
	took := map[string]float64{}
	for device := range mounts {
		if s, _ := c.w.Sum(sample.MountWait, sample.Entity{PID: v.pid, Device: device}); s > 0 {
			took[device] = s
		}
	}
	if len(took) == 0 {
		took = c.servedTimes(mounts, daemon)
	}
	var sum float64
	for _, t := range took {
		sum += t
	}
	for device, m := range mounts {
		if pages > 0 {
			m.wait *= c.reading().cached / pages
		}
		all += m.wait
		if sum > 0 {
			m.wait += answers * took[device] / sum
		} else {
			m.wait += answers / float64(len(mounts))
		}
	}
	for _, m := range mounts {
		if m.wait > most.wait || m.wait == most.wait && m.device < most.device {
			most = *m
		}
	}
	return most, all + answers
}

// servedTimes are the seconds that requests took, by file system: the victim's own
// to daemons, and everybody's to servers, which nobody tells apart.
func (c *Case) servedTimes(mounts map[string]*served, daemon bool) map[string]float64 {
	m, pid := sample.NFSTime, 0
	if daemon {
		m, pid = sample.FuseTime, c.victim.pid
	}
	took := map[string]float64{}
	c.w.Each(m, func(e sample.Entity, s *sample.Series) {
		if e.PID == pid && mounts[e.Device] != nil {
			took[e.Device] += s.Sum()
		}
	})
	return took
}

// notServed says why waiting for servers or daemons is not what holds the victim
// up, "" where it may be.
func (c *Case) notServed(daemon bool) string {
	what := "a server"
	if daemon {
		what = "a FUSE daemon"
	}
	any := false
	for _, m := range c.servedMounts() {
		any = any || byDaemon(m.kind) == daemon
	}
	switch {
	case !any:
		return "no file system of " + what + " is mounted"
	case !c.suffers():
		return "no program waits for I/O long enough to matter"
	}
	if _, all := c.servedWait(daemon); c.part(all) < weightLimit {
		return fmt.Sprintf("the victim waits for %s %s of its waiting", what, percent(c.part(all)))
	}
	return ""
}

// largestOf is the process with most of a metric on a device.
func (c *Case) largestOf(m sample.Metric, device string) (pid int, value float64) {
	by := map[int]float64{}
	c.w.Each(m, func(e sample.Entity, s *sample.Series) {
		if e.Device == device && e.PID != 0 {
			by[e.PID] += s.Sum()
		}
	})
	pid = most(by)
	return pid, by[pid]
}

// daemonBehind is the FUSE daemon that the victim waits for and that itself waits
// for I/O in half of the time that its answers take; nil where there is none.
func (c *Case) daemonBehind() *victim {
	if !c.w.Has(sample.FuseAnswers) || !c.suffers() || c.notServed(true) != "" {
		return nil
	}
	m, _ := c.servedWait(true)
	pid, took := c.largestOf(sample.FuseAnswerTime, m.device)
	if pid == 0 || pid == c.victim.pid {
		return nil
	}
	d := c.measure(pid)
	if d.waitIO() < daemonWaits*took || c.notable(&d) == 0 {
		return nil
	}
	return &d
}

// lookBehind makes the daemon the victim that the victim waits for, where that
// one waits for I/O itself: then what holds it up holds both up. A daemon may
// wait for another one's file system.
func (c *Case) lookBehind() {
	seen := []int{c.victim.pid}
	for d := c.daemonBehind(); d != nil && !slices.Contains(seen, d.pid); d = c.daemonBehind() {
		seen = append(seen, d.pid)
		front := c.victimCulprit()
		c.lookAt(*d)
		c.front = front
	}
}
