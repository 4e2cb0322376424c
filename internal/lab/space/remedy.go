package space

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/diagnose"
	"iocause/internal/lab"
	"iocause/internal/lab/prove"
)

// deviceCauses are what a device can be slow for.
var deviceCauses = named(diagnose.DeviceLatencyBound, diagnose.DeviceQueueing, diagnose.DeviceIOPSLimit, diagnose.DeviceBandwidthLimit)

// named are causes by the names that the diagnosis gives them.
func named(causes ...diagnose.ID) []string {
	names := make([]string, len(causes))
	for i, c := range causes {
		names[i] = string(c)
	}
	return names
}

// Remedies whose effects are read together.
const (
	fasterDisk   = "a disk twice as fast"
	moreInFlight = "more in flight"
	withoutSync  = "no sync"
)

// Who is to blame, in the terms of Culprit.
const (
	itself    = ""
	theCgroup = "cgroup"
	theDevice = "device"
)

// Measure implements prove.Subject.
func (st *Standing) Measure(ctx context.Context, d time.Duration) (float64, error) {
	if st.Situation.cold() && !st.warm {
		if err := st.forget(); err != nil {
			return 0, err
		}
	}
	return st.meter.Rate(ctx, d, 3*time.Second)
}

// forget drops the data from the page cache. What is mapped stays.
func (st *Standing) forget() error {
	return filepath.WalkDir(st.data(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	})
}

// keepCold drops the data again and again, until stop.
func (st *Standing) keepCold(ctx context.Context, every time.Duration) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		for {
			if err := st.forget(); err != nil {
				ended <- err
				return
			}
			if lab.Sleep(ctx, every) != nil {
				ended <- nil
				return
			}
		}
	}()
	return func() error {
		cancel()
		return <-ended
	}
}

// Remedies implements prove.Subject: all that can be done about this situation,
// whether it was planted or not.
func (st *Standing) Remedies() []prove.Remedy {
	s := st.Situation
	var all []prove.Remedy
	add := func(name, who string, causes []string, apply func(context.Context) (func() error, error)) {
		all = append(all, prove.Remedy{Name: name, Who: who, Causes: causes, Apply: apply})
	}
	if c := st.cgroup; c != nil {
		for _, x := range []struct {
			name, controller, dir string
			causes                []string
		}{
			{"no memory limit", "memory", c.Memory, named(diagnose.CgroupCacheLimit, diagnose.ReclaimStall)},
			{"no I/O limit", "io", c.IO, named(diagnose.CgroupIOThrottle)},
			{"no processor limit", "cpu", c.CPU, named(diagnose.CPUSaturated)},
		} {
			if x.dir != "" {
				add(x.name, theCgroup, x.causes, st.lift(x.controller))
			}
		}
	}
	if s.Plant == Hog {
		add("free the memory", "comm:"+hogName, named(diagnose.CgroupCacheLimit, diagnose.CacheSqueezed, diagnose.ReclaimStall), st.freeMemory)
	}
	if s.Plant == Shared {
		add("a processor of its own", itself, named(diagnose.CPUSaturated), st.ownProcessor)
	}
	for _, b := range st.beside {
		if len(b.causes) > 0 {
			add("stop "+b.name, "comm:"+b.comm, b.causes, func(context.Context) (func() error, error) { return b.Resume, b.Pause() })
		}
	}
	if st.disk != nil && s.Work != Compute && s.Work != Small && s.Work != Cached {
		add(fasterDisk, theDevice, deviceCauses, func(context.Context) (func() error, error) {
			return func() error { return st.env.Slow(diskName, s.Latency) }, st.env.Slow(diskName, s.Latency/2)
		})
	}
	if s.Work == Commit {
		add(withoutSync, itself, named(diagnose.SyncWrites), st.noSync())
	}
	if s.Work == Write {
		add("more dirty memory", itself, named(diagnose.DirtyThrottling), st.moreDirty)
	}
	if s.direct() && s.Work != DirectWrite {
		add("buffered", itself, named(diagnose.DirectIO), st.restart(variant{buffered: true}))
	}
	if (s.direct() || s.Work == ReadRand || s.Work == Tree || s.Work == RingCached) && st.program.threads > 1 && s.Threads <= 32 && !s.cold() && !s.starved() {
		add(moreInFlight, theDevice, named(diagnose.DeviceLatencyBound), st.restart(variant{wider: 4}))
	}
	if s.Program == "sqlite" && s.Processes > 1 && !s.starved() {
		add("a directory for each process", itself, named(diagnose.LockContention), st.restart(variant{apart: true}))
	}
	if s.locks() {
		add("a process for each thread", itself, named(diagnose.LockContention), st.restart(variant{apart: true}))
	}
	if s.Work == Small {
		add("larger calls", itself, named(diagnose.SmallIO), st.restart(variant{larger: 256}))
	}
	if s.cold() {
		add("all of it cached", itself, named(diagnose.ColdCache, diagnose.MetadataBound), func(ctx context.Context) (func() error, error) {
			st.warm = true
			return func() error { st.warm = false; return nil }, st.readData(ctx)
		})
	}
	if s.reads() && st.disk != nil && s.Work != MapRand {
		add("little read-ahead", itself, named(diagnose.ReadaheadWaste), st.lessReadAhead)
	}
	return all
}

// mostApart is how many processes take the place of threads: a hundred interpreters begin
// within some seconds.
const mostApart = 128

// locks tells whether threads of the program take turns at something: at the
// interpreter, or at the file that all write to. Who commits to files that are new is
// not as fast as with old ones.
func (s *Situation) locks() bool {
	one := s.Program == "python" && s.Work != Commit || s.Program == "own" && (s.Work == Write || s.Work == Commit)
	return one && s.Threads > 1 && s.Threads*s.Processes <= mostApart && !s.starved() && !s.cold()
}

func (st *Standing) lift(controller string) func(context.Context) (func() error, error) {
	return func(ctx context.Context) (func() error, error) {
		if err := st.cgroup.Lift(controller, st.number); err != nil {
			return nil, err
		}
		undo := func() error { return st.cgroup.Limit(st.planted) }
		if controller == "memory" { // what it reads again is in memory then
			if err := st.readData(ctx); err != nil {
				return nil, errors.Join(err, undo())
			}
		}
		return undo, nil
	}
}

// restart starts the program in another variant beside the one that runs, which
// stands still meanwhile.
func (st *Standing) restart(v variant) func(context.Context) (func() error, error) {
	return func(ctx context.Context) (func() error, error) {
		running, meter := st.running, st.meter
		for _, p := range running {
			if err := p.Pause(); err != nil {
				return nil, err
			}
		}
		undo := func() error {
			errs := []error{st.stopProgram()}
			st.running, st.meter = running, meter
			for _, p := range running {
				errs = append(errs, p.Resume())
			}
			return errors.Join(errs...)
		}
		err := st.run(ctx, v)
		if err == nil && v.buffered { // what it reads again is cached then
			err = st.readData(ctx)
		}
		if err != nil {
			return nil, errors.Join(err, undo())
		}
		return undo, nil
	}
}

// noSync lets the program not sync: in the running server, or by another start.
func (st *Standing) noSync() func(context.Context) (func() error, error) {
	if st.program.live == nil {
		return st.restart(variant{noSync: true})
	}
	return func(context.Context) (func() error, error) {
		return func() error { return st.program.live(st, false) }, st.program.live(st, true)
	}
}

func (st *Standing) moreDirty(context.Context) (func() error, error) {
	const much = 4 << 30
	set := func(name, value string) error {
		return os.WriteFile(st.host.Proc("sys/vm", name), []byte(value), 0)
	}
	old := map[string]string{}
	for _, name := range []string{"dirty_bytes", "dirty_background_bytes", "dirty_ratio", "dirty_background_ratio"} {
		b, err := os.ReadFile(st.host.Proc("sys/vm", name))
		if err != nil {
			return nil, err
		}
		old[name] = string(b[:max(0, len(b)-1)])
	}
	undo := func() error {
		var errs []error
		for name, value := range old {
			if value != "0" { // of each pair one is zero, and that follows from the other
				errs = append(errs, set(name, value))
			}
		}
		return errors.Join(errs...)
	}
	// In the journal, for the case that this process is killed meanwhile.
	if err := errors.Join(st.env.Sysctl("vm.dirty_bytes", strconv.Itoa(much)), st.env.Sysctl("vm.dirty_background_bytes", strconv.Itoa(much/2))); err != nil {
		return nil, errors.Join(err, undo())
	}
	return undo, nil
}

// waitsOften is how many threads of a program must wait for commits at any time for
// it to be right to say so, though its speed is that of its pauses.
const waitsOften = 0.10

// commitsBetweenPauses tells of a program that pauses between its commits, of which
// waitsOften wait for the disk at any time: as many as there are requests to write in
// flight. Without them the program would do no more, for it pauses; yet of the time
// in which it does something that is all.
func (st *Standing) commitsBetweenPauses(writing float64) bool {
	s := st.Situation
	return s.Work == Commit && s.Think > 0 && st.disk != nil && writing >= waitsOften
}

func (st *Standing) lessReadAhead(context.Context) (func() error, error) {
	path := st.host.Sys("block", st.disk.Device, "queue/read_ahead_kb")
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return func() error { return os.WriteFile(path, b, 0) }, os.WriteFile(path, []byte("4"), 0)
}

// stolenLimit is the share of the processors' time from which on a hypervisor that
// takes it is a cause, too: what it would give to have it back cannot be tried.
const stolenLimit = 0.10

// full is the idle share of the processors' time below which they are.
const full = 0.10

// Truth is what the effects prove of this situation; spent is how the processors'
// time went while it was diagnosed, writing how many requests to write were in flight
// then, on average.
func (st *Standing) Truth(effects []prove.Effect, spent Processors, writing float64) prove.Truth {
	calm := slices.Clone(calm)
	if spent.Idle < full || spent.Stolen >= stolenLimit { // its own threads are more than the processors
		calm = append(calm, string(diagnose.CPUSaturated))
	}
	if st.Situation.Work == Small {
		calm = append(calm, string(diagnose.SmallIO))
	}
	effects = slices.Clone(effects)
	// More threads get more of the processors too: only where the speed of the disk
	// matters does their number tell of it.
	disk, tried := prove.Of(effects, string(diagnose.DeviceQueueing))
	if !tried || disk.Factor < prove.Helps {
		effects = slices.DeleteFunc(effects, func(e prove.Effect) bool { return e.Remedy == moreInFlight })
	}
	// Of the time, a disk twice as fast takes away half of what is the disk's; four
	// times as many in flight can take three quarters of that, and what they give
	// beyond is the processors'.
	for i := range effects {
		if e := &effects[i]; tried && e.Remedy == moreInFlight {
			share := min(1, 2*(1-1/disk.Factor))
			e.Factor = min(e.Factor, 1/(1-0.75*share))
		}
	}
	if i := slices.IndexFunc(effects, func(e prove.Effect) bool { return e.Remedy == moreInFlight && e.Failed == "" }); i >= 0 {
		causes := named(diagnose.DeviceLatencyBound)
		if effects[i].Factor < prove.Helps { // it is full
			causes = deviceCauses[1:]
		}
		for k := range effects {
			if effects[k].Remedy == fasterDisk {
				effects[k].Causes = causes
			}
		}
	}
	t := prove.Prove(effects, calm)
	if t.Healthy() {
		if st.commitsBetweenPauses(writing) && !slices.Contains(t.Causes, string(diagnose.SyncWrites)) {
			t.Causes = append(t.Causes, string(diagnose.SyncWrites))
		}
		return t
	}
	// Who is stopped leaves the processors, too: where they are full and a faster disk
	// gives nothing, those were missing.
	if spent.Idle < full && tried && disk.Factor < prove.Helps && slices.Contains(t.Causes, string(diagnose.NoisyNeighbour)) {
		t.Causes = append(t.Causes, string(diagnose.CPUSaturated))
	}
	// Where there is no disk a sync waits for nothing: what a database no longer does
	// without one is its own work.
	if st.disk == nil && t.Best == withoutSync {
		t.Causes = append(t.Causes, calm...)
	}
	// Without a sync, from memory or past nothing, a program does not meet what is
	// on the way either: a limit or a neighbour that takes half of its time is as
	// true as the way itself. It may take half by as much as its turns differ.
	for _, e := range effects {
		if e.Within(2) && e.Failed == "" && (e.Who == theCgroup || len(e.Who) > 5 && e.Who[:5] == "comm:") {
			for _, c := range e.Causes {
				if !slices.Contains(t.Causes, c) {
					t.Causes = append(t.Causes, c)
				}
			}
		}
	}
	return t
}
