package space

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"iocause/internal/lab"
)

// chooseProcessor chooses the one that the program shares: the first that may be used.
func (st *Standing) chooseProcessor() error {
	if err := unix.SchedGetaffinity(0, &st.every); err != nil {
		return fmt.Errorf("see which processors may be used: %w", err)
	}
	st.others = st.every
	first := 0
	for !st.every.IsSet(first) {
		first++
	}
	st.shared.Set(first)
	st.others.Clear(first)
	return nil
}

// move lets threads of a process, and of all that it has started, that may run on some
// processors run on others from now on. What a thread starts has its processors; what
// it has started before it was moved, and while it was, is found by looking again.
func (st *Standing) move(p *lab.Process, from, to *unix.CPUSet) error {
	for moved := true; moved; {
		moved = false
		threads, err := st.threads(p)
		if err != nil {
			return err
		}
		for _, id := range threads {
			did, err := moveThread(id, from, to)
			if err != nil {
				return fmt.Errorf("move thread %d to other processors: %w", id, err)
			}
			moved = moved || did
		}
	}
	return nil
}

// threads are those of a process and of all that it has started, by number; of what has
// ended there are none.
func (st *Standing) threads(p *lab.Process) ([]int, error) {
	family, err := p.Family()
	if err != nil {
		return nil, err
	}
	var all []int
	for _, pid := range family {
		threads, err := os.ReadDir(st.host.Proc(strconv.Itoa(pid), "task"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("see the threads of process %d: %w", pid, err)
		}
		for _, t := range threads {
			if id, err := strconv.Atoi(t.Name()); err == nil {
				all = append(all, id)
			}
		}
	}
	return all, nil
}

// moveThread does it with one thread; one that has ended needs none.
func moveThread(id int, from, to *unix.CPUSet) (moved bool, err error) {
	var now unix.CPUSet
	err = unix.SchedGetaffinity(id, &now)
	if err == nil && now == *from {
		moved, err = true, unix.SchedSetaffinity(id, to)
	}
	if errors.Is(err, unix.ESRCH) {
		return false, nil
	}
	return moved, err
}

// ownProcessor lets the program run on all processors but the one that it shares.
func (st *Standing) ownProcessor(context.Context) (func() error, error) {
	move := func(from, to *unix.CPUSet) (err error) {
		for _, p := range st.running {
			err = errors.Join(err, st.move(p, from, to))
		}
		return err
	}
	undo := func() error { return move(&st.others, &st.shared) }
	if err := move(&st.shared, &st.others); err != nil {
		return nil, errors.Join(err, undo())
	}
	return undo, nil
}
