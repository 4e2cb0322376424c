package agent

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"
	"google.golang.org/protobuf/proto"

	"iocause/internal/notify"
)

// logReceiver unpacks log records with the protocol's own messages.
type logReceiver struct {
	t *testing.T

	mu   sync.Mutex
	down bool
	got  []string // event and cause
	last *collector.ExportLogsServiceRequest
}

func (r *logReceiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down || err != nil || q.Context().Err() != nil { // who was killed hears no answer
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		r.t.Error(err)
		return
	}
	raw, err := io.ReadAll(z)
	var got collector.ExportLogsServiceRequest
	if err != nil || q.URL.Path != "/v1/logs" || proto.Unmarshal(raw, &got) != nil {
		r.t.Errorf("%v %s", err, q.URL)
	}
	for _, x := range got.ResourceLogs[0].ScopeLogs[0].LogRecords {
		cause := ""
		for _, kv := range x.Attributes {
			if kv.Key == "iocause.cause" {
				cause = kv.Value.GetStringValue()
			}
		}
		r.got = append(r.got, strings.TrimSpace(x.EventName+" "+cause))
	}
	r.last = &got
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (r *logReceiver) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// eventsOf sends to the receiver, until it is killed.
func eventsOf(t *testing.T, url, dir string) (e *events, kill func()) {
	t.Helper()
	c := DefaultConfig()
	c.Dir, c.OTLP.URL, c.OTLP.Labels = dir, url, map[string]string{"deployment.environment.name": "lab"}
	k := newKeeper(slog.New(slog.DiscardHandler))
	e = newEvents(&c, "db1", k.log, time.Now, k.put)
	e.soon = 20 * time.Millisecond
	return e, untilKilled(t, k.run, e.run)
}

// What happens to incidents arrives in order and once, also what happened while
// nobody took it and the agent was started anew.
func TestEventsArriveOnce(t *testing.T) {
	to := &logReceiver{t: t}
	server := httptest.NewServer(to)
	defer server.Close()
	dir, start := t.TempDir(), time.Now()
	e, kill := eventsOf(t, server.URL, dir)
	opened := slowServer(start, true)
	opened.Cause, opened.Title, opened.Culprit = "", "", nil
	e.tell(notify.Open, opened)
	waitUntil(t, "the first event", func() bool { return len(to.all()) == 1 })
	to.mu.Lock()
	to.down = true
	to.mu.Unlock()
	e.tell(notify.Judged, slowServer(start, true))
	time.Sleep(100 * time.Millisecond)
	kill()
	e, _ = eventsOf(t, server.URL, dir)
	e.tell(notify.Close, slowServer(start, false))
	to.mu.Lock()
	to.down = false
	to.mu.Unlock()
	want := []string{"iocause.incident.open", "iocause.incident.judged remote-server-slow", "iocause.incident.close remote-server-slow"}
	waitUntil(t, "what waited", func() bool { return len(to.all()) >= len(want) })
	time.Sleep(100 * time.Millisecond)
	if got := to.all(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	resource, record := to.last.ResourceLogs[0].Resource.String(), to.last.ResourceLogs[0].ScopeLogs[0].LogRecords[0]
	for _, want := range []string{"host.name", "db1", "service.name", "deployment.environment.name"} {
		if !strings.Contains(resource, want) {
			t.Errorf("resource %s lacks %s", resource, want)
		}
	}
	if said := record.String(); !strings.Contains(said, "iocause incident 3") || !strings.Contains(said, hashed("server", "nfs1:/export\x1b[2J")) || strings.Contains(said, "\x1b") {
		t.Errorf("record %s", said)
	}
}

// What is no receiver of logs is not believed; what it refuses for good holds up
// nothing.
func TestNoReceiverOfEvents(t *testing.T) {
	for want, answer := range map[string]http.HandlerFunc{
		"not an answer of an OTLP receiver": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>welcome") },
		"it answered 404":                   http.NotFound,
		notify.ErrNotTaken.Error():          func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad", http.StatusBadRequest) },
	} {
		server := httptest.NewServer(answer)
		l := notify.Logs{URL: server.URL + "/v1/logs", Client: server.Client()}
		if err := l.Post(t.Context(), []notify.Record{{At: time.Now()}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		server.Close()
	}
}

func TestOTLPConfig(t *testing.T) {
	c, err := parseConfig("x.yaml", []byte("otlp: {url: \"http://c:4318/\", metrics: false, every: 30s, labels: {zone: a}, token_file: /t}\n"))
	if err != nil || c.OTLP.Metrics || !c.OTLP.Logs || c.OTLP.endpoint("logs") != "http://c:4318/v1/logs" || c.OTLP.Every != 30*time.Second || c.OTLP.Labels["zone"] != "a" || c.OTLP.TokenFile != "/t" {
		t.Errorf("%+v, %v", c.OTLP, err)
	}
	if _, err := parseConfig("x.yaml", []byte("otlp: {metrics: maybe}\n")); err == nil || !strings.Contains(err.Error(), "url is missing") || !strings.Contains(err.Error(), "neither true nor false") {
		t.Errorf("%v", err)
	}
}

// The Collector's own receiver takes log records; 'make collector' builds it.
func TestCollectorTakesEvents(t *testing.T) {
	path := os.Getenv("IOCAUSE_COLLECTOR")
	if path == "" {
		t.Skip("needs the Collector's receiver: make collector")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	c := exec.CommandContext(t.Context(), path, at)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 10)
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	e, _ := eventsOf(t, "http://"+at, t.TempDir()) // it is tried until the Collector listens
	e.tell(notify.Judged, slowServer(time.Now(), true))
	select {
	case line := <-lines:
		if !strings.HasPrefix(line, `log iocause.incident.judged "a file server is slow to answer: `) || !strings.Contains(line, "iocause.cause:remote-server-slow") {
			t.Errorf("it took %s", line)
		}
	case <-time.After(20 * time.Second):
		t.Error("nothing arrived")
	}
	_ = c.Process.Signal(os.Interrupt)
	_ = c.Wait()
}

// Each finding of a look is an event of its own, bounded, with who and where the
// evidence is; a look that found nothing is one, too.
func TestFindingsOfLooksAreEvents(t *testing.T) {
	r := &logReceiver{t: t}
	server := httptest.NewServer(r)
	defer server.Close()
	e, kill := eventsOf(t, server.URL, t.TempDir())
	defer kill()
	began := time.Unix(1_790_000_000, 0)
	finding := `{"cause":"lock-contention","weight":0.5,"confidence":0.9,"culprit":{"comm":"post\u001bgres","cgroup":"/system.slice/pg.service"}}`
	e.tellLook([]byte(`{"primary":"lock-contention","findings":[`+strings.Repeat(finding+",", 8)+finding+`]}`), began, "/var/lib/iocause/normal/mon-09.iocause")
	e.tellLook([]byte(`{"primary":"healthy","findings":[]}`), began, "/x")
	e.tellLook([]byte(`{`), began, "/x") // one that was stopped
	until(t, "the events", func() bool { return len(r.all()) == mostFindings+1 })
	if got := r.all(); got[0] != "iocause.finding lock-contention" || got[mostFindings] != "iocause.finding healthy" {
		t.Errorf("%q", got)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	said := r.last.String()
	for _, want := range []string{"iocause diagnose --recording", "iocause.rank", "log.record.uid"} {
		if !strings.Contains(said, want) {
			t.Errorf("%s is missing in %s", want, said)
		}
	}
	if strings.Contains(said, "\x1b") {
		t.Error("a name is not made harmless")
	}
}
