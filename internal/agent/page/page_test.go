package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/agent"
	"iocause/internal/host"
	"iocause/internal/picture"
	"iocause/internal/replay"
	"iocause/internal/store/incidents"
	"iocause/internal/store/series"
)

// shown is the page of what a real agent kept around an incident.
type shown struct {
	http.Handler
	key     string
	o       Options
	written func(context.Context, io.Writer, Ask) error
}

func show(t *testing.T) *shown {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "agent")
	if err := os.CopyFS(dir, os.DirFS("../../cli/testdata/golden/agent")); err != nil {
		t.Fatal(err)
	}
	kept, err := series.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kept.Close() })
	x, err := incidents.Load(filepath.Join(dir, replay.IncidentsIn), 1)
	if err != nil {
		t.Fatal(err)
	}
	s := &shown{}
	h := host.Live()
	h.Now = func() time.Time { return time.Date(2026, 11, 23, 2, 6, 50, 0, time.UTC) }
	s.o = Options{Dir: dir, Program: "iocause test", Host: h,
		Verdict:   func() agent.Verdict { return agent.Verdict{Of: "incident", Report: x.Finding} },
		Recording: func() replay.Series { return kept },
		Report:    func(ctx context.Context, w io.Writer, ask Ask) error { return s.written(ctx, w, ask) }}
	if err := Prepare(dir); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	s.key, s.Handler = strings.TrimSpace(string(b)), New(s.o)
	return s
}

// get asks with the key; head are further lines of the request.
func (s *shown) get(path string, head ...string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest("GET", path, nil), httptest.NewRecorder()
	r.Host = "127.0.0.1:9464"
	r.SetBasicAuth("any", s.key)
	for i := 0; i < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	s.ServeHTTP(w, r)
	return w
}

func TestIndex(t *testing.T) {
	s := show(t)
	w := s.get("/")
	if w.Code != 200 || !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d, %v", w.Code, w.Header())
	}
	for _, want := range []string{">PROBLEM<", "<code>cgroup-cache-limit</code>", "<bdi>fio</bdi> (pid 24465)", "2 processors", "of the last minute", "<bdi>vda</bdi>",
		`id="incident-1"`, "2026-11-23 02:06:37", "checkout is slow", "because an incident began", "times of UTC"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	for path, want := range map[string]string{"/page/now": `id="now-verdict"`, "/page/incidents": `id="incident-1"`, "/page/script.js": "drawChart", "/page/charts.js": "uPlot", "/page/style.css": ".uplot"} {
		if w := s.get(path); w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %.200s", path, w.Code, w.Body)
		}
	}
	if w := s.get("/nothing"); w.Code != 404 {
		t.Errorf("what is not there: %d", w.Code)
	}
	s.o.Verdict = func() agent.Verdict { return agent.Verdict{} }
	s.Handler = New(s.o)
	if w := s.get("/page/now"); !strings.Contains(w.Body.String(), "NOT JUDGED") || !strings.Contains(w.Body.String(), "No diagnosis since") {
		t.Errorf("before the first check: %s", w.Body)
	}
}

// Nobody sees names without the key, and no page but its own asks for them.
func TestWhoMaySee(t *testing.T) {
	s := show(t)
	info, err := os.Stat(filepath.Join(s.o.Dir, KeyFile))
	if err != nil || info.Mode().Perm() != 0o600 || len(s.key) < 26 {
		t.Errorf("the key has %d characters in a file of mode %v, %v", len(s.key), info.Mode(), err)
	}
	again := key{path: filepath.Join(s.o.Dir, KeyFile)}
	if text, err := again.get(); err != nil || text != s.key {
		t.Errorf("the next agent has another key: %v", err)
	}
	for _, c := range []struct {
		path string
		head []string
		code int
	}{
		{"/page/now", []string{"Authorization", ""}, 401},
		{"/", []string{"Authorization", "Basic YTpi"}, 401},
		{"/page/now", []string{"Origin", "http://127.0.0.1:9464"}, 200},
		{"/page/now", []string{"Origin", "http://attacker.example"}, 403},
		{"/page/now", []string{"Origin", "null"}, 403},
		{"/page/now", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"/page/now", []string{"Sec-Fetch-Site", "none"}, 200},
		{"/page/now", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"/page/report?incident=1", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "document"}, 403},
		{"/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "document"}, 200}, // a link in a ticket
		{"/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "iframe"}, 403},
	} {
		w := s.get(c.path, c.head...)
		if w.Code != c.code || c.code != 200 && strings.Contains(w.Body.String(), "fio") {
			t.Errorf("%s %v: %d, want %d", c.path, c.head, w.Code, c.code)
		}
		if c.code == 401 && (w.Header().Get("WWW-Authenticate") == "" || !strings.Contains(w.Body.String(), "sudo cat "+s.o.Dir)) {
			t.Errorf("it is not said how to get in: %s", w.Body)
		}
	}
	r, w := httptest.NewRequest("POST", "/page/now", nil), httptest.NewRecorder()
	r.SetBasicAuth("any", s.key)
	if s.ServeHTTP(w, r); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

// A span has the drawings of the machine and of who did what, with the incident
// marked.
func TestSpan(t *testing.T) {
	s := show(t)
	w := s.get("/page/span?from=2026-11-23T02:06:20Z&to=2026-11-23T02:06:50Z")
	var d Drawn
	if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || w.Code != 200 || len(d.Sets) != 2 {
		t.Fatalf("%d, %v, %.300s", w.Code, err, w.Body)
	}
	charts := map[string]picture.Chart{}
	for _, set := range d.Sets {
		for _, c := range set.Charts {
			charts[c.Key] = c
			if c.Source == "" || len(c.Lines[0].Values) != len(set.Begin) {
				t.Errorf("%s: source %q, %d values in %d columns", c.Key, c.Source, len(c.Lines[0].Values), len(set.Begin))
			}
		}
		if len(set.Marks) != 1 || set.Marks[0].Name != "incident 1" || !set.Start.Add(time.Duration(set.Marks[0].From)*time.Second).Truncate(time.Second).Equal(time.Date(2026, 11, 23, 2, 6, 37, 0, time.UTC)) {
			t.Errorf("%s: marks %+v from %v", set.Title, set.Marks, set.Start)
		}
	}
	for _, want := range []string{"pressure", "cpu", "memory", "device:vda:latency", "device:vda:bytes", "who:bytes", "who:cpu"} {
		if charts[want].Key == "" {
			t.Errorf("no chart %s", want)
		}
	}
	// 1.43 GiB in the six seconds that were watched of a column of ten
	if l := charts["who:bytes"].Lines; len(l) == 0 || l[0].Name != "fio" || math.Abs(l[0].Values[0]-254.6e6) > 0.1e6 {
		t.Errorf("who read: %+v", l)
	}
	if !strings.Contains(d.Who, "24465") || !strings.Contains(d.Who, "1.43 GiB") {
		t.Errorf("tables: %.400s", d.Who)
	}
	for _, bad := range []string{"from=yesterday", "from=2026-11-23T02:06:49Z", "from=1000&to=2000000000", "from=NaN"} {
		if w := s.get("/page/span?" + bad); w.Code != 400 {
			t.Errorf("%s: %d %.200s", bad, w.Code, w.Body)
		}
	}
	if w := s.get("/page/span?from=2026-11-22T02:06:00Z&to=2026-11-22T03:00:00Z"); w.Code != 200 || !strings.Contains(w.Body.String(), "it has nothing from") {
		t.Errorf("when nothing was recorded: %d %.300s", w.Code, w.Body)
	}
	s.o.Recording = func() replay.Series { return nil }
	s.Handler = New(s.o)
	if w := s.get("/page/span"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("while the disk hangs: %d", w.Code)
	}
	if w := s.get("/"); w.Code != 200 || !strings.Contains(w.Body.String(), "cannot be read at the moment") {
		t.Errorf("while the disk hangs the page itself is not there: %d", w.Code)
	}
}

// A report is another document, without rights to the page, and no larger than the
// agent can hold.
func TestReport(t *testing.T) {
	s := show(t)
	var asked Ask
	s.written = func(_ context.Context, w io.Writer, ask Ask) error {
		asked = ask
		_, err := fmt.Fprint(w, "<p>report")
		return err
	}
	w := s.get("/page/report?incident=1", "Sec-Fetch-Site", "same-origin")
	if w.Code != 200 || asked.Incident != 1 || w.Body.String() != "<p>report" || !strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "sandbox allow-scripts") || strings.Contains(w.Header().Get("Content-Security-Policy"), "allow-same-origin") {
		t.Errorf("%d, asked %+v, %v", w.Code, asked, w.Header())
	}
	if w := s.get("/page/report?from=1795399580&to=1795399600.5"); w.Code != 200 || asked.Incident != 0 || asked.From.Unix() != 1795399580 {
		t.Errorf("%d, asked %+v", w.Code, asked)
	}
	for _, bad := range []string{"incident=-1", "incident=x", "from=x"} {
		if w := s.get("/page/report?" + bad); w.Code != 400 {
			t.Errorf("%s: %d", bad, w.Code)
		}
	}
	s.written = func(_ context.Context, w io.Writer, _ Ask) (err error) {
		for i := 0; i < 17 && err == nil; i++ {
			_, err = w.Write(make([]byte, 1<<20))
		}
		return err
	}
	if w := s.get("/page/report?incident=1"); w.Code != 500 || !strings.Contains(w.Body.String(), "larger than 16 MiB") || w.Body.Len() > 1000 {
		t.Errorf("a large one: %d, %d bytes", w.Code, w.Body.Len())
	}
	s.written = func(context.Context, io.Writer, Ask) error { return errors.New("there is no such incident") }
	if w := s.get("/page/report?incident=9"); w.Code != 500 || !strings.Contains(w.Body.String(), "no such incident") || !strings.Contains(w.Header().Get("Content-Security-Policy"), "frame-ancestors 'self'") {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
}

// Files of incidents that cannot be read, and names of any kind, break nothing.
func TestDamagedIncident(t *testing.T) {
	s := show(t)
	if err := os.WriteFile(filepath.Join(s.o.Dir, replay.IncidentsIn, "000002.iocause"), []byte("<script>alert(1)</script>"), 0o600); err != nil {
		t.Fatal(err)
	}
	x, err := incidents.Load(filepath.Join(s.o.Dir, replay.IncidentsIn), 1)
	if err != nil {
		t.Fatal(err)
	}
	const name = "<img src=x onerror=alert(1)>\x1b[2J\u202e"
	x.Meta.Number, x.Meta.Cause, x.Meta.Title, x.Meta.Notes, x.Meta.Open = 3, name, name, []string{name}, true
	x.Meta.Culprit = &incidents.Culprit{Kind: "process", Name: name}
	if err := incidents.Save(filepath.Join(s.o.Dir, replay.IncidentsIn), x); err != nil {
		t.Fatal(err)
	}
	w := s.get("/")
	for _, bad := range []string{"<img", "<script>alert", "\x1b", "\u202e"} {
		if strings.Contains(w.Body.String(), bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	for _, want := range []string{"2 cannot be read", `Incident <a href="#incident-3">3</a> is going on`, "onerror=alert(1)"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}
