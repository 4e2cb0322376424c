package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"iocause/internal/store/series"
)

// server answers on the address that the agent listens on.
type server struct {
	http *http.Server
	at   net.Listener // nil when it does not listen
}

func (s *server) address() string {
	if s.at == nil {
		return "nowhere"
	}
	return s.at.Addr().String()
}

func (s *server) stop() {
	if s.at != nil {
		s.http.Close() // whoever is being answered asks again
	}
}

// Show adds a page for people, and all below it, to what is answered on a loopback
// address; not on any other, for it holds names. It is called before Run.
func (a *Agent) Show(page http.Handler) { a.page = page }

// Recording is what is being written, nil while that is not possible.
func (a *Agent) Recording() *series.Recording { return a.writer.recording() }

// serve listens, if it shall.
func (a *Agent) serve(ctx context.Context) (*server, error) {
	if a.config.Listen == "" {
		return &server{}, nil
	}
	at, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.config.Listen)
	if err != nil {
		return nil, fmt.Errorf("listening for queries: %w", err)
	}
	s := &server{at: at, http: &http.Server{
		Handler:           a.handler(isLoopback(at.Addr())),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 90 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
	}}
	go func() {
		if err := s.http.Serve(at); !errors.Is(err, http.ErrServerClosed) {
			a.log.Error("the agent no longer answers queries", "why", err)
		}
	}()
	return s, nil
}

func isLoopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}

func (a *Agent) handler(local bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		if err := writeText(w, a.latest.snapshot()); err != nil {
			a.log.Debug("writing the metrics", "why", err)
		}
	})
	mux.Handle("/api/v1/", newAPI(a.host.Now, func() series.Database {
		if r := a.writer.recording(); r != nil {
			return r
		}
		return nil
	}))
	if !local {
		return mux
	}
	if a.page != nil {
		mux.Handle("/", a.page)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A page in a browser on this machine could have its own name point
		// here, and read what it is not given.
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "ask for a loopback address or localhost", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}
