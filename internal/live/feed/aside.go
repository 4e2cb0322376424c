package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"iocause/internal/live"
	"iocause/internal/source/probe/stacks"
	"iocause/internal/table"
	"iocause/internal/tool/profile"
	"iocause/internal/tool/threads"
)

// asideWidth is a width for which the states of threads have one column for each
// group of them, and stacks their counts; the screen leaves out what it has no
// room for.
const asideWidth = 100

// mostThreads is how many rows are kept of an interval: those that were busiest.
const mostThreads = 2000

// Watch implements live.Feed.
func (m *Machine) Watch(ctx context.Context, a live.Aside, to func([]table.Table)) error {
	switch a.What {
	case live.Threads:
		return m.watchThreads(ctx, a, to)
	case live.Stacks:
		return m.watchStacks(ctx, a, to)
	}
	return fmt.Errorf("watching %q: there is no such observation", a.What)
}

func (m *Machine) watchThreads(ctx context.Context, a live.Aside, to func([]table.Table)) error {
	f := threads.Filter{PID: a.PID(), Comm: a.Query.Comm, Cgroup: a.Query.Cgroup}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	err := threads.Watch(ctx, m.Host, f.PID, m.Every, func(t *threads.Threads) {
		t.Keep(&f)
		tables, err := t.Tables(&threads.Layout{By: "thread", Sort: "busy_threads", Top: mostThreads, Width: asideWidth})
		if err != nil {
			fail(err)
			return
		}
		to(tables)
	})
	return errors.Join(failure(ctx), err)
}

// failure is why an observation was ended from within, nil where it was not.
func failure(ctx context.Context) error {
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func (m *Machine) watchStacks(ctx context.Context, a live.Aside, to func([]table.Table)) error {
	keep, err := profile.StatesOf("")
	if err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	o := profile.Options{Each: func(p *profile.Profile) {
		p.Only(keep)
		p.Notes = append(p.Notes, "waits of threads that may have nothing to do are left out; 'iocause offcpu --state all' has them")
		t, err := innermostFirst(profile.Table(&p.Profile, asideWidth))
		if err != nil {
			fail(err)
			return
		}
		to([]table.Table{t})
	}}
	o.Options = stacks.Options{PID: a.PID()}
	_, err = profile.Observe(ctx, m.Host, o)
	return errors.Join(failure(ctx), err)
}

// innermostFirst puts what a row is before its figures, the longest waits first,
// and leaves the process out, which is one.
func innermostFirst(t table.Table) (table.Table, error) {
	if err := t.Sort("time_s"); err != nil {
		return t, err
	}
	order := []string{"state", "stack", "time_s", "share", "waits"}
	at := make([]int, len(order))
	for i, key := range order {
		at[i] = slices.IndexFunc(t.Columns, func(c table.Column) bool { return c.Key == key })
	}
	pick := func(from []table.Cell) (to []table.Cell) {
		for _, i := range at {
			to = append(to, from[i])
		}
		return to
	}
	columns := make([]table.Column, len(at))
	for i := range at {
		columns[i] = t.Columns[at[i]]
	}
	t.Columns = columns
	for i := range t.Rows {
		t.Rows[i] = pick(t.Rows[i])
	}
	return t, nil
}

// Watch implements live.Feed: windows do not have what is watched aside.
func (k *Kept) Watch(_ context.Context, a live.Aside, _ func([]table.Table)) error {
	if a.What == live.Threads {
		return errors.New("recordings have no threads; of an incident: 'iocause threads --recording N'")
	}
	return errors.New("recordings have no stacks; of an incident: 'iocause offcpu --recording N'")
}
