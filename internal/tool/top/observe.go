package top

import (
	"errors"
	"fmt"
	"io/fs"

	"iocause/internal/replay"
	"iocause/internal/store/recording"
)

// Kept adds up the tables that the agent kept in that folder, in an interval.
func Kept(o *replay.Opener, folder string, s *replay.Interval) (*Busiest, error) {
	from, to, err := o.Times(s)
	if err != nil {
		return nil, err
	}
	t, some := New(), false
	lost, err := recording.EachShelved(folder, from, to, func(r *recording.Record) error {
		some = true
		t.Add(r.Window)
		return nil
	})
	for _, l := range lost {
		o.Note(errors.New(l))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w; 'iocause agent' keeps tables of processes and cgroups, --dir names its directory; to watch now, see 'iocause disk --by process'", err)
	case err != nil:
		return nil, err
	case !some:
		return nil, fmt.Errorf("reading %s: no table was kept from %s to %s", replay.OneLine(folder), replay.Stamp(from), replay.Stamp(to))
	}
	return t, nil
}

// Recorded adds up the windows of a recording, or those of the tables that are
// this piece of an incident's evidence.
func Recorded(o *replay.Opener, name, section string, s *replay.Interval) (*Busiest, error) {
	p, err := open(o, name, section, s)
	if err != nil {
		return nil, err
	}
	t := New()
	err = p.Each(func(r *recording.Record) error {
		t.Add(r.Window)
		return nil
	})
	return t, errors.Join(err, p.Close())
}

func open(o *replay.Opener, name, section string, s *replay.Interval) (*replay.Playback, error) {
	x, err := o.Incident(name)
	if err != nil {
		return nil, err
	}
	if x == nil {
		return o.File(name, s)
	}
	data, err := replay.SectionOf(x, name, section)
	if err != nil {
		return nil, err
	}
	return o.Data(name, data, s)
}
