// Package query asks what the agent recorded, in PromQL.
package query

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"iocause/internal/ask"
	"iocause/internal/replay"
	"iocause/internal/store/series"
)

// Ask is the time that is asked for, as people write it.
type Ask struct {
	From, To string        // "": no line but a value, and the end of the recording
	Step     time.Duration // between two points; 0 to choose one
}

// Times are those that a query is asked for. newest is where the recording
// ends.
func Times(o *Ask, now, newest time.Time) (q series.Query, err error) {
	read := func(flag, s string, otherwise time.Time) time.Time {
		if s == "" || err != nil {
			return otherwise
		}
		t, e := replay.Instant(s, now)
		if e != nil {
			err = &ask.Error{Err: fmt.Errorf("reading --%s: %w", flag, e), Next: replay.TimeHelp}
		}
		return t
	}
	q.To = read("to", o.To, newest)
	q.From = read("from", o.From, time.Time{})
	if err != nil || o.From == "" {
		return q, err
	}
	if !q.From.Before(q.To) {
		return q, &ask.Error{Err: fmt.Errorf("reading --from: %s is not before %s", q.From.Format(time.RFC3339), q.To.Format(time.RFC3339)), Next: "give an earlier time"}
	}
	if q.Step = o.Step; q.Step == 0 {
		q.Step = max((q.To.Sub(q.From) / 120).Round(time.Second), time.Second)
	}
	return q, nil
}

// Open opens what an agent records in dir. newest is where it ends.
func Open(dir string) (r *series.Reader, newest time.Time, err error) {
	r, err = series.OpenReader(dir)
	if errors.Is(err, series.ErrNoRecording) {
		return nil, newest, fmt.Errorf("%w; 'iocause agent' makes one, --dir names its directory", err)
	} else if err != nil {
		return nil, newest, err
	}
	for tier := 0; newest.IsZero() && tier < series.Tiers; tier++ {
		newest = r.Newest(tier)
	}
	if newest.IsZero() {
		return nil, newest, errors.Join(fmt.Errorf("querying the history in %s: it is empty", dir), r.Close())
	}
	return r, newest, nil
}

// Bound makes the step long enough for the points to be looked at, and says so; ""
// where it was.
func Bound(q *series.Query) string {
	least := series.LeastStep(q.From, q.To, q.Step)
	if q.Step >= least {
		return ""
	}
	note := fmt.Sprintf("a point every %v would be %d points of each series: showing one every %v instead; for shorter steps give a shorter time",
		q.Step, q.To.Sub(q.From)/q.Step+1, least)
	q.Step = least
	return note
}

// Names are those of all series.
func Names(ctx context.Context, r *series.Reader) ([]string, error) {
	from, to := series.Ever()
	return r.LabelValues(ctx, "__name__", nil, from, to)
}

// Rows are all points of a result: time, series, value.
func Rows(r *series.Result) [][]string {
	var rows [][]string
	for i := range r.Lines {
		name := lineName(&r.Lines[i])
		for _, p := range r.Lines[i].Points {
			value := strconv.FormatFloat(p.Value, 'g', -1, 64)
			if r.Type == "string" {
				value = r.Text
			}
			rows = append(rows, []string{p.At.Format(time.RFC3339Nano), name, value})
		}
	}
	return rows
}

// Object is a result for programs. It has numbers as numbers; those that JSON does not know are null.
func Object(r *series.Result) map[string]any {
	type point struct {
		Time  string   `json:"time"`
		Value *float64 `json:"value"`
	}
	type line struct {
		Name   string            `json:"name,omitempty"`
		Labels map[string]string `json:"labels"`
		Points []point           `json:"points"`
	}
	lines := []line{}
	for _, l := range r.Lines {
		x := line{Name: l.Name, Labels: map[string]string{}}
		for _, of := range l.Labels {
			x.Labels[of.Name] = of.Value
		}
		for _, p := range l.Points {
			out := point{Time: p.At.UTC().Format(time.RFC3339Nano)}
			if !math.IsNaN(p.Value) && !math.IsInf(p.Value, 0) {
				out.Value = &p.Value
			}
			x.Points = append(x.Points, out)
		}
		lines = append(lines, x)
	}
	object := map[string]any{"type": r.Type, "series": lines, "warnings": append([]string{}, r.Warnings...)}
	if r.Type == "string" {
		object["text"] = r.Text
	}
	return object
}
