package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func ask(url string) *Ask {
	to := time.Unix(1_790_000_000, 0).UTC()
	return &Ask{Endpoint: Endpoint{URL: url, Timeout: 2 * time.Second}, From: to.Add(-time.Hour), To: to, HostLabel: "instance",
		Note: func(string) {}, Progress: func(string) {}}
}

// Whatever an address answers, it is said what is wrong, in words that fit one
// screen, and soon.
func TestBadAnswers(t *testing.T) {
	page := "<html>" + strings.Repeat("sign in ", 10_000)
	endless := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[`)
		for r.Context().Err() == nil {
			if _, err := fmt.Fprint(w, strings.Repeat(`{"metric":{"instance":"a"},"value":[1,"1"]},`, 1000)); err != nil {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"a page":    {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, page) }, `which is not the query API of Prometheus: "<html>sign in`},
		"not found": {func(w http.ResponseWriter, _ *http.Request) { http.NotFound(w, nil) }, "404 Not Found"},
		"refused": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(422)
			fmt.Fprint(w, `{"status":"error","errorType":"execution","error":"query processing would load too many samples"}`)
		}, "too many samples"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}, "302 Found"},
		"half": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"status":"success","data":{"res`)
		}, "cannot be read"},
		"no points": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"status":"success","data":{"result":[{"metric":{},"value":["x","y"]}]}}`)
		}, "is not a point"},
		"nothing": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"status":"success","data":{"result":[]}}`)
		}, "it has no iocause_finding"},
		"too slow": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // before, the server does not see that the other side has gone
			<-r.Context().Done()
		}, "Client.Timeout"},
		"without end":  {endless, "Client.Timeout"},
		"closes early": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(c.answer)
			defer s.Close()
			began := time.Now()
			_, err := Observe(t.Context(), ask(s.URL))
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 1000 {
				t.Errorf("%.2000v, want %q", err, c.want)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestBadQuestions(t *testing.T) {
	for name, change := range map[string]func(*Ask){
		"no scheme":  func(a *Ask) { a.URL = "prometheus:9090" },
		"a password": func(a *Ask) { a.URL = "http://me:secret@prometheus:9090" },
		"no time":    func(a *Ask) { a.From = a.To },
		"a query":    func(a *Ask) { a.Match = `} or vector(1)` },
		"no label":   func(a *Ask) { a.HostLabel = "a b" },
	} {
		a := ask("http://127.0.0.1:1")
		change(a)
		_, err := Observe(t.Context(), a)
		var bad *BadEndpoint
		if !errors.As(err, &bad) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The token goes to the address that was given, a certificate that is not known
// is refused, and one that --ca-file has is taken.
func TestTokenAndCertificates(t *testing.T) {
	var got atomic.Value // the handlers of two requests may run at once
	got.Store("")
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Store(r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"status":"success","warnings":["half of it"],"data":{"result":[{"metric":{"instance":"a","cause":"healthy"},"value":[1790000000,"0"]}]}}`)
	}))
	defer s.Close()
	dir := t.TempDir()
	token, ca := filepath.Join(dir, "token"), filepath.Join(dir, "ca")
	if err := os.WriteFile(token, []byte("word\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := ask(s.URL)
	a.TokenFile = token
	if _, err := Observe(t.Context(), a); err == nil || !strings.Contains(err.Error(), "certificate") || got.Load() != "" {
		t.Errorf("an unknown certificate: %v, token %q", err, got.Load())
	}
	if err := os.WriteFile(ca, certificate(s), 0o600); err != nil {
		t.Fatal(err)
	}
	a.CAFile = ca
	said := ""
	a.Note = func(s string) { said = s }
	f, err := Observe(t.Context(), a)
	if err != nil || got.Load() != "Bearer word" || len(f.Hosts) != 1 || said != "half of it" {
		t.Errorf("%+v %v, token %q, note %q", f, err, got.Load(), said)
	}
	if _, err := Observe(cancelled(t), a); !errors.Is(err, context.Canceled) {
		t.Errorf("after Ctrl-C: %v", err)
	}
}

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
