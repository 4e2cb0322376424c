// Package cgroup reads the memory, block I/O and processor figures and limits of the
// cgroups, of version 1 (Documentation/admin-guide/cgroup-v1) and version 2
// (Documentation/admin-guide/cgroup-v2.rst). The controllers may be in
// different hierarchies, and then a process has two paths.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
)

type key struct {
	metric sample.Metric
	entity sample.Entity
	id     uint64 // of the cgroup
}

type source struct {
	host     *host.Host
	trees    [controllers]host.Hierarchy
	has      [controllers]bool
	devices  *host.Devices
	asked    bool // the devices were read again in this pass
	buf      []byte
	counters host.Counters[key]
	more     [controllers]bool // there are cgroups that this pass did not read
	wasMore  [controllers]bool // the same of the pass before
	lacks    []sample.Gap      // told once, at the start
	errs     []error           // of this pass

	pass        int
	walks       map[host.Hierarchy]*walked
	noTargets   bool   // the kernel has no io.latency
	watch       *watch // nil for none
	unwatchable bool
	open        int       // files of cgroups that are kept open
	reread      time.Time // when all was read last, changed or not
}

// controller is what a hierarchy is read for.
type controller int

const (
	memory controller = iota
	blockIO
	cpu
	controllers
)

// String names it for people, as version 2 does.
func (c controller) String() string { return [controllers]string{"memory", "io (blkio)", "cpu"}[c] }

func (c controller) metrics() []sample.Metric {
	switch c {
	case memory:
		return memoryMetrics()
	case blockIO:
		return ioMetrics()
	}
	return []sample.Metric{sample.CgroupCPUQuota, sample.CgroupPeriods, sample.CgroupThrottled, sample.CgroupCPUHeld}
}

func memoryMetrics() []sample.Metric {
	return []sample.Metric{
		sample.CgroupMemUsage, sample.CgroupMemLimit, sample.CgroupMemFile, sample.CgroupMemAnon, sample.CgroupMemShmem,
		sample.CgroupRefault, sample.CgroupRefaultAn, sample.CgroupLimitHits,
		sample.CgroupPSISome, sample.CgroupPSIFull,
	}
}

func ioMetrics() []sample.Metric {
	return []sample.Metric{
		sample.CgroupReadBytes, sample.CgroupWriteBytes, sample.CgroupReads, sample.CgroupWrites, sample.CgroupIOLimit,
		sample.CgroupIOCost, sample.CgroupIOCostWait, sample.CgroupIOTarget, sample.CgroupDeviceOn,
	}
}

// Open opens the source. It fails when none of the controllers is in a mounted
// hierarchy.
func Open(h *host.Host) (sample.Source, error) { return open(h, [controllers]bool{true, true, true}) }

// OpenIO opens the source for block I/O alone: a file or two for each cgroup
// rather than ten.
func OpenIO(h *host.Host) (sample.Source, error) { return open(h, [controllers]bool{blockIO: true}) }

func open(h *host.Host, wanted [controllers]bool) (sample.Source, error) {
	c, err := h.Cgroups()
	if err != nil {
		return nil, err
	}
	s := &source{host: h, walks: map[host.Hierarchy]*walked{}}
	want := 0
	const help = "mount a hierarchy with it, or enable it at boot"
	for i, names := range [controllers][]string{{"memory"}, {"blkio", "io"}, {"cpu"}} {
		if !wanted[i] {
			continue
		}
		want++
		s.trees[i], s.has[i] = c.Controller(names...)
		if which := controller(i); !s.has[i] {
			s.lacks = append(s.lacks, sample.Gap{Why: fmt.Sprintf("cgroup controller %s: %v: %s", which, host.ErrNoController, help), Metrics: which.metrics()})
		}
	}
	if len(s.lacks) == want {
		return nil, fmt.Errorf("cgroup controllers%s: %w: %s", names(wanted), host.ErrNoController, help)
	}
	if h.HasOwnCgroups() {
		s.lacks = append(s.lacks, sample.Gap{Why: host.CgroupsApart})
	}
	s.devices, _ = h.Devices()
	return s, nil
}

// names are the controllers that are wanted, for people.
func names(wanted [controllers]bool) string {
	var all []string
	for i, is := range wanted {
		if is {
			all = append(all, " "+controller(i).String())
		}
	}
	return strings.Join(all, ",")
}

// Collect implements sample.Source. Ticks read nothing: hundreds of files
// would cost more than the figures between the ends are worth.
func (s *source) Collect(phase sample.Phase, into sample.Sink) error {
	if phase == sample.Tick {
		return nil
	}
	s.errs, s.asked = nil, false
	s.begin(phase == sample.IntervalEnd)
	if phase == sample.First {
		s.counters.Reset()
		for _, g := range s.lacks {
			into.PutGap(g)
		}
	}
	for _, g := range s.groups(memory, into) {
		s.collectMemory(g, phase, into)
		if s.pressed(g) {
			s.collectPressure(g, phase, into)
		}
	}
	if groups := s.groups(blockIO, into); groups != nil {
		s.collectIO(groups, phase, into)
	}
	for _, g := range s.groups(cpu, into) {
		s.collectCPU(g, phase, into)
	}
	// What could not be read now is no new cgroup when it can be.
	for i := range s.more {
		s.wasMore[i] = s.more[i] || len(s.errs) > 0
	}
	s.counters.Sweep()
	if len(s.errs) > 8 {
		s.errs = append(s.errs[:8], fmt.Errorf("and %d more", len(s.errs)-8))
	}
	return errors.Join(s.errs...)
}

// groups lists the cgroups of a controller's hierarchy; none without one.
func (s *source) groups(of controller, into sample.Sink) []group {
	if !s.has[of] {
		return nil
	}
	t := s.trees[of]
	w := s.list(t) // in version 2 all controllers are in one hierarchy
	if w.err != nil {
		s.errs = append(s.errs, w.err)
		return nil
	}
	if w.more {
		into.PutGap(sample.Gap{
			Why:     fmt.Sprintf("there are more than %d cgroups below %s: %s of the rest was not read", most, t.Dir, of),
			Metrics: of.metrics(),
		})
	}
	s.more[of] = w.more
	return w.groups
}

// read reads a file of a cgroup. It is not ok when there is none: the top
// cgroup lacks most, and a cgroup may be removed at any time.
func (s *source) read(g group, name string) (b []byte, ok bool) {
	if g.kept != nil {
		return s.readKept(g, name)
	}
	var err error
	s.buf, err = host.ReadRecord(g.dir+"/"+name, s.buf)
	return s.buf, s.have(err)
}

// have tells whether a file could be read, and keeps an error that is no absence.
func (s *source) have(err error) bool {
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENODEV) && !errors.Is(err, syscall.EOPNOTSUPP) {
		s.errs = append(s.errs, err)
	}
	return err == nil
}

// fault keeps a parser's error and tells whether there was none.
func (s *source) fault(g group, name string, err error) bool {
	if err != nil {
		s.errs = append(s.errs, host.In(fmt.Sprintf("%q", g.dir+"/"+name), err))
	}
	return err == nil
}

// count emits the increase of a counter. A cgroup that came to be within the
// window counts from zero, one that was made anew under its old name as well.
func (s *source) count(g group, phase sample.Phase, into sample.Sink, of controller, m sample.Metric, e sample.Entity, now uint64, from string) {
	rise, rose := s.rise(g, phase, into, of, m, e, now, from)
	if rose {
		into.Put(m, e, float64(rise), from)
	}
}

func (s *source) rise(g group, phase sample.Phase, into sample.Sink, of controller, m sample.Metric, e sample.Entity, now uint64, from string) (uint64, bool) {
	k := key{m, e, g.id}
	if phase != sample.First && !s.wasMore[of] {
		s.counters.New(k)
	}
	rise, how := s.counters.Step(k, now)
	if how == host.Fell {
		into.PutGap(sample.Gap{
			Why:     fmt.Sprintf("%s of cgroup %q: %s fell, so it was reset and part of its increase is lost", from, e.Cgroup, m),
			Metrics: []sample.Metric{m},
		})
	}
	return rise, how == host.Rose
}

// Close implements sample.Source.
func (s *source) Close() error {
	s.forget()
	return nil
}
