package space

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/lab"
	"iocause/internal/lab/load"
)

// startBystanders starts who else is there, and who is planted.
func (st *Standing) startBystanders(context.Context) error {
	s := st.Situation
	start := func(name, comm string, causes []string, argv ...string) error {
		p, err := st.env.Start(argv, nil, false)
		if err != nil {
			return err
		}
		st.beside = append(st.beside, bystander{name: name, causes: causes, comm: comm, Process: p})
		return nil
	}
	own := func(spec load.Spec) []string {
		return append([]string{st.binary, "lab", "load", "--format=json"}, spec.Args()...)
	}
	for _, name := range s.Bystanders {
		var err error
		switch name {
		case idlePool:
			err = start(name, "python3", nil, st.drive("touch", 100, "--path="+filepath.Join(st.dir, "idle"))...)
		case busyCPU:
			err = start(name, "busy", named(diagnose.CPUSaturated), own(load.Spec{Kind: "spin", Nice: 19, Comm: "busy"})...)
		case quiet:
			other := filepath.Join(st.dir, "quiet")
			if err := load.Create(other, 16<<20); err != nil {
				return err
			}
			err = start(name, "quiet", named(diagnose.NoisyNeighbour), own(load.Spec{Kind: "direct", Path: other, Rate: 5, Comm: "quiet"})...)
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
		return start("the neighbour", "greedy", causes, own(spec)...)
	case Burner:
		return start("the burner", "burner", named(diagnose.CPUSaturated), own(load.Spec{Kind: "spin", Threads: 2 + int(4*s.Strength), Comm: "burner"})...)
	}
	return nil
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
	case None, Burner, Quota, Memory:
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
	if s.Plant == Memory {
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
