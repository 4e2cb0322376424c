package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"iocause/internal/sample"
	"iocause/internal/store/recording"
	"iocause/internal/table"
)

// Playback is a recording that is being read. Close says what it lacks.
type Playback struct {
	*recording.Reader
	Name    string // as it was asked for
	OfAgent bool   // it was made of the agent's series
	// See is shown every window that is handed out, and only reads it; nil for
	// nobody.
	See      func(*sample.Window)
	note     func(format string, args ...any)
	from, to time.Time // chosen; zero for no bound
	begin    time.Time
	end      time.Time
	whole    bool // it was read to its end
	file     io.Closer
	windows  int // handed out
}

// Open opens a file, or without a name what the agent kept. ofProbes tells that
// the command shows what kernel programs see.
func (o *Opener) Open(name string, s *Interval, ofProbes bool) (*Playback, error) {
	if name == "" {
		return o.Agent(s, ofProbes)
	}
	return o.File(name, s)
}

// windowSource is where the windows of a recording are read from.
type windowSource interface {
	io.ReaderAt
	io.Closer
}

// inMemory is a recording that was read whole.
type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

// File opens an interval of a recording, or of the windows that are the evidence of
// an incident.
func (o *Opener) File(name string, s *Interval) (*Playback, error) {
	f, size, err := o.open(name)
	if err != nil {
		return nil, err
	}
	one, err := o.play(name, f, size, s)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", OneLine(name), err)
	}
	return one, nil
}

// Data opens an interval of a recording that is in memory.
func (o *Opener) Data(name string, data []byte, s *Interval) (*Playback, error) {
	return o.play(name, inMemory{bytes.NewReader(data)}, int64(len(data)), s)
}

// open opens a file of windows, or those that are the evidence of an incident.
func (o *Opener) open(name string) (windowSource, int64, error) {
	x, err := o.Incident(name)
	if err != nil {
		return nil, 0, err
	}
	if x != nil {
		data, err := SectionOf(x, name, SectionRecording)
		return inMemory{bytes.NewReader(data)}, int64(len(data)), err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, fmt.Errorf("opening the recording: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: a recording must be a file, not a pipe", OneLine(name))
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func (o *Opener) play(name string, f windowSource, size int64, s *Interval) (*Playback, error) {
	r, err := recording.NewReader(f, size)
	if errors.Is(err, recording.ErrFormat) {
		return nil, fmt.Errorf("%w; give a file of 'iocause record'", err)
	}
	if err != nil {
		return nil, err
	}
	one := &Playback{Reader: r, Name: name, note: o.note, file: f}
	if one.begin, one.end, err = r.Interval(); err != nil {
		return nil, err
	}
	if one.begin.IsZero() {
		return nil, errors.New("the recording holds no window")
	}
	if one.from, one.to, err = s.times(o.Now(), one.begin); err != nil {
		return nil, err
	}
	r.Only(one.from, one.to)
	return one, nil
}

// Each hands out the windows that were asked for, at least one.
func (p *Playback) Each(f func(*recording.Record) error) error {
	for {
		r, err := p.Next()
		if err == io.EOF {
			p.whole = true
			break
		}
		if err != nil {
			return err
		}
		if p.windows++; p.windows == 1 && !r.Window.Start.Equal(p.begin) { // what was missing from the start may be said only there
			r.Window.Gaps = append(p.lacks(r.Window.Gaps), r.Window.Gaps...)
		}
		if p.See != nil {
			p.See(r.Window)
		}
		if err := f(r); err != nil {
			return err
		}
	}
	if every := p.Header().Interval; p.windows == 0 && !p.from.IsZero() && !p.to.IsZero() && p.to.Sub(p.from).Seconds() < every {
		return fmt.Errorf("replaying %s: its windows are %s long, and no window has its middle in that time; choose a longer time", OneLine(p.Name), table.Duration(every))
	}
	if p.windows == 0 {
		return fmt.Errorf("replaying %s: nothing was recorded in that time; it holds %s to %s", OneLine(p.Name), Stamp(p.begin), Stamp(p.end))
	}
	return nil
}

// lacks are the gaps that there were from the start on, but for those that are
// said.
func (p *Playback) lacks(said []sample.Gap) []sample.Gap {
	var all []sample.Gap
	for _, s := range p.Header().Sources {
		for _, g := range s.Gaps {
			g.Source = s.Name
			if !slices.ContainsFunc(said, func(x sample.Gap) bool { return x.Source == g.Source && x.Why == g.Why }) {
				all = append(all, g)
			}
		}
	}
	return all
}

// Lost says what of the recording could not be read.
func (p *Playback) Lost() []string {
	var all []string
	told, more := p.Losses()
	for _, l := range told {
		all = append(all, l.String())
	}
	if more > 0 {
		all = append(all, fmt.Sprintf("%d more parts cannot be read", more))
	}
	return all
}

// Release closes it without a word.
func (p *Playback) Release() error {
	if err := p.file.Close(); err != nil {
		return fmt.Errorf("closing the recording: %w", err)
	}
	return nil
}

// Close says what could not be read.
func (p *Playback) Close() error {
	for _, l := range p.Lost() {
		p.note("%s: %s", p.Name, l)
	}
	if _, ended := p.End(); !ended && p.whole && p.windows > 0 {
		p.note("%s was not closed cleanly: its last window may be missing", p.Name)
	}
	return p.Release()
}

// Nobody is the error of a question about what is not in the recording. ofDevice
// tells that it is about a device.
func (p *Playback) Nobody(what string, ofDevice bool) error {
	why := ""
	if p.OfAgent && !ofDevice {
		why = "; the agent keeps processes only for incidents, and the busiest for 'iocause top'"
	}
	return fmt.Errorf("replaying %s: %s in that time%s", OneLine(p.Name), what, why)
}

// What is put together in one window: 128 MiB of points, 300 MiB of series, and
// gaps that are compared each with each.
const (
	mostPoints = 8 << 20
	mostSeries = 1 << 20
	mostGaps   = 20_000
)

// Join puts windows together, and says when that is too much.
type Join struct {
	sample.Join
	Cost recording.Cost // of observing them all
}

// Add puts a window behind the others.
func (j *Join) Add(r *recording.Record) error {
	j.Join.Add(r.Window)
	j.Cost.CPUSeconds += r.Cost.CPUSeconds
	j.Cost.RSSBytes = max(j.Cost.RSSBytes, r.Cost.RSSBytes)
	for _, x := range []struct {
		what      string
		has, most int
	}{{"figures", j.Points(), mostPoints}, {"series", j.Series(), mostSeries}, {"notes of what is missing", len(j.Window().Gaps), mostGaps}} {
		if x.has > x.most {
			return fmt.Errorf("putting windows together: the %s from %s on hold more than %d %s; choose a shorter time with --from and --to",
				table.Duration(j.Window().Seconds()), Stamp(j.Window().Start), x.most, x.what)
		}
	}
	return nil
}
