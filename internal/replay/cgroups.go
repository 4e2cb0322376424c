package replay

import (
	"slices"

	"iocause/internal/sample"
	"iocause/internal/store/recording"
)

// Cgroups are the paths of all cgroups that a recording, or the evidence of an
// incident, has processes or figures of. Nothing is noted: it is read again for
// the answer.
func (o *Opener) Cgroups(name string) ([]string, error) {
	quiet := *o
	quiet.Note = func(error) {}
	from, err := quiet.File(name, &Span{})
	if err != nil {
		return nil, err
	}
	defer from.Release()
	found := map[string]bool{}
	err = from.Each(func(r *recording.Record) error {
		for _, p := range r.Window.Processes {
			for _, path := range []string{p.MemoryCgroup, p.IOCgroup, p.CPUCgroup} {
				found[path] = true
			}
		}
		for _, m := range r.Window.Metrics() {
			r.Window.Each(m, func(e sample.Entity, _ *sample.Series) { found[e.Cgroup] = true })
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	delete(found, "")
	all := make([]string, 0, len(found))
	for path := range found {
		all = append(all, path)
	}
	slices.Sort(all)
	return all, nil
}
