package agent

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// Fetch says where 'iocause fleet fetch' may ask for a recording; it is off unless an
// address is given, and has to be told a certificate and a token then.
type Fetch struct {
	Listen            string // address, "" for none
	CertFile, KeyFile string // of this host, PEM
	TokenFile         string // who fetches has to show what is in it
}

const (
	// FetchPath is where a recording is asked for, by POST; duration is how long.
	FetchPath = "/v1/recording"
	// FetchType is what the answer is.
	FetchType = "application/vnd.iocause.recording"
	// LongestFetch is how long a recording on demand may take.
	LongestFetch = time.Minute

	leastToken = 16 // bytes of a token
)

// fetches answers those who ask for a recording, one at a time.
type fetches struct {
	config Fetch
	agent  *Agent
	turn   chan struct{}
}

// serveFetches listens, if it shall.
func (a *Agent) serveFetches(ctx context.Context) (*server, error) {
	if a.config.Fetch.Listen == "" {
		return &server{}, nil
	}
	if a.judge == nil {
		return nil, errors.New("listening for 'iocause fleet fetch': nothing can be recorded here")
	}
	f := &fetches{config: a.config.Fetch, agent: a, turn: make(chan struct{}, 1)}
	if _, err := f.token(); err != nil {
		return nil, fmt.Errorf("listening for 'iocause fleet fetch': %w", err)
	}
	certificate := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { // each time: it is renewed now and then
		c, err := tls.LoadX509KeyPair(f.config.CertFile, f.config.KeyFile)
		return &c, err
	}
	if _, err := certificate(nil); err != nil {
		return nil, fmt.Errorf("listening for 'iocause fleet fetch': reading the certificate: %w", err)
	}
	at, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.config.Listen)
	if err != nil {
		return nil, fmt.Errorf("listening for 'iocause fleet fetch': %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+FetchPath, f.answer)
	s := &server{at: tls.NewListener(at, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate}), http: &http.Server{
		Handler: mux, BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: LongestFetch + time.Minute,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}}
	go func() {
		if err := s.http.Serve(s.at); !errors.Is(err, http.ErrServerClosed) {
			a.log.Error("recordings can no longer be fetched", "why", err)
		}
	}()
	a.log.Info("recordings can be fetched", "listen", s.address())
	return s, nil
}

// token is read each time: it may be changed.
func (f *fetches) token() ([]byte, error) {
	b, err := os.ReadFile(f.config.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("reading the token: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if len(token) < leastToken {
		return nil, fmt.Errorf("reading the token: %s holds %d bytes, and %d are the least: head -c 32 /dev/urandom | base64", f.config.TokenFile, len(token), leastToken)
	}
	return []byte(token), nil
}

// answer lets all probes watch for as long as is asked, and sends what they saw.
func (f *fetches) answer(w http.ResponseWriter, r *http.Request) {
	a := f.agent
	token, err := f.token()
	if err != nil {
		a.log.Error("nobody can fetch recordings", "why", err)
		http.Error(w, "this agent cannot read its token", http.StatusServiceUnavailable)
		return
	}
	// Of hashes: neither its length nor how much of it is right can be measured.
	shown := sha256.Sum256([]byte(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
	if want := sha256.Sum256(token); subtle.ConstantTimeCompare(shown[:], want[:]) != 1 {
		a.log.Warn("somebody asked for a recording without the right token", "from", r.RemoteAddr)
		http.Error(w, "the token is not that of this agent", http.StatusUnauthorized)
		return
	}
	length, err := time.ParseDuration(r.URL.Query().Get("duration"))
	if err != nil || length < time.Second || length > LongestFetch {
		http.Error(w, fmt.Sprintf("duration must be from 1s to %v", LongestFetch), http.StatusBadRequest)
		return
	}
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	default:
		http.Error(w, "another recording is being fetched: try again in a minute", http.StatusConflict)
		return
	}
	a.log.Info("a recording is fetched", "from", r.RemoteAddr, "length", length)
	found := a.judge(r.Context(), Ask{Length: length, Look: true})
	if len(found.Sections) != 1 {
		http.Error(w, "nothing could be recorded: "+strings.Join(found.Notes, "; "), http.StatusInternalServerError)
		return
	}
	data := found.Sections[0].Data
	w.Header().Set("Content-Type", FetchType)
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	if _, err := w.Write(data); err != nil {
		a.log.Warn("a recording could not be sent", "to", r.RemoteAddr, "why", err)
	}
}
