package diagnose

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// A command is for copying: it names what it changes as it was seen, and there is
// none where that is not known, or where a name would need quoting.

// plain is a name or a path that a shell takes as it stands.
var plain = regexp.MustCompile(`^/?([A-Za-z0-9@+:_-][A-Za-z0-9@+:._-]*/?)*$`)

// unit is a control group of systemd, which would set a limit back that was
// written past it.
var unit = regexp.MustCompile(`\.(service|slice|scope)$`)

// with adds the command to an advice, unless one of the names in it would need quoting.
func (a Advice) with(command string, names ...string) Advice {
	for _, name := range names {
		if !typeable(name) {
			return a
		}
	}
	a.Command = command
	return a
}

// memoryLimitCommand sets the limit that a cgroup meets to so many bytes.
func (c *Case) memoryLimitCommand(cgroup string, size float64) string {
	limit, _ := figure.MemoryLimit(c.w, cgroup)
	if size <= limit || !typeable(cgroup) {
		return ""
	}
	mib := int64(size/(1<<20)) + 1
	for _, class := range []string{sample.ClassMax, sample.ClassHigh} {
		l := c.w.Get(sample.CgroupMemLimit, sample.Entity{Cgroup: cgroup, Class: class})
		if l == nil || l.Last() != limit {
			continue
		}
		name := path.Base(cgroup)
		property := map[string]string{"memory.max": "MemoryMax", "memory.high": "MemoryHigh"}[l.Source]
		switch {
		case property != "" && unit.MatchString(name):
			return fmt.Sprintf("systemctl set-property --runtime %s %s=%dM", name, property, mib)
		case property != "":
			return fmt.Sprintf("echo %dM > %s", mib, path.Join("/sys/fs/cgroup", cgroup, l.Source))
		case l.Source == "memory.limit_in_bytes":
			return fmt.Sprintf("echo %dM > %s", mib, path.Join("/sys/fs/cgroup/memory", cgroup, l.Source))
		}
	}
	return ""
}

// ioLimitCommand lifts a limit on the I/O of a cgroup.
func (c *Case) ioLimitCommand(l *ioLimit) string {
	of := c.w.Get(sample.CgroupIOLimit, sample.Entity{Cgroup: l.cgroup, Device: l.device, Class: l.class})
	if of == nil || l.device == "" || !typeable(l.cgroup) || !typeable(l.device) {
		return ""
	}
	number := fmt.Sprintf("$(cat /sys/class/block/%s/dev)", l.device)
	if of.Source == "io.max" {
		key := map[string]string{"read_bytes": "rbps", "write_bytes": "wbps", "reads": "riops", "writes": "wiops"}[l.class]
		return fmt.Sprintf(`echo "%s %s=max" > %s`, number, key, path.Join("/sys/fs/cgroup", l.cgroup, "io.max"))
	}
	file := map[string]string{"read_bytes": "read_bps", "write_bytes": "write_bps", "reads": "read_iops", "writes": "write_iops"}[l.class]
	if of.Source != "blkio.throttle."+file+"_device" {
		return ""
	}
	return fmt.Sprintf(`echo "%s 0" > %s`, number, path.Join("/sys/fs/cgroup/blkio", l.cgroup, of.Source))
}

// readAheadCommand sets the read-ahead of the victim's device.
func (c *Case) readAheadCommand(kib int) string {
	if c.device == "" || !typeable(c.device) {
		return ""
	}
	return fmt.Sprintf("echo %d > /sys/block/%s/queue/read_ahead_kb", kib, c.device)
}

// LookAgain is the command that looks at the same thing again: at what was asked
// for ("--pid 12"; "" for all), or else at whom the report is about. Not at a
// process by its number: it may be another after the fix.
func (r *Report) LookAgain(asked string) string {
	if flag, name, ok := strings.Cut(asked, " "); ok && typeable(name) {
		return "iocause diagnose " + flag + " " + name
	}
	who := r.Victim
	if who == (Culprit{}) && len(r.Findings) > 0 {
		who = r.Findings[0].Culprit
	}
	switch {
	case who.Cgroup != "" && who.Cgroup != "/" && typeable(who.Cgroup):
		return "iocause diagnose --cgroup " + who.Cgroup
	case who.Comm != "" && typeable(who.Comm):
		return "iocause diagnose --comm " + who.Comm
	case who.Device != "" && typeable(who.Device):
		return "iocause diagnose --device " + who.Device
	}
	return "iocause diagnose"
}

// typeable tells whether a name stands for itself in any shell, and is no flag.
func typeable(name string) bool {
	return name != "" && plain.MatchString(name) && !strings.HasPrefix(name, "-")
}
