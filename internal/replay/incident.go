package replay

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"iocause/internal/ask"
	"iocause/internal/store/incidents"
)

// IncidentsIn is the folder of the incidents, in that of the agent.
const IncidentsIn = "incidents"

// The evidence that is windows.
const (
	SectionRecording = "recording" // of diagnose and its kin
	SectionNormal    = "normal"    // of better times, that it was judged against
)

// Numbered is the file of an incident that is named by its number, and any
// other name as it is.
func Numbered(dir, name string) string {
	if n, err := strconv.Atoi(name); err == nil && n > 0 {
		return incidents.Path(filepath.Join(dir, IncidentsIn), n)
	}
	return name
}

// Incident reads what is named when that is an incident: one of the agent's, by
// number, or a file. It is nil for any other file. A file whose name is a number
// is written ./17.
func (o *Opener) Incident(name string) (*incidents.Incident, error) {
	if n, err := strconv.Atoi(name); err == nil && n < 1 {
		return nil, &ask.Error{Err: fmt.Errorf("reading --recording: there is no incident %d", n), Next: "see 'iocause incidents'"}
	}
	f, err := os.Open(Numbered(o.Dir, name))
	if err != nil {
		return nil, NotOpened(Numbered(o.Dir, name), err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("opening the recording: %w", err)
	}
	if !info.Mode().IsRegular() { // what cannot be read twice is no incident
		return nil, nil
	}
	first := make([]byte, 32)
	n, err := f.ReadAt(first, 0)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("reading %s: %w", OneLine(name), err)
	}
	if !incidents.Is(first[:n]) {
		return nil, nil
	}
	x, err := incidents.Read(f)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", OneLine(name), err)
	}
	for _, l := range x.Lost {
		o.note("%s: %s", name, l)
	}
	return x, nil
}

// NotOpened says why a recording could not be opened; of an incident that does not
// exist, which ones do.
func NotOpened(path string, err error) error {
	dir, base := filepath.Split(path)
	var n int
	if _, scan := fmt.Sscanf(base, "%d"+incidents.Suffix, &n); scan != nil || filepath.Base(dir) != IncidentsIn || incidents.Path(dir, n) != path || !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("opening the recording: %w", err)
	}
	return fmt.Errorf("reading incident %d: %w", n, incidents.Missing(filepath.Clean(dir)))
}

// SectionOf is a piece of an incident's evidence.
func SectionOf(x *incidents.Incident, name, section string) ([]byte, error) {
	at := slices.IndexFunc(x.Sections, func(s incidents.Section) bool { return s.Name == section })
	if at >= 0 {
		return x.Sections[at].Data, nil
	}
	why := "see 'iocause incident' for what could not be gathered"
	if x.Finding == nil {
		why = NotJudged(&x.Meta)
	}
	return nil, fmt.Errorf("replaying %s: the incident holds no %s evidence: %s", OneLine(name), section, why)
}

// NotJudged says why an incident has no finding, as far as its notes do not.
func NotJudged(m *incidents.Meta) string {
	if m.Open && len(m.Notes) == 0 {
		return "The incident is not diagnosed yet: try again in a minute, or run 'iocause diagnose' now"
	}
	return "The incident was not diagnosed"
}

// Judged are the incidents of an interval that have a finding, the newest first.
// That they cannot be read is noted: the series say what there is.
func (o *Opener) Judged(from, to time.Time) []incidents.Entry {
	all, err := o.incidentsBetween(from, to)
	if err != nil {
		o.Note(err)
	}
	return slices.DeleteFunc(all, func(e incidents.Entry) bool { return e.Meta.Cause == "" })
}

// incidentsBetween are the incidents of an interval, the newest first.
func (o *Opener) incidentsBetween(from, to time.Time) ([]incidents.Entry, error) {
	all, err := incidents.List(filepath.Join(o.Dir, IncidentsIn))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	const written = 2 * time.Minute // after which that of an open one is written again
	return slices.DeleteFunc(all, func(e incidents.Entry) bool {
		if e.Err != nil {
			o.note("whether incident %d is from that time is not known: %v", e.Number, e.Err)
			return true
		}
		w := &e.Meta.What
		end := w.End
		if e.Meta.Open {
			end = end.Add(written)
		}
		return end.Before(from) || w.Start.After(to)
	}), nil
}

// Evidence is a piece of evidence of the newest incident of an interval that has it.
func (o *Opener) Evidence(s *Interval, section string) ([]byte, error) {
	from, to, err := o.Times(s)
	if err != nil {
		return nil, err
	}
	var numbers []string
	found, err := o.incidentsBetween(from, to)
	if err != nil {
		return nil, fmt.Errorf("replaying %s to %s: %w", Stamp(from), Stamp(to), err)
	}
	for _, e := range found {
		numbers = append(numbers, fmt.Sprint(e.Number))
		x, err := o.Incident(e.Path)
		if err != nil {
			o.note("%v", err)
		}
		if err != nil || x == nil {
			continue
		}
		if data, err := SectionOf(x, e.Path, section); err == nil {
			o.note("this is the evidence of incident %d, which began at %s", e.Number, Stamp(e.Meta.What.Start))
			return data, nil
		}
	}
	if len(numbers) > 0 {
		return nil, fmt.Errorf("replaying %s to %s: the incidents of that time (%s) hold no %s evidence: 'iocause incident' says why", Stamp(from), Stamp(to), strings.Join(numbers, ", "), section)
	}
	return nil, fmt.Errorf("replaying %s to %s: there was no incident, and the agent keeps %s evidence only for incidents", Stamp(from), Stamp(to), section)
}

// LoadIncident reads an incident of the folder by its number, or a file. A
// file whose name is a number is written ./17; - is in.
func LoadIncident(dir, which string, in io.Reader) (*incidents.Incident, error) {
	if n, err := strconv.Atoi(which); err == nil {
		return incidents.Load(filepath.Join(dir, IncidentsIn), n)
	}
	if which == "-" {
		return incidents.Read(in)
	}
	f, err := os.Open(which)
	if err != nil {
		return nil, fmt.Errorf("reading the incident: %w", err)
	}
	defer f.Close()
	return incidents.Read(f)
}
