// Package report gathers what one page shows of a diagnosis: the finding, the
// drawings and tables of the windows that it is of, and the evidence of an
// incident.
package report

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/incident"
	"iocause/internal/judge"
	"iocause/internal/picture"
	"iocause/internal/replay"
	"iocause/internal/sample"
	"iocause/internal/store/incidents"
	"iocause/internal/table"
)

// Ask is what a page is wanted of.
type Ask struct {
	Name     string // a file of windows or of an incident; "" for what the agent kept of Interval
	Interval *replay.Interval
	Target   diagnose.Target
	Asked    string      // the target in words, "" for nobody
	Past     *judge.Past // that it is compared with; nil for nothing, or what an incident brings
}

// Of gathers the page of what was kept.
func Of(o *replay.Opener, ask Ask) (*picture.Page, error) {
	var x *incidents.Incident
	if ask.Name != "" {
		var err error
		if x, err = o.Incident(ask.Name); err != nil {
			return nil, err
		}
	}
	if x != nil && !has(x, incident.SectionRecording) { // nobody looked at it with probes
		page := &picture.Page{Unjudged: replay.NotJudged(&x.Meta)}
		addIncident(page, x)
		return page, nil
	}
	quiet := *o
	if x != nil {
		quiet.Note = func(error) {} // what is damaged was said
	}
	from, err := quiet.Open(ask.Name, ask.Interval, true)
	if err != nil {
		return nil, err
	}
	past := ask.Past
	if past == nil {
		if past, err = incident.Past(o, from.Name); err != nil {
			return nil, errors.Join(err, from.Close())
		}
	}
	var course picture.Course
	from.See = course.Add
	found, err := judge.Recording(from, ask.Target, true, past)
	if err != nil {
		return nil, errors.Join(err, from.Close())
	}
	page := Judged(found.Report, found.Window, &course)
	page.Of, page.Asked = "the recording "+filepath.Base(from.Name), ask.Asked
	if from.OfAgent {
		page.Of = "what the agent kept"
	}
	if x != nil {
		addIncident(page, x)
	}
	return page, from.Close()
}

func has(x *incidents.Incident, section string) bool {
	_, err := replay.SectionOf(x, "", section)
	return err == nil
}

// Live is the page of what was just watched on this machine.
func Live(h *host.Host, r *diagnose.Report, w *sample.Window, course *picture.Course, asked string) *picture.Page {
	page := Judged(r, w, course)
	page.Of, page.Asked, page.Host = "this machine", asked, h.Name()
	return page
}

// Judged is the page of windows that were judged. w is all of them as one.
func Judged(r *diagnose.Report, w *sample.Window, course *picture.Course) *picture.Page {
	page := &picture.Page{Report: r}
	if f, ok := r.Host.(host.Fingerprint); ok {
		page.Kernel = f.Kernel
	} else if f, ok := r.Host.(*host.Fingerprint); ok && f != nil {
		page.Kernel = f.Kernel
	}
	set := course.Set("Time series", picture.Victim{PID: r.Victim.PID, Comm: r.Victim.Comm, Many: r.Victim.Processes > 1})
	if when := r.When; when != nil && !when.Steady && when.To > when.From && len(set.Begin) > 1 {
		set.Marks = append(set.Marks, picture.Mark{From: when.From, To: when.To, Name: "most of the waiting"})
	}
	page.Sets = append(page.Sets, set)
	page.Tables = tables(r, w)
	if course.Windows() == 1 {
		page.Notes = append(page.Notes, "This window was not divided: what BPF programs count (waits, latencies, the page cache) is one figure for all of it, so the charts show only the kernel's own counters. 'iocause record' and 'iocause diagnose -o FILE.html' keep the time series.")
	}
	return page
}

// addIncident adds what an incident's file holds besides its windows.
func addIncident(page *picture.Page, x *incidents.Incident) {
	page.Incident, page.Host, page.Kernel = &x.Meta.What, x.Meta.Host, x.Meta.Kernel
	page.Of = "an incident"
	if x.Meta.Number > 0 {
		page.Of = "incident " + table.Value(float64(x.Meta.Number), "count")
	}
	page.Notes = append(page.Notes, x.Meta.Notes...)
	page.Notes = append(page.Notes, x.Lost...)
	page.Sets = append(around(x), page.Sets...)
	if set, err := traced(x); err == nil {
		page.Sets = append(page.Sets, set)
	} else if !errors.Is(err, fs.ErrNotExist) {
		page.Notes = append(page.Notes, err.Error())
	}
	for _, section := range []string{incident.SectionOffCPU, incident.SectionOnCPU} {
		p, err := stacksOf(x, section)
		switch {
		case err == nil:
			page.Profiles = append(page.Profiles, p)
		case !errors.Is(err, fs.ErrNotExist):
			page.Notes = append(page.Notes, err.Error())
		}
	}
}

// around are the signals that were kept, as they are drawn.
func around(x *incidents.Incident) []*picture.Set {
	var all []picture.Signal
	for i := range x.Series {
		s := &x.Series[i]
		one := picture.Signal{Name: s.Name, Of: s.On, Unit: s.Unit, Source: s.Source, Start: s.Start, Step: time.Duration(s.Step * float64(time.Second))}
		for _, v := range s.Values {
			one.Values = append(one.Values, orNaN(v))
		}
		for k := range x.Meta.What.Reasons {
			if r := &x.Meta.What.Reasons[k]; r.Signal == s.Name || r.Signal == s.Name+" "+s.On {
				one.Normal = &picture.Band{Low: r.Low, High: r.High}
			}
		}
		if one.Step > 0 && len(one.Values) > 1 {
			all = append(all, one)
		}
	}
	return picture.Around("Before, during and after the incident", all, x.Meta.What.Start, x.Meta.What.End)
}
