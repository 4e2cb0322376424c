package space

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/lab"
	"iocause/internal/lab/load"
)

// startBystanders starts who else is there, and who is planted.
func (st *Standing) startBystanders(ctx context.Context) error {
	s := st.Situation
	begin := func(ready bool, name, comm string, causes []string, argv ...string) error {
		p, err := st.env.Start(argv, nil, ready)
		if err != nil {
			return err
		}
		st.beside = append(st.beside, bystander{name: name, causes: causes, comm: comm, Process: p})
		return p.WaitReady(ctx)
	}
	start := func(name, comm string, causes []string, argv ...string) error {
		return begin(false, name, comm, causes, argv...)
	}
	for _, name := range s.Bystanders {
		var err error
		switch name {
		case idlePool:
			err = begin(true, name, "python3", nil, st.drive("touch", 100, "--path="+filepath.Join(st.dir, "idle"))...)
		case busyCPU:
			err = start(name, "busy", named(diagnose.CPUSaturated), st.load(load.Spec{Kind: "spin", Nice: 19, Comm: "busy"})...)
		case quiet:
			other := filepath.Join(st.dir, "quiet")
			if err := load.Create(other, 16<<20); err != nil {
				return err
			}
			err = start(name, "quiet", named(diagnose.NoisyNeighbour), st.load(load.Spec{Kind: "direct", Path: other, Rate: 5, Comm: "quiet"})...)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	switch s.Plant {
	case Neighbour:
		other := filepath.Join(st.dir, "other")
		if err := load.Create(other, 128<<20); err != nil {
			return err
		}
		spec := load.Spec{Kind: "direct", Path: other, BlockSize: 64 << 10, Threads: 1 + int(15*s.Strength), Comm: "greedy"}
		causes := named(diagnose.NoisyNeighbour)
		if s.Seed%3 == 0 { // it writes, synced or not
			spec.Kind, spec.SyncEvery = "randwrite", 32
			causes = append(causes, string(diagnose.WritebackInterference))
		}
		return start("the neighbour", "greedy", causes, st.load(spec)...)
	case Burner:
		return start("the burner", "burner", named(diagnose.CPUSaturated), st.load(load.Spec{Kind: "spin", Threads: 2 + int(4*s.Strength), Comm: "burner"})...)
	case Shared: // from half of the processor to a fifth is left
		if err := st.chooseProcessor(); err != nil {
			return err
		}
		err := start("the burner", "burner", named(diagnose.CPUSaturated), st.load(load.Spec{Kind: "spin", Threads: 1 + int(4*s.Strength), Comm: "burner"})...)
		if err != nil {
			return err
		}
		return st.move(st.beside[len(st.beside)-1].Process, &st.every, &st.shared)
	case Hog:
		return st.startHog(ctx)
	}
	return nil
}

// load is the command line of one of our own loads.
func (st *Standing) load(spec load.Spec) []string {
	return append([]string{st.binary, "lab", "load", "--format=json"}, spec.Args()...)
}

// hogName is what the program that holds the memory goes by.
const hogName = "hog"

// startHog starts it in the program's cgroup, and waits until it has what it takes.
func (st *Standing) startHog(ctx context.Context) error {
	limit, left := st.Situation.hogged()
	argv := append(st.load(load.Spec{Kind: "eat", Size: load.Size(limit - left), BlockSize: 2 << 20, Comm: hogName}), "--ready-fd=3")
	p, err := st.env.Start(argv, st.cgroup, true)
	if err != nil {
		return err
	}
	st.beside = append(st.beside, bystander{name: "the hog", comm: hogName, Process: p})
	return p.WaitReady(ctx)
}

// hogged is how much memory is there for the data, a quarter more than they need, and
// how much of it is left beside the hog: from nine tenths of them to a quarter.
func (s *Situation) hogged() (all, left int64) {
	return s.Size + s.Size/4, max(64<<20, int64(float64(s.Size)*(0.9-0.65*s.Strength)))
}

// freeMemory ends who holds it; it takes it again afterwards.
func (st *Standing) freeMemory(ctx context.Context) (func() error, error) {
	for i := range st.beside {
		if b := &st.beside[i]; b.comm == hogName {
			if err := end(b.Process); err != nil {
				return nil, err
			}
		}
	}
	st.beside = slices.DeleteFunc(st.beside, func(b bystander) bool { return b.comm == hogName })
	undo := func() error { return st.startHog(ctx) }
	if err := st.readData(ctx); err != nil { // what it reads again is in memory then
		return nil, errors.Join(err, undo())
	}
	return undo, nil
}

// plant does what is left to do when the program runs.
func (st *Standing) plant(ctx context.Context) error {
	s := st.Situation
	switch s.Plant {
	case Dirty: // from four seconds of what the disk can take to a fifth of one
		can := float64(s.Heads) / s.Latency.Seconds() * (64 << 10)
		limit := int64(max(2<<20, can*(4-3.8*s.Strength)))
		if err := st.env.Sysctl("vm.dirty_background_bytes", strconv.FormatInt(limit/2, 10)); err != nil {
			return err
		}
		if err := st.env.Sysctl("vm.dirty_bytes", strconv.FormatInt(limit, 10)); err != nil {
			return err
		}
	case None, Burner, Quota, Memory, Hog, Shared:
		if s.reads() && s.FS != "tmpfs" { // what it reads is cached, and was charged to it
			if err := st.readData(ctx); err != nil {
				return err
			}
		}
	}
	if s.cold() { // where to find it is not
		if err := st.atFullSpeed(st.forget); err != nil {
			return err
		}
	}
	settle := 1500 * time.Millisecond
	if s.Plant == Memory || s.Plant == Hog {
		settle = 3 * time.Second // until it has gone through its memory
	}
	return lab.Sleep(ctx, settle)
}

// readData reads all data into the page cache, from the program's cgroup, and before
// the hundreds of threads that the program may have.
func (st *Standing) readData(ctx context.Context) error {
	return st.atFullSpeed(func() error {
		p, err := st.env.Start([]string{"nice", "-n", "-20", "sh", "-c", `find "$1" -type f -exec cat {} + > /dev/null`, "sh", st.data()}, st.cgroup, false)
		if err != nil {
			return err
		}
		for !p.Ended() {
			if err := lab.Sleep(ctx, 20*time.Millisecond); err != nil {
				return errors.Join(err, end(p))
			}
		}
		return nil
	})
}

// atFullSpeed does something while the disk takes no time.
func (st *Standing) atFullSpeed(do func() error) error {
	if st.disk == nil {
		return do()
	}
	if err := st.env.Slow(diskName, 0); err != nil {
		return err
	}
	return errors.Join(do(), st.env.Slow(diskName, st.Situation.Latency))
}
