package cli

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"iocause/internal/detect"
	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/sample"
	"iocause/internal/store/recording"
)

// difference is what two recordings differ in.
type difference struct {
	Version  int              `json:"version"`
	Sides    [2]sideJSON      `json:"sides"` // A and B
	Findings []findingDiff    `json:"findings"`
	Evidence []evidenceDiff   `json:"evidence"`
	Figures  []figureDiff     `json:"figures"`
	Settings []lab.Difference `json:"settings"`
	Notes    []string         `json:"notes"`
}

// sideJSON is one side: what it is, and what was found in it.
type sideJSON struct {
	File    string           `json:"file"`
	Start   time.Time        `json:"start"`
	Seconds float64          `json:"seconds"`
	Windows int              `json:"windows"`
	Command string           `json:"command,omitempty"`
	Run     *recording.Run   `json:"run,omitempty"`
	Primary diagnose.ID      `json:"primary"`
	Title   string           `json:"title"`
	Victim  diagnose.Culprit `json:"victim"`
}

// findingDiff is one cause that holds on one side at least.
type findingDiff struct {
	Cause diagnose.ID   `json:"cause"`
	Title string        `json:"title"`
	Sides [2]causeState `json:"sides"`
}

// causeState is how a cause stands on one side.
type causeState struct {
	Answer     diagnose.Answer `json:"answer"`
	Primary    bool            `json:"primary"`
	Confidence float64         `json:"confidence,omitempty"`
	Weight     float64         `json:"weight,omitempty"`
	Why        string          `json:"why,omitempty"` // ruled out, or not to be told
}

// evidenceDiff is a figure that proves a cause; null where a side has it not.
type evidenceDiff struct {
	Cause  diagnose.ID `json:"cause"`
	Name   string      `json:"name"`
	Unit   string      `json:"unit"`
	Source string      `json:"source"`
	A      *float64    `json:"a"`
	B      *float64    `json:"b"`
}

// figureDiff is a figure of both sides, null where a side has it not.
type figureDiff struct {
	Key    string   `json:"key"`
	Name   string   `json:"name"`
	Unit   string   `json:"unit"`
	Source string   `json:"source"`
	A      *float64 `json:"a"`
	B      *float64 `json:"b"`
	// Superiority is the share of pairs of windows in which B is larger; absent
	// where there are too few, and for sizes.
	Superiority *float64 `json:"superiority,omitempty"`
	StandsOut   bool     `json:"stands_out"`
	factor      float64
	beside      bool // a size that is shown because another one stands out
}

func compareSides(sides [2]*diffSide) (*difference, error) {
	d := &difference{Version: 1, Findings: []findingDiff{}, Evidence: []evidenceDiff{}, Notes: []string{}}
	for i, s := range sides {
		r := s.found.report
		d.Sides[i] = sideJSON{File: s.name, Start: r.Window.Start, Seconds: r.Window.Seconds, Windows: s.windows,
			Run: s.found.run, Primary: r.Primary, Title: titleOf(r), Victim: r.Victim}
		if s.header.Command != nil {
			d.Sides[i].Command = string(s.header.Command.Name)
		}
	}
	d.compareFindings(sides)
	d.compareFigures(sides)
	var hosts [2]host.Fingerprint
	for i, s := range sides {
		f, ok := s.found.report.Host.(host.Fingerprint)
		if note := "the settings of the machine are not in " + s.name; !ok && !slices.Contains(d.Notes, note) {
			d.Notes = append(d.Notes, note)
		}
		hosts[i] = f
	}
	if len(d.Notes) == 0 {
		differ, err := lab.Differences(&hosts[0], &hosts[1])
		if err != nil {
			return nil, err
		}
		d.Settings = differ
	}
	d.Settings = notNil(d.Settings)
	for i, s := range sides {
		for _, l := range s.found.report.Gaps {
			if strings.HasPrefix(l, "of the recording ") || strings.HasPrefix(l, "the recording ") || strings.HasPrefix(l, "the command ") {
				d.Notes = append(d.Notes, string("AB"[i])+": "+l)
			}
		}
	}
	return d, nil
}

// titleOf is what a report says in a line.
func titleOf(r *diagnose.Report) string {
	if r.Primary == diagnose.Unknown || len(r.Findings) == 0 {
		return "the cause cannot be told"
	}
	return r.Findings[0].Title
}

func (d *difference) compareFindings(sides [2]*diffSide) {
	at := map[diagnose.ID]int{}
	for _, s := range sides {
		for _, f := range s.found.report.Findings {
			if _, ok := at[f.Cause]; ok {
				continue
			}
			at[f.Cause] = len(d.Findings)
			x := findingDiff{Cause: f.Cause, Title: f.Title}
			for i, s := range sides {
				x.Sides[i] = stateOfCause(s.found.report, f.Cause)
			}
			d.Findings = append(d.Findings, x)
		}
	}
	seen := map[[2]string]int{}
	for i, s := range sides {
		r := s.found.report
		if len(r.Findings) == 0 {
			continue
		}
		for _, e := range r.Findings[0].Evidence {
			key := [2]string{e.Name, e.Unit}
			n, ok := seen[key]
			if !ok {
				n = len(d.Evidence)
				seen[key] = n
				d.Evidence = append(d.Evidence, evidenceDiff{Cause: r.Findings[0].Cause, Name: e.Name, Unit: e.Unit, Source: e.Source})
			}
			v := e.Value
			if i == 0 {
				d.Evidence[n].A = &v
			} else {
				d.Evidence[n].B = &v
			}
		}
	}
}

// stateOfCause is how a cause stands in a report.
func stateOfCause(r *diagnose.Report, cause diagnose.ID) causeState {
	for _, f := range r.Findings {
		if f.Cause == cause {
			return causeState{Answer: diagnose.Yes, Primary: r.Primary == cause, Confidence: f.Confidence, Weight: f.Weight}
		}
	}
	for _, x := range r.CannotTell {
		if x.Cause == cause {
			return causeState{Answer: diagnose.CannotTell, Why: x.Missing}
		}
	}
	for _, x := range r.Excluded {
		if x.Cause == cause {
			return causeState{Answer: diagnose.No, Why: x.Why}
		}
	}
	return causeState{Answer: diagnose.No}
}

func (d *difference) compareFigures(sides [2]*diffSide) {
	at := map[string]int{}
	size := map[string]bool{}
	for i, s := range sides {
		for _, f := range s.whole {
			if math.IsNaN(f.Value) || math.IsInf(f.Value, 0) {
				continue
			}
			n, ok := at[f.Key]
			if !ok {
				n = len(d.Figures)
				at[f.Key], size[f.Key] = n, f.Size
				d.Figures = append(d.Figures, figureDiff{Key: f.Key, Name: f.Name, Unit: f.Unit, Source: f.Source})
			}
			v := f.Value
			if i == 0 {
				d.Figures[n].A = &v
			} else {
				d.Figures[n].B = &v
			}
		}
	}
	sizes := false
	few := min(sides[0].windows, sides[1].windows) < detect.LeastValues
	rare, alone := 0, [2]int{}
	for i := range d.Figures {
		f := &d.Figures[i]
		if f.A == nil || f.B == nil {
			f.StandsOut = size[f.Key]
			sizes = sizes || f.StandsOut
			switch {
			case f.StandsOut:
			case f.B == nil:
				alone[0]++
			default:
				alone[1]++
			}
			continue
		}
		c := detect.Compare(*f.A, *f.B, sides[0].values[f.Key], sides[1].values[f.Key], floorOf(f))
		f.factor = c.Factor
		switch {
		case size[f.Key]:
			f.StandsOut = c.Large()
			sizes = sizes || f.StandsOut
			continue
		case c.Superiority >= 0:
			f.Superiority = &c.Superiority
			f.StandsOut = c.Clear
			continue
		}
		if f.StandsOut = c.Large(); f.StandsOut && !few {
			rare++
		}
	}
	for i := range d.Figures {
		d.Figures[i].beside = sizes && size[d.Figures[i].Key]
	}
	if few {
		d.Notes = append(d.Notes, fmt.Sprintf("a side has fewer than %d windows: whether figures changed by chance cannot be told", detect.LeastValues))
	}
	if rare > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%s of these had a value in fewer than %d windows of a side: whether they changed by chance cannot be told", sample.Counted(rare, "figure"), detect.LeastValues))
	}
	for i, n := range alone {
		if n > 0 {
			d.Notes = append(d.Notes, fmt.Sprintf("%s only %s has: --all shows them", sample.Counted(n, "figure"), "AB"[i:i+1]))
		}
	}
}

// floorOf is how much of a figure is nothing: a change below it is none.
func floorOf(f *figureDiff) float64 {
	switch f.Unit {
	case "bytes/s":
		return 256 << 10
	case "count/s":
		return 20
	case "ratio", "count":
		return 0.02
	case "seconds":
		return 20e-6
	}
	if strings.HasPrefix(f.Key, "disk.") || strings.HasPrefix(f.Key, "data.") {
		return 1 << 10
	}
	return 4 << 20
}

// leaveUnclear takes out the figures that do not stand out. Where a size does,
// the others stay: the data against the limit, whichever of them changed.
func (d *difference) leaveUnclear() {
	d.Figures = slices.DeleteFunc(d.Figures, func(f figureDiff) bool { return !f.StandsOut && !f.beside })
}

// shown are the figures for people: of those that stand out the most changed,
// in the order in which they tell what happened.
func (d *difference) shown(all bool) (figures []figureDiff, left int) {
	if all {
		return d.Figures, 0
	}
	const most = 24
	figures = slices.DeleteFunc(slices.Clone(d.Figures), func(f figureDiff) bool { return !f.StandsOut && !f.beside })
	if len(figures) <= most {
		return figures, 0
	}
	weights := []float64{}
	weight := func(f *figureDiff) float64 {
		if f.factor == 0 || f.Key == "cache.hit_ratio" || f.Superiority == nil {
			return math.Inf(1)
		}
		return math.Abs(math.Log(f.factor))
	}
	for i := range figures {
		weights = append(weights, weight(&figures[i]))
	}
	slices.SortFunc(weights, func(a, b float64) int { return cmp.Compare(b, a) })
	left = len(figures) - most
	least := weights[most-1]
	figures = slices.DeleteFunc(figures, func(f figureDiff) bool { return weight(&f) < least })
	return figures, left
}
