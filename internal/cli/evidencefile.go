package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"iocause/internal/present/text"
	"iocause/internal/store/incidents"
)

// The evidence of an incident, by the names of its sections. Of each, the
// command of the same name shows what it would have shown then.
const (
	sectionRecording = "recording" // windows, of diagnose and its kin
	sectionNormal    = "normal"    // a window of better times, that it was judged against
	sectionThreads   = "threads"
	sectionOffCPU    = "offcpu"
	sectionOnCPU     = "oncpu"
	sectionLatency   = "latency"
	sectionResident  = "resident"
	sectionMem       = "mem"
	sectionTrace     = "trace" // of burst, too
)

// Types of sections.
const (
	typeRecording = "application/x-iocause-recording"
	typeTrace     = "application/x-iocause-trace"
)

// inMemory is a recording that was read whole.
type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

// incidentIn reads what --recording names when that is an incident: one of the
// agent's, by number, or a file. It is nil for any other file. A file whose
// name is a number is written ./17.
func (a *app) incidentIn(name string) (*incidents.Incident, error) {
	path := name
	if n, err := strconv.Atoi(name); err == nil {
		if path = incidents.Path(filepath.Join(stateDir, incidentsIn), n); n < 1 {
			return nil, &usageError{fmt.Errorf("reading --recording: no incident has the number %d", n), "see 'iocause incidents'"}
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the recording: %w", err)
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
		return nil, fmt.Errorf("reading %s: %w", text.Escape(name), err)
	}
	if !incidents.Is(first[:n]) {
		return nil, nil
	}
	x, err := incidents.Read(f)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", text.Escape(name), err)
	}
	for _, l := range x.Lost {
		fmt.Fprintf(a.stderr, "iocause: %s: %s\n", text.Escape(name), text.Escape(l))
	}
	return x, nil
}

// sectionOf is a piece of an incident's evidence.
func sectionOf(x *incidents.Incident, name, section string) ([]byte, error) {
	at := slices.IndexFunc(x.Sections, func(s incidents.Section) bool { return s.Name == section })
	if at >= 0 {
		return x.Sections[at].Data, nil
	}
	why := "see 'iocause incident' for what could not be gathered"
	if x.Finding == nil {
		why = notJudged(&x.Meta)
	}
	return nil, fmt.Errorf("playing %s: the incident holds no %s evidence: %s", text.Escape(name), section, why)
}

// evidence reads what a command without answer in recordings finds in an
// incident: nil where nothing is to be played.
func (a *app) evidence(c *cobra.Command, p *playback, section string) ([]byte, error) {
	if is, err := p.asked(c); err != nil || !is {
		return nil, err
	}
	if p.file == "" {
		return a.evidenceBetween(p, section)
	}
	if p.from != "" || p.to != "" {
		return nil, &usageError{errors.New("reading the flags: the evidence of an incident is of one time"), "leave out --from and --to"}
	}
	x, err := a.incidentIn(p.file)
	if err != nil {
		return nil, err
	}
	if x == nil {
		u := notInRecordings()[c.Name()]
		return nil, &usageError{fmt.Errorf("reading --recording: %s", u.why), u.instead}
	}
	return sectionOf(x, p.file, section)
}

// keptAs reads evidence that is JSON.
func keptAs[T any](data []byte, section string) (*T, error) {
	to := new(T)
	if err := json.Unmarshal(data, to); err != nil {
		return nil, fmt.Errorf("reading the %s evidence: %w", section, err)
	}
	return to, nil
}

// onlyLive refuses flags that evidence has no answer for.
func onlyLive(c *cobra.Command, why string, flags ...string) error {
	for _, name := range flags {
		if c.Flags().Changed(name) {
			return &usageError{fmt.Errorf("reading the flags: --%s and --recording exclude each other: %s", name, why), "leave it out"}
		}
	}
	return nil
}

// oneTime refuses intervals of evidence that is of one time.
func oneTime(args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &usageError{errors.New("reading the arguments: the evidence of an incident is one look, without intervals"), "leave out INTERVAL"}
}
