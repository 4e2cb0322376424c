package diff

import (
	"slices"
	"strings"

	"iocause/internal/diagnose"
	"iocause/internal/host"
)

// compareSides says what both sides, that were read, differ in.
func compareSides(sides [2]*side) (*Difference, error) {
	d := &Difference{Version: 1, Findings: []Finding{}, Evidence: []Evidence{}, Settings: []host.Difference{}, Notes: []string{}}
	for i, s := range sides {
		r := s.found.Report
		d.Sides[i] = Side{File: s.name, Start: r.Window.Start, Seconds: r.Window.Seconds, Windows: s.windows,
			Run: s.found.Run, Primary: r.Primary, Title: titleOf(r), Victim: r.Victim}
		if s.header.Command != nil {
			d.Sides[i].Command = string(s.header.Command.Name)
		}
	}
	d.compareFindings(sides)
	d.compareFigures(sides)
	var hosts [2]host.Fingerprint
	for i, s := range sides {
		f, ok := s.found.Report.Host.(host.Fingerprint)
		if note := "the settings of the machine are not in " + s.name; !ok && !slices.Contains(d.Notes, note) {
			d.Notes = append(d.Notes, note)
		}
		hosts[i] = f
	}
	if len(d.Notes) == 0 {
		differ, err := host.Differences(&hosts[0], &hosts[1])
		if err != nil {
			return nil, err
		}
		d.Settings = append(d.Settings, differ...)
	}
	for i, s := range sides {
		for _, l := range s.found.Report.Gaps {
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
		return "the cause is not known"
	}
	return r.Findings[0].Title
}

func (d *Difference) compareFindings(sides [2]*side) {
	at := map[diagnose.ID]int{}
	for _, s := range sides {
		for _, f := range s.found.Report.Findings {
			if _, ok := at[f.Cause]; ok {
				continue
			}
			at[f.Cause] = len(d.Findings)
			x := Finding{Cause: f.Cause, Title: f.Title}
			for i, s := range sides {
				x.Sides[i] = stateOfCause(s.found.Report, f.Cause)
			}
			d.Findings = append(d.Findings, x)
		}
	}
	seen := map[[2]string]int{}
	for i, s := range sides {
		r := s.found.Report
		if len(r.Findings) == 0 {
			continue
		}
		for _, e := range r.Findings[0].Evidence {
			key := [2]string{e.Name, e.Unit}
			n, ok := seen[key]
			if !ok {
				n = len(d.Evidence)
				seen[key] = n
				d.Evidence = append(d.Evidence, Evidence{Cause: r.Findings[0].Cause, ID: e.ID, Name: e.Name, Unit: e.Unit, Source: e.Source})
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
func stateOfCause(r *diagnose.Report, cause diagnose.ID) State {
	for _, f := range r.Findings {
		if f.Cause == cause {
			return State{Answer: diagnose.Yes, Primary: r.Primary == cause, Confidence: f.Confidence, Weight: f.Weight}
		}
	}
	for _, x := range r.CannotTell {
		if x.Cause == cause {
			return State{Answer: diagnose.CannotTell, Why: x.Missing}
		}
	}
	for _, x := range r.Excluded {
		if x.Cause == cause {
			return State{Answer: diagnose.No, Why: x.Why}
		}
	}
	return State{Answer: diagnose.No}
}
