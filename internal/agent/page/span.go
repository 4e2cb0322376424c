package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"iocause/internal/agent"
	"iocause/internal/picture"
	"iocause/internal/present/html"
	"iocause/internal/replay"
	"iocause/internal/sample"
	"iocause/internal/store/recording"
	"iocause/internal/table"
	"iocause/internal/tool/top"
)

const (
	mostColumns = 288 // of a drawing: a day in steps of five minutes, which are kept as such
	shortest    = 2 * time.Second
	longest     = 400 * 24 * time.Hour
	mostNotes   = 20
)

// Drawn is what the page draws of a span.
type Drawn struct {
	From  time.Time     `json:"from"`
	To    time.Time     `json:"to"`
	Sets  []picture.Set `json:"sets"`  // of the machine, and of programs and cgroups, over time
	Who   string        `json:"who"`   // HTML: tables of the busiest of all of the span
	Notes []string      `json:"notes"` // what is missing, and why
}

// span answers with what is drawn of a span.
func (p *page) span(w http.ResponseWriter, r *http.Request) {
	from, to, err := p.asked(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	series := p.Recording()
	if series == nil {
		http.Error(w, "the history cannot be read at the moment", http.StatusServiceUnavailable)
		return
	}
	d := Drawn{From: from, To: to}
	notes := []string{}
	var course picture.Course
	err = p.opener(&notes).Windows(r.Context(), series, replay.Cut{From: from, To: to, Windows: mostColumns, Ticks: 1, Only: picture.Drawn()}, func(w *sample.Window) error {
		course.Add(w)
		return nil
	})
	if err != nil {
		notes = append(notes, err.Error())
	}
	set := course.Set("The machine", picture.Victim{})
	set.Marks = p.marks(set.Start, from, to)
	who, tables, lost := p.who(from, to)
	who.Marks = p.marks(who.Start, from, to)
	d.Sets = []picture.Set{html.Inert(set), html.Inert(who)}
	notes = append(notes, lost...)
	d.Notes = notes[:min(len(notes), mostNotes)]
	d.Who = html.TablesPart(tables, nil)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(d) // the browser has gone: there is nobody to tell
}

// asked is the span of a request: the last hour without one.
func (p *page) asked(r *http.Request) (from, to time.Time, err error) {
	now := p.Host.Now()
	if to, err = agent.Instant(r.FormValue("to"), now); err != nil {
		return from, to, err
	}
	if to.After(now) {
		to = now
	}
	if from, err = agent.Instant(r.FormValue("from"), to.Add(-time.Hour)); err != nil {
		return from, to, err
	}
	if length := to.Sub(from); length < shortest || length > longest {
		return from, to, fmt.Errorf("from %s to %s is shorter than %v, or longer than 400 days", from.Format(time.RFC3339), to.Format(time.RFC3339), shortest)
	}
	return from.In(now.Location()), to.In(now.Location()), nil
}

// marks are the incidents of a span, as stretches of a drawing that begins at
// start.
func (p *page) marks(start, from, to time.Time) []picture.Mark {
	marks := []picture.Mark{}
	listed, _ := p.incidents()
	for i := range listed {
		k := &listed[i]
		if k.Broken != "" || k.What.Start.After(to) || k.What.End.Before(from) {
			continue
		}
		// an instant is a second wide, to be seen
		begin, end := k.What.Start.Sub(start), max(k.What.End.Sub(start), k.What.Start.Sub(start)+time.Second)
		marks = append(marks, picture.Mark{From: begin.Round(time.Millisecond).Seconds(), To: end.Round(time.Millisecond).Seconds(), Name: "incident " + strconv.Itoa(k.Number)})
	}
	return marks
}

// who are the busiest processes and cgroups, over time and of all of the span.
func (p *page) who(from, to time.Time) (set *picture.Set, tables []table.Table, notes []string) {
	over, all := picture.NewBusiest(from, to), top.New()
	lost, err := recording.EachShelved(filepath.Join(p.Dir, agent.TablesIn), from, to, func(r *recording.Record) error {
		over.Add(r.Window)
		all.Add(r.Window)
		return nil
	})
	notes = append(notes, lost...)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		notes = append(notes, err.Error())
	}
	return over.Set("Who did it"), all.Tables(), notes
}
