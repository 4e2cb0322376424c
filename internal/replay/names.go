package replay

import (
	"context"
	"errors"
	"maps"
	"slices"

	"iocause/internal/sample"
	"iocause/internal/store/recording"
)

// Names are what a recording has processes or figures of.
type Names struct {
	Processes map[int]string // by their number
	Cgroups   []string       // paths, in order
	Devices   []string       // in order
}

// Names are those of a recording, or of the evidence of an incident; what is read
// until ctx ends. Nothing is noted: it is read again for the answer.
func (o *Opener) Names(ctx context.Context, name string) (*Names, error) {
	quiet := *o
	quiet.Note = func(error) {}
	from, err := quiet.File(name, &Interval{})
	if err != nil {
		return nil, err
	}
	defer from.Release()
	all := &Names{Processes: map[int]string{}}
	cgroups, devices := map[string]bool{}, map[string]bool{}
	err = from.Each(func(r *recording.Record) error {
		for pid, p := range r.Window.Processes {
			all.Processes[pid] = p.Comm
			for _, path := range []string{p.MemoryCgroup, p.IOCgroup, p.CPUCgroup} {
				cgroups[path] = true
			}
		}
		for _, m := range r.Window.Metrics() {
			r.Window.Each(m, func(e sample.Entity, _ *sample.Series) { cgroups[e.Cgroup], devices[e.Device] = true, true })
		}
		if ctx.Err() != nil {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	delete(cgroups, "")
	delete(devices, "")
	all.Cgroups, all.Devices = slices.Sorted(maps.Keys(cgroups)), slices.Sorted(maps.Keys(devices))
	return all, nil
}
