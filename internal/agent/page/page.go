// Package page is what the agent shows people on its loopback address: now, the
// last hours, the incidents with their reports, and who did what. It costs nothing
// while nobody looks.
package page

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"iocause/internal/agent"
	"iocause/internal/host"
	"iocause/internal/present/html"
	"iocause/internal/replay"
)

// Options are what a page is made from.
type Options struct {
	Dir     string // the agent's directory
	Program string // and its version
	Host    *host.Host
	Verdict func() agent.Verdict
	// Recording is what is being recorded, nil while it cannot be read.
	Recording func() replay.Series
	// Report writes a report, in a process of its own: it may take more memory than
	// the agent has.
	Report func(context.Context, io.Writer, Ask) error
}

// Ask is what a report is wanted of: an incident, or a span of time.
type Ask struct {
	Incident int // its number; 0 for the span
	From, To time.Time
}

// page answers.
type page struct {
	Options
	key key
	// turn is whose answer is worked out: one after the other, for the memory that
	// each takes is the agent's.
	turn chan struct{}
}

// New is the page and all below it.
func New(o Options) http.Handler {
	p := &page{Options: o, key: key{path: filepath.Join(o.Dir, KeyFile)}, turn: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.index)
	mux.HandleFunc("GET /page/charts.js", file("text/javascript", html.AgentCharts()))
	mux.HandleFunc("GET /page/script.js", file("text/javascript", html.AgentScript()))
	mux.HandleFunc("GET /page/style.css", file("text/css", html.AgentStyle()))
	mux.HandleFunc("GET /page/now", p.nowPart)
	mux.HandleFunc("GET /page/incidents", p.incidentsPart)
	mux.HandleFunc("GET /page/span", p.inTurn(p.span))
	mux.HandleFunc("GET /page/report", p.inTurn(p.report))
	return p.guarded(mux)
}

// Prepare makes the key, so that it is there before anybody asks.
func Prepare(dir string) error {
	_, err := (&key{path: filepath.Join(dir, KeyFile)}).get()
	return err
}

func file(kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind+"; charset=utf-8")
		_, _ = io.WriteString(w, text) // the browser has gone: there is nobody to tell
	}
}

// guarded lets nobody in without the key, and no page of anybody else.
func (p *page) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", html.AgentPolicy)
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if foreign(r) {
			http.Error(w, "only the agent's own page may request this", http.StatusForbidden)
			return
		}
		_, given, _ := r.BasicAuth()
		ok, err := p.key.is(given)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		if !ok {
			h.Set("WWW-Authenticate", `Basic realm="iocause agent", charset="UTF-8"`)
			http.Error(w, "The page shows names of processes, files and cgroups, so it needs a password.\nThe password is in "+p.key.path+":\n\n  sudo cat "+p.key.path+"\n\nAny user name will do.", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// foreign tells whether the page of somebody else asks. A link to the page itself
// is nobody's.
func foreign(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || u.Host != r.Host {
			return true
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return false
	}
	return r.URL.Path != "/" || r.Header.Get("Sec-Fetch-Dest") != "document"
}

// inTurn answers one after the other.
func (p *page) inTurn(f http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case p.turn <- struct{}{}:
		case <-r.Context().Done():
			return // nobody waits for it any more
		}
		defer func() { <-p.turn }() // also where it panics, which the server outlives
		f(w, r)
	}
}
