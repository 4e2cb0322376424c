package notify

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/require"
)

// post tells one alert within a second.
func post(t *testing.T, url, ca string, a Alert) error {
	t.Helper()
	m, err := NewAlertmanager(url, "", ca)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	return m.Post(ctx, []Alert{a})
}

// Whatever answers, the words say what is wrong, and nothing is read without end.
func TestAlertmanagerThatIsNone(t *testing.T) {
	elsewhere := 0
	mux := http.NewServeMux()
	answer := func(path string, do func(http.ResponseWriter, *http.Request)) {
		mux.HandleFunc(path+"/api/v2/alerts", do)
	}
	answer("/html", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("<html>\x1b[2Jno such page"))
	})
	answer("/bad", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `"start time must be before end time"`, http.StatusBadRequest)
	})
	answer("/down", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "down", http.StatusServiceUnavailable) })
	answer("/slow", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // from then on it sees that the other side is gone
		<-r.Context().Done()
	})
	answer("/endless", func(w http.ResponseWriter, _ *http.Request) {
		for range 1 << 20 { // a terabyte
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	})
	answer("/redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/elsewhere", func(http.ResponseWriter, *http.Request) { elsewhere++ })
	s := httptest.NewServer(mux)
	defer s.Close()
	for path, want := range map[string]string{
		"/html": `it answered 404 Not Found; it said "<html>\x1b[2Jno such page"`, "/bad": "it refuses them for good: 400", "/down": "503", "/slow": "deadline", "/endless": "", "/redirect": "307",
	} {
		began := time.Now()
		err := post(t, s.URL+path, "", Alert{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", path, err)
		}
		if errors.Is(err, ErrNotTaken) != (path == "/bad") {
			t.Errorf("%s: for good? %v", path, err)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s took %v", path, took)
		}
	}
	if elsewhere != 0 {
		t.Error("the alert was taken elsewhere")
	}
}

// A certificate that nobody vouches for is refused; one of the file that is given
// is not.
func TestAlertmanagersCertificate(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	if err := post(t, s.URL, "", Alert{}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%v", err)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	if err := post(t, s.URL, ca, Alert{}); err != nil {
		t.Error(err)
	}
	if _, err := NewAlertmanager(s.URL, "", os.DevNull); err == nil {
		t.Error("a file without certificates is taken")
	}
}

// An Alertmanager whose clock is behind by minutes is told of an end that is one
// for it, from its first answer on.
func TestAlertmanagersClock(t *testing.T) {
	var ends []time.Time
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var got []postable
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil || got[0].EndsAt == nil {
			t.Errorf("%v %+v", err, got)
			return
		}
		ends = append(ends, *got[0].EndsAt)
		w.Header().Set("Date", time.Now().Add(-5*time.Minute).UTC().Format(http.TimeFormat))
	}))
	defer s.Close()
	m, err := NewAlertmanager(s.URL, "", "")
	require.NoError(t, err)
	end := time.Now()
	for range 2 {
		require.NoError(t, m.Post(t.Context(), []Alert{{Start: end.Add(-time.Minute), End: end}}))
	}
	if off := end.Sub(ends[1]) - 5*time.Minute; !ends[0].Equal(end) || off.Abs() > 30*time.Second {
		t.Errorf("ends %v, told %v", end, ends)
	}
}
