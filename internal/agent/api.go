package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"iocause/internal/store/series"
)

// api is the part of the Prometheus query API that a data source needs
// (https://prometheus.io/docs/prometheus/latest/querying/api/).
type api struct {
	now func() time.Time
	db  func() series.Database // nil while there is none

	// turn is whose query is answered: one after the other, for the memory that
	// each takes is the agent's.
	turn chan struct{}
}

// problem is an answer that is an error.
type problem struct {
	status     int
	kind, what string
}

func (p *problem) Error() string { return p.what }

func badData(format string, args ...any) *problem {
	return &problem{http.StatusBadRequest, "bad_data", fmt.Sprintf(format, args...)}
}

// answer is what a handler gives.
type answer struct {
	data     any
	warnings []string
}

func newAPI(now func() time.Time, db func() series.Database) http.Handler {
	a := &api{now: now, db: db, turn: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	for path, f := range map[string]func(series.Database, *http.Request) (answer, error){
		"query": a.query, "query_range": a.queryRange, "series": a.series, "labels": a.labels,
		"label/{name}/values": a.values,
	} {
		mux.HandleFunc("/api/v1/"+path, a.handle(f))
	}
	mux.HandleFunc("/api/v1/metadata", func(w http.ResponseWriter, r *http.Request) {
		most, err := limit(r.FormValue("limit"))
		write(w, answer{data: metadata(r.FormValue("metric"), most)}, err)
	})
	for path, none := range map[string]any{ // what Grafana asks of any Prometheus, and there is none of here
		"rules": map[string]any{"groups": []any{}}, "alerts": map[string]any{"alerts": []any{}}, "query_exemplars": []any{},
	} {
		mux.HandleFunc("/api/v1/"+path, func(w http.ResponseWriter, _ *http.Request) { write(w, answer{data: none}, nil) })
	}
	mux.HandleFunc("/api/v1/status/buildinfo", func(w http.ResponseWriter, _ *http.Request) {
		// The version of Prometheus whose language and API this is.
		write(w, answer{data: map[string]string{"version": "3.15.0", "application": "iocause", "goVersion": runtime.Version()}}, nil)
	})
	mux.HandleFunc("/api/v1/", func(w http.ResponseWriter, r *http.Request) {
		write(w, answer{}, &problem{http.StatusNotFound, "not_found", r.URL.Path + " does not exist here"})
	})
	return mux
}

func (a *api) handle(f func(series.Database, *http.Request) (answer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodPost {
			write(w, answer{}, &problem{http.StatusMethodNotAllowed, "bad_data", "use GET or POST"})
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
		if err := r.ParseForm(); err != nil {
			write(w, answer{}, badData("reading the parameters: %v", err))
			return
		}
		db := a.db()
		if db == nil {
			write(w, answer{}, &problem{http.StatusServiceUnavailable, "unavailable", "the history cannot be read at the moment"})
			return
		}
		select {
		case a.turn <- struct{}{}:
		case <-r.Context().Done():
			return // nobody waits for it any more
		}
		out, err := func() (answer, error) {
			defer func() { <-a.turn }() // also where it panics, which the server outlives
			return f(db, r)
		}()
		write(w, out, err)
	}
}

// write writes the envelope that all answers have.
func write(w http.ResponseWriter, a answer, err error) {
	w.Header().Set("Content-Type", "application/json")
	body := map[string]any{"status": "success", "data": a.data}
	if len(a.warnings) > 0 {
		body["warnings"] = a.warnings
	}
	if err != nil {
		p := asProblem(err)
		body = map[string]any{"status": "error", "errorType": p.kind, "error": p.what}
		w.WriteHeader(p.status)
	}
	_ = json.NewEncoder(w).Encode(body) // the client has gone: there is nobody to tell
}

func asProblem(err error) *problem {
	var p *problem
	var q *series.QueryError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &q), errors.Is(err, series.ErrTooMany):
		return badData("%v", err)
	case errors.Is(err, series.ErrTimeout):
		return &problem{http.StatusServiceUnavailable, "timeout", err.Error()}
	case errors.Is(err, series.ErrClosed):
		return &problem{http.StatusServiceUnavailable, "unavailable", err.Error()}
	}
	return &problem{http.StatusUnprocessableEntity, "execution", err.Error()}
}

func (a *api) query(db series.Database, r *http.Request) (answer, error) {
	at, err := Instant(r.Form.Get("time"), a.now())
	if err != nil {
		return answer{}, err
	}
	return a.ask(db, r, series.Query{Expr: r.Form.Get("query"), To: at})
}

func (a *api) queryRange(db series.Database, r *http.Request) (answer, error) {
	from, err := Instant(r.Form.Get("start"), time.Time{})
	if err != nil {
		return answer{}, err
	}
	to, err := Instant(r.Form.Get("end"), time.Time{})
	if err != nil {
		return answer{}, err
	}
	if from.IsZero() || to.IsZero() {
		return answer{}, badData("start or end is missing")
	}
	step, err := duration(r.Form.Get("step"))
	switch {
	case err != nil:
		return answer{}, err
	case to.Before(from):
		return answer{}, badData("the end is before the start")
	case step <= 0:
		return answer{}, badData("the step must be above zero")
	}
	return a.ask(db, r, series.Query{Expr: r.Form.Get("query"), From: from, To: to, Step: step})
}

func (a *api) ask(db series.Database, r *http.Request, q series.Query) (answer, error) {
	ctx := r.Context()
	if given := r.Form.Get("timeout"); given != "" {
		d, err := duration(given)
		if err != nil {
			return answer{}, badData("%q is not a valid timeout", given)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	out, err := db.Query(ctx, q)
	if err != nil {
		return answer{}, err
	}
	return answer{map[string]any{"resultType": out.Type, "result": encode(out)}, out.Warnings}, nil
}

// encode is a result as the API has it: numbers are strings, for JSON knows no
// infinity.
func encode(r *series.Result) any {
	pair := func(p series.Point) [2]any {
		return [2]any{float64(p.At.UnixMilli()) / 1000, number(p.Value)}
	}
	switch r.Type {
	case "scalar":
		return pair(r.Lines[0].Points[0])
	case "string":
		return [2]any{float64(r.Lines[0].Points[0].At.UnixMilli()) / 1000, r.Text}
	}
	out := make([]map[string]any, 0, len(r.Lines))
	for _, l := range r.Lines {
		if r.Type == "vector" {
			out = append(out, map[string]any{"metric": metric(l), "value": pair(l.Points[0])})
			continue
		}
		values := make([][2]any, 0, len(l.Points))
		for _, p := range l.Points {
			values = append(values, pair(p))
		}
		out = append(out, map[string]any{"metric": metric(l), "values": values})
	}
	return out
}

func number(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func metric(l series.Line) map[string]string {
	out := map[string]string{}
	if l.Name != "" {
		out["__name__"] = l.Name
	}
	for _, x := range l.Labels {
		out[x.Name] = x.Value
	}
	return out
}

func (a *api) series(db series.Database, r *http.Request) (answer, error) {
	if len(r.Form["match[]"]) == 0 {
		return answer{}, badData("match[] is missing")
	}
	from, to, err := a.span(r)
	if err != nil {
		return answer{}, err
	}
	lines, err := db.Find(r.Context(), r.Form["match[]"], from, to)
	out := make([]map[string]string, 0, len(lines))
	for _, l := range lines {
		out = append(out, metric(l))
	}
	return listed(r, out, err)
}

// listed is a list as far as the request wants it, which is said.
func listed[T any](r *http.Request, all []T, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	most, err := limit(r.Form.Get("limit"))
	if err != nil {
		return answer{}, err
	}
	out := answer{data: append([]T{}, all...)}
	if most > 0 && len(all) > most {
		out.data, out.warnings = all[:most], []string{"results truncated due to limit"}
	}
	return out, nil
}

// limit reads how many entries of a list are wanted, 0 for all.
func limit(s string) (int, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0, badData("%q is not a limit: give a number, or 0 for none", s)
	}
	return n, nil
}

func (a *api) labels(db series.Database, r *http.Request) (answer, error) {
	from, to, err := a.span(r)
	if err != nil {
		return answer{}, err
	}
	out, err := db.LabelNames(r.Context(), r.Form["match[]"], from, to)
	return listed(r, out, err)
}

func (a *api) values(db series.Database, r *http.Request) (answer, error) {
	from, to, err := a.span(r)
	if err != nil {
		return answer{}, err
	}
	out, err := db.LabelValues(r.Context(), r.PathValue("name"), r.Form["match[]"], from, to)
	return listed(r, out, err)
}

// span is the time that a list is asked for, all there is without one.
func (a *api) span(r *http.Request) (from, to time.Time, err error) {
	first, last := series.Ever()
	if from, err = Instant(r.Form.Get("start"), first); err != nil {
		return from, to, err
	}
	to, err = Instant(r.Form.Get("end"), last)
	return from, to, err
}

// metadata says what metrics are, one of them, or so many; 0 is all.
func metadata(only string, most int) map[string][]map[string]string {
	out := map[string][]map[string]string{}
	all := describe()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if most > 0 && len(out) == most {
			break
		}
		if only == "" || name == only {
			out[name] = []map[string]string{{"type": all[name].kind, "help": all[name].help, "unit": ""}}
		}
	}
	return out
}

// Instant reads seconds since 1970 or RFC 3339.
func Instant(s string, otherwise time.Time) (time.Time, error) {
	if s == "" {
		return otherwise, nil
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < 1e12 {
		return time.UnixMilli(int64(math.Round(f * 1000))), nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return t, badData("%q is not a time: give seconds since 1970 or RFC 3339", s)
	}
	return t, nil
}

// duration reads seconds or a time with a unit.
func duration(s string) (time.Duration, error) {
	if f, err := strconv.ParseFloat(s, 64); err == nil && f < 1e9 && f > -1e9 {
		return time.Duration(f * float64(time.Second)), nil
	}
	const day = 24 * time.Hour
	var long time.Duration // units that Prometheus has beside those of Go
	rest := s
	for _, unit := range []struct {
		name string
		is   time.Duration
	}{{"y", 365 * day}, {"w", 7 * day}, {"d", day}} {
		before, after, found := strings.Cut(rest, unit.name)
		if n, err := strconv.ParseUint(before, 10, 16); found && err == nil {
			long, rest = long+time.Duration(n)*unit.is, after
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil && (rest != "" || long == 0) {
		return d, badData("%q is not a step: give seconds, or a time such as 30s", s)
	}
	return long + d, nil
}
