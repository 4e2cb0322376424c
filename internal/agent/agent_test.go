package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/require"
	"iocause/internal/store/series"
)

// running is an agent on this machine.
type running struct {
	base string // of its addresses
	log  *require.Output
	stop func() error

	agent *Agent
}

func start(t *testing.T, c Config) *running {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.Listen = l.Addr().String()
	l.Close()
	r := &running{base: "http://" + c.Listen, log: &require.Output{}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	r.agent = New(host.Live(), c, slog.New(slog.NewTextHandler(r.log, nil)), nil, "test")
	go func() { done <- r.agent.Run(ctx) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { r.stop() })
	return r
}

func quickConfig(dir string) Config {
	c := DefaultConfig()
	c.Dir, c.Interval, c.SlowInterval = dir, ShortestInterval, time.Second
	return c
}

// get asks the agent; it is tried for a while, for it may only just start.
func (r *running) get(t *testing.T, path string) (int, string) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get(r.base + path)
		if err != nil {
			if time.Since(began) > 10*time.Second {
				t.Fatal(err, r.log.String())
			}
			continue
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
}

// ask runs an instant query and gives the values.
func (r *running) ask(t *testing.T, expr string) []float64 {
	t.Helper()
	code, body := r.get(t, "/api/v1/query?query="+url.QueryEscape(expr))
	var got struct {
		Status string
		Data   struct{ Result []struct{ Value [2]any } }
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || code != 200 && code != 503 {
		t.Fatalf("%s: %d, %s, %v", expr, code, body, err)
	}
	var out []float64
	for _, x := range got.Data.Result {
		var v float64
		if _, err := fmt.Sscan(x.Value[1].(string), &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func TestAgent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rec")
	a := start(t, quickConfig(dir))
	until(t, "values", func() bool {
		v := a.ask(t, "count_over_time(iocause_mem_free_bytes[1m])")
		return len(v) == 1 && v[0] >= 10
	})
	if v := a.ask(t, "iocause_cpus"); len(v) != 1 || v[0] < 1 {
		t.Errorf("processors %v", v)
	}
	if v := a.ask(t, `iocause_agent_source_up{class="stat"}`); len(v) != 1 || v[0] != 1 {
		t.Errorf("source stat is up: %v", v)
	}
	if v := a.ask(t, "iocause_agent_values_total{class=~'refused|lost'} > 0"); len(v) != 0 {
		t.Errorf("refused or lost: %v", v)
	}
	second := quickConfig(dir)
	second.Listen = ""
	if err := New(host.Live(), second, slog.New(slog.DiscardHandler), nil, "test").Run(t.Context()); err == nil || !strings.Contains(err.Error(), "another agent") {
		t.Errorf("a second agent: %v", err)
	}
	checkText(t, a)
	checkAPI(t, a)
	checkGrafana(t, a)
	asked := time.Now()
	if err := a.stop(); err != nil || !strings.Contains(a.log.String(), "has stopped") || strings.Contains(a.log.String(), "lost") {
		t.Errorf("%v\n%s", err, a.log)
	}
	r, err := series.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if before := asked.Sub(r.Newest(0)); before > 5*time.Second {
		t.Errorf("the recording ends %v before the agent was asked to stop", before)
	}
}

func checkText(t *testing.T, a *running) {
	code, body := a.get(t, "/metrics")
	if code != 200 || !strings.Contains(body, "\n# TYPE iocause_psi_some_seconds_total counter\n") ||
		!strings.Contains(body, `iocause_psi_some_seconds_total{class="io"} `) {
		t.Errorf("%d\n%s", code, body)
	}
	promtool(t, body, "check", "metrics")
	req, err := http.NewRequest("GET", a.base+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "attacker.example"
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("by another name: %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
}

// promtool runs it, which must have nothing to say but that all is well.
func promtool(t *testing.T, input string, args ...string) {
	t.Helper()
	tool, err := exec.LookPath("promtool")
	if err != nil && lab.Demanded("promtool") {
		t.Fatal(err)
	} else if err != nil {
		t.Log("promtool is not here to check")
		return
	}
	c := exec.Command(tool, args...)
	c.Stdin = strings.NewReader(input)
	out, err := c.CombinedOutput()
	if err != nil || len(out) > 0 && !strings.Contains(string(out), "SUCCESS") {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

func checkAPI(t *testing.T, a *running) {
	now := time.Now().Unix()
	span := fmt.Sprintf("&start=%d&end=%d&step=1", now-5, now)
	for path, want := range map[string]string{
		"/api/v1/query?query=1%2B1":                                     `"resultType":"scalar"`,
		"/api/v1/query?query=%22x%22":                                   `"resultType":"string"`,
		"/api/v1/query_range?query=iocause_cpus" + span:                 `"resultType":"matrix"`,
		"/api/v1/series?match[]=iocause_cpus":                           `[{"__name__":"iocause_cpus"}]`,
		"/api/v1/labels?match[]=iocause_psi_some_seconds_total":         `["__name__","class"]`,
		"/api/v1/label/class/values?match[]={__name__=~'.*psi_some.*'}": `["cpu","io","memory"]`,
		"/api/v1/metadata?metric=iocause_cpus":                          `"type":"gauge"`,
		"/api/v1/metadata?limit=1":                                      `"data":{"iocause_`,
		"/api/v1/status/buildinfo":                                      `"version"`,
		"/api/v1/rules":                                                 `"data":{"groups":[]}`,
		"/api/v1/alerts":                                                `"data":{"alerts":[]}`,
		"/api/v1/query_exemplars?query=iocause_cpus" + span:             `"data":[]`,
		"/api/v1/labels?limit=1":                                        `"data":["__name__"],"status":"success","warnings":["results truncated due to limit"]`,
		"/api/v1/series?match[]={__name__=~'.*'}&limit=2":               `"warnings":["results truncated due to limit"]`,
		"/api/v1/query_range?query=1&start=1&end=172801&step=1d":        `"values":[[1,"1"],[86401,"1"],[172801,"1"]]`,
	} {
		if code, body := a.get(t, path); code != 200 || !strings.Contains(body, want) || !strings.Contains(body, `"status":"success"`) {
			t.Errorf("%s: %d, %s, want %s", path, code, body, want)
		}
	}
	for path, want := range map[string]string{
		"/api/v1/query?query=rate(":                              `at character 6`,
		"/api/v1/query?query=1&time=soon":                        `is not a time`,
		"/api/v1/query?query=1&timeout=soon":                     `not a valid timeout`,
		"/api/v1/query_range?query=iocause_cpus[5m]" + span:      `"errorType":"bad_data"`,
		"/api/v1/query_range?query=1":                            `start or end is missing`,
		"/api/v1/query_range?query=1&start=5&end=1&step=1":       `before the start`,
		"/api/v1/query_range?query=1&start=0&end=9999999&step=1": `points`,
		"/api/v1/query_range?query=1&start=1&end=2&step=0":       `above zero`,
		"/api/v1/series": `match[] is missing`,
		"/api/v1/query_range?query=1&start=1&end=2&step=1x": `is not a step`,
		"/api/v1/labels?limit=some":                         `is not a limit`,
		"/api/v1/metadata?limit=-1":                         `is not a limit`,
		"/api/v1/targets":                                   `does not exist here`,
	} {
		if code, body := a.get(t, path); code < 400 || code >= 500 || !strings.Contains(body, want) || !strings.Contains(body, `"status":"error"`) {
			t.Errorf("%s: %d, %s, want %s", path, code, body, want)
		}
	}
}

// checkGrafana asks as Grafana does by default: with forms, and of any time. Its
// test of a data source is 1+1 at the fourth second of 1970.
func checkGrafana(t *testing.T, a *running) {
	now := time.Now()
	times := url.Values{"start": {fmt.Sprintf("%.3f", float64(now.Add(-time.Minute).UnixMilli())/1000)}, "end": {fmt.Sprintf("%.3f", float64(now.UnixMilli())/1000)}}
	for _, c := range []struct {
		path string
		form url.Values
		want []string
	}{
		{"query", url.Values{"query": {"1+1"}, "time": {"4"}, "timeout": {"60s"}}, []string{`"resultType":"scalar"`, `"result":[4,"2"]`}},
		{"query", url.Values{"query": {"iocause_cpus"}}, []string{`"resultType":"vector"`, `"metric":{"__name__":"iocause_cpus"}`}},
		{"query_range", url.Values{"query": {"iocause_cpus"}, "step": {"0.5"}}, []string{`"resultType":"matrix"`, `"values":[[`}},
		{"query_exemplars", url.Values{"query": {"iocause_cpus"}}, []string{`"data":[]`}},
		{"series", url.Values{"match[]": {"iocause_cpus", "iocause_mem_free_bytes"}, "limit": {"40000"}}, []string{`"iocause_cpus"`, `"iocause_mem_free_bytes"`}},
		{"labels", url.Values{"match[]": {`iocause_psi_some_seconds_total{class="io"}`}}, []string{`"data":["__name__","class"]`}},
	} {
		for name, v := range times {
			if c.form.Get("time") == "" {
				c.form[name] = v
			}
		}
		resp, err := http.PostForm(a.base+"/api/v1/"+c.path, c.form)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
			t.Errorf("%s: %v, %d, %s", c.path, err, resp.StatusCode, body)
		}
		for _, want := range append(c.want, `"status":"success"`) {
			if !strings.Contains(string(body), want) {
				t.Errorf("%s: %s, want %s", c.path, body, want)
			}
		}
	}
	resp, err := http.PostForm(a.base+"/api/v1/query", url.Values{"query": {"rate("}})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	var problem struct{ Status, ErrorType, Error string }
	if err = errors.Join(err, json.Unmarshal(body, &problem)); err != nil || resp.StatusCode != 400 || problem.Status != "error" ||
		problem.ErrorType != "bad_data" || problem.Error == "" {
		t.Errorf("%v, %d, %s", err, resp.StatusCode, body)
	}
	// Grafana takes what has features for another product.
	var build struct {
		Data struct {
			Version  string
			Features map[string]string
		}
	}
	if _, body := a.get(t, "/api/v1/status/buildinfo"); json.Unmarshal([]byte(body), &build) != nil || build.Data.Version == "" || len(build.Data.Features) > 0 {
		t.Errorf("%s", body)
	}
}

// The directory goes away and comes back: what is measured meanwhile waits in
// memory, and what is lost is said.
func TestAgentOutlivesItsDirectory(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "rec")
	a := start(t, quickConfig(dir))
	until(t, "values", func() bool { return len(a.ask(t, "iocause_cpus")) == 1 })
	if err := os.Rename(dir, filepath.Join(parent, "away")); err != nil {
		t.Fatal(err)
	}
	// A file in its place: it cannot be made anew either.
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, "the loss to be said", func() bool { return strings.Contains(a.log.String(), "the history is lost; a new one begins") })
	until(t, "the agent to say that it cannot write", func() bool {
		_, body := a.get(t, "/metrics")
		return strings.Contains(body, "iocause_agent_writable 0") && !strings.Contains(body, "iocause_agent_waiting 0\n")
	})
	if code, _ := a.get(t, "/api/v1/query?query=1"); code != http.StatusServiceUnavailable {
		t.Errorf("a query meanwhile: %d", code)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	until(t, "values in the new recording", func() bool {
		v := a.ask(t, "count_over_time(iocause_cpus[1m])")
		return len(v) == 1 && v[0] > 10
	})
	if err := a.stop(); err != nil {
		t.Error(err)
	}
	if strings.Contains(a.log.String(), "values were lost") {
		t.Errorf("what waited in memory was not written:\n%s", a.log)
	}
}

func TestHostileLabelsInText(t *testing.T) {
	var b bytes.Buffer
	s := series.New("iocause_cpus", series.Label{Name: "class", Value: "a\"b\\c\nd"})
	if err := writeText(&b, map[*series.Series]at{s: {value: 1}}); err != nil {
		t.Fatal(err)
	}
	if want := `iocause_cpus{class="a\"b\\c\nd"} 1` + "\n"; !strings.HasSuffix(b.String(), want) || strings.Count(b.String(), "\n") != 3 {
		t.Errorf("%q", b.String())
	}
}

// The page is there on loopback addresses alone, and by their names alone.
func TestPageOnLoopbackAlone(t *testing.T) {
	a := New(host.Live(), quickConfig(t.TempDir()), slog.New(slog.DiscardHandler), nil, "test")
	a.Show(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "names") }))
	for _, c := range []struct {
		local bool
		host  string
		code  int
	}{{true, "127.0.0.1:9464", 200}, {true, "localhost:9464", 200}, {true, "[::1]:9464", 200}, {true, "attacker.example:9464", 403}, {false, "127.0.0.1:9464", 404}, {false, "db1:9464", 404}} {
		r, w := httptest.NewRequest("GET", "/page/now", nil), httptest.NewRecorder()
		r.Host = c.host
		a.handler(c.local).ServeHTTP(w, r)
		if w.Code != c.code || c.code != 200 && strings.Contains(w.Body.String(), "names") {
			t.Errorf("%+v: %d %s", c, w.Code, w.Body)
		}
	}
}

// What was found last is known, also when it is over.
func TestVerdictStays(t *testing.T) {
	a := New(host.Live(), quickConfig(t.TempDir()), slog.New(slog.DiscardHandler), nil, "test")
	if v := a.Verdict(); v.Report != nil {
		t.Errorf("before the first check: %+v", v)
	}
	a.verdicts.set(json.RawMessage(`{"primary": "healthy"}`), ofLook)
	a.verdicts.set(json.RawMessage(`{"primary": "cold-cache"}`), ofIncident)
	a.verdicts.set(nil, ofLook) // one that was stopped
	a.verdicts.end()
	if v := a.Verdict(); v.Of != ofIncident || string(v.Report) != `{"primary": "cold-cache"}` {
		t.Errorf("%s, %s", v.Of, v.Report)
	}
}
