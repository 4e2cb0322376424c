package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/present/html"
	"iocause/internal/replay"
	"iocause/internal/sample"
	"iocause/internal/store/incidents"
	"iocause/internal/table"
	"iocause/internal/view"
)

const (
	nowLength = time.Minute // that the resources are shown of
	mostKept  = 50          // incidents that are listed
)

func (p *page) index(w http.ResponseWriter, r *http.Request) {
	listed, older := p.incidents()
	one := html.AgentPage{Program: p.Program, Host: p.Host.Name(), Kernel: p.Host.Release(),
		Zone: p.Host.Now().Format("MST (UTC-07:00)"), Now: p.now(r.Context(), listed), Incidents: listed, Older: older}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = html.WriteAgentPage(w, &one) // the browser has gone: there is nobody to tell
}

func (p *page) nowPart(w http.ResponseWriter, r *http.Request) {
	listed, _ := p.incidents()
	n := p.now(r.Context(), listed)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, html.NowPart(&n))
}

func (p *page) incidentsPart(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, html.IncidentsPart(p.incidents()))
}

// now is the last verdict, and the resources of the last minute.
func (p *page) now(ctx context.Context, listed []html.Kept) html.Now {
	n := html.Now{Unjudged: "No diagnosis since the agent started", Looked: "The agent runs one a minute after its start, every hour, and when an incident begins."}
	for i := range listed {
		if listed[i].Open {
			n.GoesOn = listed[i].Number
		}
	}
	v := p.Verdict()
	if len(v.Report) > 0 {
		var report diagnose.Report
		if err := json.Unmarshal(v.Report, &report); err != nil {
			n.Unjudged = fmt.Sprintf("The last finding cannot be read: %v", err)
		} else {
			n.Report, n.Looked = &report, looked(&report, v.Of, p.Host.Now())
		}
	}
	resources, notes, err := p.resources(ctx)
	if err != nil {
		notes = append(notes, err.Error())
	}
	n.Resources, n.Notes = resources, notes
	return n
}

// looked says when the verdict is from.
func looked(r *diagnose.Report, of string, now time.Time) string {
	end := r.Window.Start.Add(time.Duration(r.Window.Seconds * float64(time.Second)))
	occasion := "the hourly check"
	if of == "incident" {
		occasion = "because an incident began"
	}
	return fmt.Sprintf("Checked at %s for %s (%s), %s ago.", r.Window.Start.In(now.Location()).Format(time.TimeOnly), table.Duration(r.Window.Seconds),
		occasion, table.Duration(max(now.Sub(end), 0).Round(time.Second).Seconds()))
}

// resources are utilisation, saturation and errors of the last minute.
func (p *page) resources(ctx context.Context) (all []table.Table, notes []string, err error) {
	r := p.Recording()
	if r == nil {
		return nil, nil, errors.New("the history cannot be read at the moment")
	}
	now := p.Host.Now()
	o := p.opener(&notes)
	err = o.Windows(ctx, r, replay.Cut{From: now.Add(-nowLength), To: now, Windows: 1, Ticks: int(nowLength / time.Second)}, func(w *sample.Window) error {
		all = view.Use(w, &view.Query{})
		return nil
	})
	for i := range all {
		all[i].Title += ", of the last minute"
		all[i].Notes = nil
	}
	return all, nil, err // that the last seconds are not recorded yet goes without saying
}

// opener reads what the agent keeps; what is missing is added to notes.
func (p *page) opener(notes *[]string) *replay.Opener {
	return &replay.Opener{Dir: p.Dir, Program: p.Program, Now: p.Host.Now, Note: func(err error) { *notes = append(*notes, err.Error()) }}
}

// incidents are the newest ones that are kept, the newest first, and how many are
// older.
func (p *page) incidents() (all []html.Kept, older int) {
	list, err := incidents.List(filepath.Join(p.Dir, replay.IncidentsIn))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return []html.Kept{{Broken: err.Error()}}, 0
	}
	older = max(len(list)-mostKept, 0)
	for _, e := range list[:len(list)-older] {
		if e.Err != nil {
			all = append(all, html.Kept{Number: e.Number, Broken: e.Err.Error()})
			continue
		}
		m := &e.Meta
		k := html.Kept{Number: e.Number, What: m.What, Open: m.Open, Cause: m.Cause, Title: m.Title}
		zone := p.Host.Now().Location()
		k.What.Start, k.What.End = m.What.Start.In(zone), m.What.End.In(zone)
		if m.Culprit != nil {
			k.Culprit = m.Culprit.Name
		}
		for _, n := range m.Notes {
			k.Notes = append(k.Notes, "Not gathered: "+n)
		}
		all = append(all, k)
	}
	return all, older
}
