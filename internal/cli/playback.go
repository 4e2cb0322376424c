package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/store/incidents"
	"iocause/internal/store/recording"
	"iocause/internal/table"
)

// playback are the flags of a command that also answers from a recording.
type playback struct {
	file, from, to, dir string
}

func (p *playback) bind(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&p.file, "recording", "", "answer from a file of 'iocause record', from the\nevidence of an incident (its number or file), or\nfrom the folder of an agent")
	f.StringVar(&p.from, "from", "", "begin there, in the recording or, without one, in\nwhat the agent keeps: 14:00, \"yesterday 14:00\",\n\"10m ago\", RFC 3339; +30s in a recording")
	f.StringVar(&p.to, "to", "", "end there")
	f.StringVar(&p.dir, "dir", stateDir, "the agent's folder")
}

// numberedIn is the file of an incident that is named by its number, and any
// other name as it is.
func numberedIn(dir, name string) string {
	if n, err := strconv.Atoi(name); err == nil && n > 0 {
		return incidents.Path(filepath.Join(dir, incidentsIn), n)
	}
	return name
}

// asked tells whether something that was recorded is to be played.
func (p *playback) asked(c *cobra.Command) (bool, error) {
	if c.Flags().Changed("recording") && p.file == "" {
		return false, &usageError{errors.New("reading --recording: the name is empty"), "give a file that 'iocause record' has made"}
	}
	p.file = numberedIn(p.dir, p.file)
	if info, err := os.Stat(p.file); err == nil && info.IsDir() { // an agent's
		p.dir, p.file = p.file, ""
		return true, nil
	}
	return p.file+p.from+p.to != "", nil
}

// played is a recording that is being read.
type played struct {
	*recording.Reader
	app      *app
	name     string
	from, to time.Time // chosen; zero for no bound
	begin    time.Time
	end      time.Time
	whole    bool // it was read to its end
	file     io.Closer
	windows  int // handed out
	ofAgent  bool
	first    time.Time
}

// play opens the recording, or without one what the agent kept. ofProbes tells
// that the command shows what kernel programs see. Its Close says on standard
// error what it lacks.
func (a *app) play(p *playback, ofProbes bool) (*played, error) {
	if p.file == "" {
		return a.playAgent(p, ofProbes)
	}
	return a.playSpan(p.file, p.from, p.to, "from", "to")
}

// playSpan opens a span of a recording, as flags of these names ask for it.
func (a *app) playSpan(name, from, to, fromFlag, toFlag string) (*played, error) {
	f, size, err := a.openRecorded(name)
	if err != nil {
		return nil, err
	}
	one, err := a.playFile(name, f, size, from, to, fromFlag, toFlag)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", text.Escape(name), err)
	}
	return one, nil
}

// windowSource is where the windows of a recording are read from.
type windowSource interface {
	io.ReaderAt
	io.Closer
}

// openRecorded opens a file of windows, or those that are the evidence of an
// incident.
func (a *app) openRecorded(name string) (windowSource, int64, error) {
	x, err := a.incidentIn(name)
	if err != nil {
		return nil, 0, err
	}
	if x != nil {
		data, err := sectionOf(x, name, sectionRecording)
		return inMemory{bytes.NewReader(data)}, int64(len(data)), err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, fmt.Errorf("opening the recording: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: a recording is read at several places: it must be a file", text.Escape(name))
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func (a *app) playFile(name string, f windowSource, size int64, from, to, fromFlag, toFlag string) (*played, error) {
	r, err := recording.NewReader(f, size)
	if errors.Is(err, recording.ErrFormat) {
		return nil, fmt.Errorf("%w; give what 'iocause record' has made", err)
	}
	if err != nil {
		return nil, err
	}
	one := &played{Reader: r, app: a, name: name, file: f}
	if one.begin, one.end, err = r.Span(); err != nil {
		return nil, err
	}
	if one.begin.IsZero() {
		return nil, errors.New("the recording holds no window")
	}
	now := a.host.Now()
	if one.from, err = readWhen(fromFlag, from, now, one.begin); err != nil {
		return nil, err
	}
	if one.to, err = readWhen(toFlag, to, now, one.begin); err != nil {
		return nil, err
	}
	if !one.from.IsZero() && !one.to.IsZero() && !one.from.Before(one.to) {
		return nil, &usageError{fmt.Errorf("reading --%s: %s is not after %s", toFlag, stamp(one.to), stamp(one.from)), "give a later time"}
	}
	r.Only(one.from, one.to)
	return one, nil
}

// stamp is a time for a note.
func stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// each hands out the windows that were asked for, at least one.
func (p *played) each(f func(*recording.Record) error) error {
	for {
		r, err := p.Next()
		if err == io.EOF {
			p.whole = true
			break
		}
		if err != nil {
			return err
		}
		if p.windows++; p.windows == 1 {
			p.first = r.Window.Start
			if !p.first.Equal(p.begin) { // what was missing from the start may be said only there
				r.Window.Gaps = append(p.lacks(r.Window.Gaps), r.Window.Gaps...)
			}
		}
		if err := f(r); err != nil {
			return err
		}
	}
	if every := p.Header().Interval; p.windows == 0 && !p.from.IsZero() && !p.to.IsZero() && p.to.Sub(p.from).Seconds() < every {
		return fmt.Errorf("playing %s: its windows are %s long, and that time has the middle of none; ask for more", text.Escape(p.name), table.Duration(every))
	}
	if p.windows == 0 {
		return fmt.Errorf("playing %s: nothing was recorded in that time; it holds %s to %s", text.Escape(p.name), stamp(p.begin), stamp(p.end))
	}
	return nil
}

// lacks are the gaps that there were from the start on, but for those that are
// said.
func (p *played) lacks(said []sample.Gap) []sample.Gap {
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

// close says what could not be read.
func (p *played) close() error {
	notes := p.app.stderr
	told, more := p.Losses()
	for _, l := range told {
		fmt.Fprintf(notes, "iocause: %s: %s\n", text.Escape(p.name), l)
	}
	if more > 0 {
		fmt.Fprintf(notes, "iocause: %s: %d more parts cannot be read\n", text.Escape(p.name), more)
	}
	if _, ended := p.End(); !ended && p.whole && p.windows > 0 {
		fmt.Fprintf(notes, "iocause: %s was not ended in order: its last window may be missing\n", text.Escape(p.name))
	}
	if err := p.file.Close(); err != nil {
		return fmt.Errorf("closing the recording: %w", err)
	}
	return nil
}

// What is put together in one window: 128 MiB of points, 300 MiB of series, and
// gaps that are compared each with each.
const (
	mostPoints = 8 << 20
	mostSeries = 1 << 20
	mostGaps   = 20_000
)

// joined puts windows together, and says when that is too much.
type joined struct {
	sample.Join
	cost recording.Cost
}

func (j *joined) add(r *recording.Record) error {
	j.Add(r.Window)
	j.cost.CPUSeconds += r.Cost.CPUSeconds
	j.cost.RSSBytes = max(j.cost.RSSBytes, r.Cost.RSSBytes)
	for _, x := range []struct {
		what      string
		has, most int
	}{{"figures", j.Points(), mostPoints}, {"series", j.Series(), mostSeries}, {"notes of what is missing", len(j.Window().Gaps), mostGaps}} {
		if x.has > x.most {
			return fmt.Errorf("putting windows together: the %s from %s on hold more than %d %s; choose a shorter time with --from and --to",
				table.Duration(j.Window().Seconds()), stamp(j.Window().Start), x.most, x.what)
		}
	}
	return nil
}

// fingerprint is that of the machine that was recorded, nil where it is not
// known.
func (p *played) fingerprint() any {
	var f host.Fingerprint
	if text := p.Header().Host; len(text) == 0 || json.Unmarshal(text, &f) != nil {
		return nil
	}
	return f
}

// recordedTarget is what a filter asks for, in the words of a recording: the
// machine may be another one, or those that were meant gone.
func (f *filter) recordedTarget(given []string) (t diagnose.Target, err error) {
	for _, name := range given {
		switch name {
		case "pid":
			if f.pid <= 0 {
				return t, &usageError{fmt.Errorf("reading --pid: %d is no process id", f.pid), "give a number as 'ps' showed it"}
			}
			t.PIDs = []int{f.pid}
		case "comm":
			if f.comm == "" {
				return t, &usageError{fmt.Errorf("reading --comm: the name is empty"), "give a name as 'ps -o comm' shows it"}
			}
			t.Comm = commOf(f.comm)
		case "cgroup":
			if f.cgroup == "" {
				return t, &usageError{fmt.Errorf("reading --cgroup: the path is empty"), "give a path as /proc/PID/cgroup shows it"}
			}
			t.Cgroup = path.Join("/", f.cgroup)
		case "device":
			if f.device == "" {
				return t, &usageError{fmt.Errorf("reading --device: the name is empty"), "give a name as 'lsblk' shows it"}
			}
			t.Device = strings.ReplaceAll(strings.TrimPrefix(f.device, "/dev/"), "/", "!")
		}
	}
	return t, nil
}

// nobody is the error of a question about what is not in the recording.
func (p *played) nobody(what string, t diagnose.Target) error {
	why := ""
	if p.ofAgent && t.Device == "" {
		why = "; the agent keeps processes with incidents alone, and the busiest for 'iocause top'"
	}
	return fmt.Errorf("playing %s: %s in that time%s", text.Escape(p.name), what, why)
}

// unmet says that what is asked for is not in a window, "" when it is. To find
// nobody is not to find that all is well.
func unmet(w *sample.Window, t diagnose.Target) string {
	for _, pid := range t.PIDs {
		if _, ok := w.Processes[pid]; !ok && len(t.PIDs) == 1 {
			return fmt.Sprintf("process %d was not met", pid)
		}
	}
	switch {
	case t.Comm != "" && !met(w, diagnose.Target{Comm: t.Comm}):
		return fmt.Sprintf("no process called %q was met", t.Comm)
	case t.Cgroup != "" && !met(w, diagnose.Target{Cgroup: t.Cgroup}):
		return fmt.Sprintf("no process in cgroup %q was met", t.Cgroup)
	case t.Device != "" && !hasDevice(w, t.Device):
		return fmt.Sprintf("no device is called %q", t.Device)
	}
	return ""
}

func hasDevice(w *sample.Window, device string) bool {
	return slices.ContainsFunc([]sample.Metric{sample.DiskBusy, sample.DiskInFlight, sample.DeviceReadAhead, sample.BlockOps, sample.NetReceived}, func(m sample.Metric) bool {
		has := false
		w.Each(m, func(e sample.Entity, _ *sample.Series) { has = has || e.Device == device })
		return has
	})
}
