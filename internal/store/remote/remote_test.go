package remote

import (
	"bytes"
	"context"
	"encoding/json"
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
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/util/compression"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/outbound"
	"iocause/internal/store/series"
)

// receiver takes remote writes as Prometheus does: a request with a value that
// is not newer than the series' last one is refused as a whole.
type receiver struct {
	t      *testing.T
	mu     sync.Mutex
	got    map[string][]int64 // instants by series
	broken func(n int) int    // the status of the nth request, 0 for well
	n      int
	header http.Header
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	r.header = req.Header
	if code := r.broken(r.n); code != 0 {
		http.Error(w, "not now", code)
		return
	}
	b, err := io.ReadAll(req.Body)
	if err != nil {
		r.t.Error(err)
	}
	raw, err := compression.Decode(compression.Snappy, b, compression.NewSyncDecodeBuffer())
	if err != nil {
		r.t.Error(err)
	}
	var got prompb.WriteRequest
	if err := got.Unmarshal(raw); err != nil {
		r.t.Error(err)
	}
	add := map[string][]int64{}
	values := 0
	for _, ts := range got.Timeseries {
		name := ""
		for i, l := range ts.Labels {
			name += l.Name + "=" + l.Value + " "
			if i > 0 && ts.Labels[i-1].Name >= l.Name {
				r.t.Errorf("labels %v are not sorted", ts.Labels)
			}
		}
		for _, s := range ts.Samples {
			values++
			all := append(r.got[name], add[name]...)
			if len(all) > 0 && s.Timestamp <= all[len(all)-1] {
				http.Error(w, "out of order sample", http.StatusBadRequest)
				return
			}
			add[name] = append(add[name], s.Timestamp)
		}
	}
	if values > mostBatch {
		r.t.Errorf("%d values in one request", values)
	}
	for name, at := range add {
		r.got[name] = append(r.got[name], at...)
	}
}

const many = 50 // series

// epoch is when the recordings begin.
func epoch() time.Time { return time.Unix(1_790_000_400, 0) }

// recorded is twenty minutes of values every ten seconds, as measured, and one
// of those that come next: what is newest is not sent yet.
func recorded(t *testing.T, epoch time.Time) *series.Recording {
	t.Helper()
	r, err := series.Open(series.Options{Dir: filepath.Join(t.TempDir(), "rec"), Keep: [series.Tiers]time.Duration{48 * time.Hour, 0, 0}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	var all []*series.Series
	for i := range many {
		all = append(all, series.New("test_total", series.Label{Name: "device", Value: fmt.Sprint("d", i)}))
	}
	for s := 0; s <= 1210; s += 10 {
		f := series.Frame{At: epoch.Add(time.Duration(s) * time.Second)}
		for _, x := range all {
			f.Values = append(f.Values, series.Value{Of: x, V: float64(s)})
		}
		if _, err := r.Append([]series.Frame{f}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func newSender(t *testing.T, o Options) *Sender {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// drain runs senders, a new one after each failure as if the agent had been
// started anew, until all is sent.
func drain(t *testing.T, r *series.Recording, o Options) (sent, refused int64) {
	t.Helper()
	var err error
	for range 100 {
		s := newSender(t, o)
		var p place
		p, err = s.load()
		if err != nil {
			t.Fatal(err)
		}
		for {
			before := p.from
			if err = s.step(t.Context(), r, &p); err != nil || p.from.Equal(before) {
				break
			}
		}
		sent, refused = sent+s.Sent.Load(), refused+s.Refused.Load()
		if err == nil {
			return sent, refused
		}
	}
	t.Fatal("it never ends: ", err)
	return
}

// Whatever fails, and however often the agent is started anew meanwhile, every
// value arrives, once.
func TestEveryValueArrivesOnce(t *testing.T) {
	rec := recorded(t, epoch())
	for name, broken := range map[string]func(n int) int{
		"well":           func(int) int { return 0 },
		"fails at times": func(n int) int { return []int{0, 500, 0, 503, 429, 0, 401}[n%7] },
		"fails at first": func(n int) int { return map[bool]int{true: 502}[n < 20] },
	} {
		t.Run(name, func(t *testing.T) {
			to := &receiver{t: t, got: map[string][]int64{}, broken: broken}
			server := httptest.NewServer(to)
			defer server.Close()
			token := filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			sent, refused := drain(t, rec, Options{
				URL: server.URL, Version: "1.0", Every: 30 * time.Second, TokenFile: token, Cursor: filepath.Join(t.TempDir(), "cursor"),
				Labels: []series.Label{{Name: "instance", Value: "here"}, {Name: "device", Value: "not this one"}},
				Log:    slog.New(slog.DiscardHandler), Now: func() time.Time { return epoch().Add(1210 * time.Second) },
			})
			const each = 41 // one for the first instant and one for each 30 s
			if sent != many*each || refused != 0 || len(to.got) != many {
				t.Errorf("%d values of %d series sent and %d refused, want %d of %d and 0", sent, len(to.got), refused, many*each, many)
			}
			for series, at := range to.got {
				if !strings.HasPrefix(series, "__name__=test_total device=d") || !strings.HasSuffix(series, "instance=here ") {
					t.Errorf("series %q", series)
				}
				for i, ms := range at {
					if want := epoch().Add(time.Duration(i) * 30 * time.Second).UnixMilli(); ms != want || len(at) != each {
						t.Fatalf("%q: value %d of %d is at %d, want %d", series, i, len(at), ms, want)
					}
				}
			}
			for header, want := range map[string]string{
				"Content-Encoding": "snappy", "X-Prometheus-Remote-Write-Version": "0.1.0", "Authorization": "Bearer secret",
			} {
				if got := to.header.Get(header); got != want {
					t.Errorf("%s: %q, want %q", header, got, want)
				}
			}
		})
	}
}

// What the receiver will never take holds up nothing, and is counted and said.
func TestRefused(t *testing.T) {
	rec := recorded(t, epoch())
	to := &receiver{t: t, got: map[string][]int64{}, broken: func(n int) int { return map[bool]int{true: 400}[n == 1] }}
	server := httptest.NewServer(to)
	defer server.Close()
	var log bytes.Buffer
	sent, refused := drain(t, rec, Options{
		URL: server.URL, Version: "1.0", Every: 30 * time.Second, Cursor: filepath.Join(t.TempDir(), "cursor"),
		Log: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return epoch().Add(1210 * time.Second) },
	})
	if refused == 0 || sent+refused != many*41 || !strings.Contains(log.String(), "refuses values") {
		t.Errorf("%d sent, %d refused: %s", sent, refused, log.String())
	}
}

// The address may hold a secret, in its path or query: whatever fails, the log has
// no more of it than the host.
func TestAddressIsNotLogged(t *testing.T) {
	rec := recorded(t, epoch())
	to := &receiver{t: t, got: map[string][]int64{}, broken: func(n int) int { return map[int]int{1: 503, 2: 400}[n] }}
	server := httptest.NewServer(to)
	defer server.Close()
	closed := httptest.NewServer(to)
	closed.Close()
	for _, at := range []string{server.URL, closed.URL, "http://a\x7f"} {
		log := make(told, 100)
		s := newSender(t, Options{
			URL: at + "/SECRET/write?u=agent&p=SECRET", Version: "1.0", Every: 300 * time.Millisecond, Cursor: filepath.Join(t.TempDir(), "cursor"),
			Log: slog.New(slog.NewTextHandler(log, nil)), Now: func() time.Time { return epoch().Add(1210 * time.Second) },
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.Run(ctx, func() *series.Recording { return rec })
		}()
		for said, is := "", map[bool]string{true: "can be sent again", false: "cannot be sent"}[at == server.URL]; !strings.Contains(said, is); {
			select {
			case said = <-log:
			case <-time.After(20 * time.Second):
				t.Fatalf("%s: it does not say that values %s", at, is)
			}
			if host := outbound.Host(at); strings.Contains(said, "SECRET") || strings.Contains(said, " to=") && !strings.Contains(said, host) {
				t.Errorf("the log has: %s", said)
			}
		}
		cancel()
		<-done
	}
}

func TestRunComesBackAfterAnOutage(t *testing.T) {
	rec := recorded(t, epoch())
	to := &receiver{t: t, got: map[string][]int64{}, broken: func(n int) int { return map[bool]int{true: 503}[n == 1] }}
	server := httptest.NewServer(to)
	defer server.Close()
	s := newSender(t, Options{
		URL: server.URL, Every: 30 * time.Millisecond * 10, Cursor: filepath.Join(t.TempDir(), "cursor"),
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return epoch().Add(1210 * time.Second) },
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx, func() *series.Recording { return rec })
	}()
	for began := time.Now(); s.Sent.Load() < many*121; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("%d values sent, want %d", s.Sent.Load(), many*121)
		}
	}
	cancel()
	<-done
}

// told hands on what is logged.
type told chan string

func (t told) Write(b []byte) (int, error) {
	t <- string(b)
	return len(b), nil
}

func TestClockThatIsSetBackIsTold(t *testing.T) {
	rec := recorded(t, epoch())
	server := httptest.NewServer(&receiver{t: t, got: map[string][]int64{}, broken: func(int) int { return 0 }})
	defer server.Close()
	var seconds atomic.Int64
	seconds.Store(1210)
	log := make(told, 10)
	s := newSender(t, Options{
		URL: server.URL, Version: "1.0", Every: 100 * time.Millisecond, Cursor: filepath.Join(t.TempDir(), "cursor"),
		Log: slog.New(slog.NewTextHandler(log, nil)), Now: func() time.Time { return epoch().Add(time.Duration(seconds.Load()) * time.Second) },
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx, func() *series.Recording { return rec })
	}()
	for s.Sent.Load() < many*121 && t.Context().Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	seconds.Add(-600)
	if line := <-log; !strings.Contains(line, "the clock was set back") || !strings.Contains(line, epoch().Add(1207*time.Second).UTC().Format(time.RFC3339)) {
		t.Errorf("logged: %s", line)
	}
	cancel()
	<-done
	if len(log) > 0 {
		t.Errorf("and again: %s", <-log)
	}
}

// engine is a program that takes remote writes.
type engine struct {
	path  string
	args  func(dir, at string) []string
	write string
}

func engines() map[string]engine {
	return map[string]engine{
		"prometheus": {write: "/api/v1/write", args: func(dir, at string) []string {
			return []string{"--config.file=" + dir + "/config.yaml", "--storage.tsdb.path=" + dir + "/data",
				"--web.enable-remote-write-receiver", "--web.listen-address=" + at}
		}},
		"victoria-metrics": {write: "/api/v1/write", args: func(dir, at string) []string {
			return []string{"-storageDataPath=" + dir + "/data", "-httpListenAddr=" + at, "-search.latencyOffset=0s", "-memory.allowedBytes=64MiB"}
		}},
	}
}

// The real ones take it, also after they were away: each value is there, once.
func TestEnginesTakeIt(t *testing.T) {
	for name, e := range engines() {
		t.Run(name, func(t *testing.T) {
			var err error
			e.path, err = exec.LookPath(name)
			bpftest.Need(t, name, err)
			t.Parallel()
			takesIt(t, e)
		})
	}
}

func takesIt(t *testing.T, e engine) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func() *exec.Cmd {
		c := exec.CommandContext(t.Context(), e.path, e.args(dir, at)...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	begin := time.Now().Add(-21 * time.Minute).Truncate(30 * time.Second)
	rec := recorded(t, begin)
	now := begin.Add(10 * time.Minute)
	s := newSender(t, Options{
		URL: "http://" + at + e.write, Every: 30 * time.Second, Cursor: filepath.Join(dir, "cursor"),
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now },
	})
	p := place{}
	finish := func() {
		t.Helper()
		for began := time.Now(); p.from.Before(now.Add(-35 * time.Second)); time.Sleep(50 * time.Millisecond) {
			if err := s.step(t.Context(), rec, &p); err != nil && time.Since(began) > 30*time.Second {
				t.Fatal(err)
			}
		}
	}
	// stored is how many values the engine has of each instant: as many as
	// there are series, if each arrived once.
	stored := func() (each map[int64]int) {
		t.Helper()
		each = map[int64]int{}
		resp, err := http.Get("http://" + at + "/api/v1/query?query=" + url.QueryEscape("test_total[1h]") + "&time=" + fmt.Sprint(time.Now().Unix()))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var got struct {
			Data struct{ Result []struct{ Values [][2]any } }
		}
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		for _, line := range got.Data.Result {
			for _, v := range line.Values {
				if seconds, ok := v[0].(float64); ok {
					each[int64(seconds)]++
				}
			}
		}
		return each
	}
	c := run()
	finish()
	// It stops as a service does, which keeps what it has; the outage lasts ten
	// minutes of the recording.
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	now = begin.Add(1210 * time.Second)
	if err := s.step(t.Context(), rec, &p); err == nil {
		t.Error("it was sent to nobody")
	}
	c = run()
	finish()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		each, wrong := stored(), 0
		for i := range 41 {
			if each[begin.Unix()+int64(30*i)] != many {
				wrong++
			}
		}
		if wrong == 0 && len(each) == 41 {
			break
		}
		if time.Since(began) > 30*time.Second { // what is written can be found a little later
			t.Errorf("%d of 41 instants do not have %d values; there are %v", wrong, many, each)
			break
		}
	}
	if s.Refused.Load() != 0 {
		t.Errorf("%d values were refused", s.Refused.Load())
	}
	if err := c.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = c.Wait()
}

// What a disk takes late is sent late, and not passed over: while nothing new is
// written, sending waits.
func TestWrittenLate(t *testing.T) {
	rec := recorded(t, epoch())
	to := &receiver{t: t, got: map[string][]int64{}, broken: func(int) int { return 0 }}
	server := httptest.NewServer(to)
	defer server.Close()
	now := epoch().Add(1500 * time.Second) // 290 s after the newest value
	s := newSender(t, Options{
		URL: server.URL, Every: 10 * time.Second, Cursor: filepath.Join(t.TempDir(), "cursor"),
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now },
	})
	p := place{}
	all := func() {
		t.Helper()
		for before := p.from.Add(-1); !p.from.Equal(before); {
			before = p.from
			if err := s.step(t.Context(), rec, &p); err != nil {
				t.Fatal(err)
			}
		}
	}
	all()
	late := series.New("test_total", series.Label{Name: "device", Value: "d0"})
	for at := 1220; at <= 1500; at += 10 {
		f := series.Frame{At: epoch().Add(time.Duration(at) * time.Second), Values: []series.Value{{Of: late, V: float64(at)}}}
		if _, err := rec.Append([]series.Frame{f}); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(10 * time.Second)
	all()
	got := to.got["__name__=test_total device=d0 "]
	for i, ms := range got {
		if want := epoch().Add(time.Duration(i) * 10 * time.Second).UnixMilli(); ms != want {
			t.Fatalf("value %d is at %d, want %d", i, ms, want)
		}
	}
	if len(got) != 150 { // up to 1490 s
		t.Errorf("%d values arrived, want 150", len(got))
	}
}

func TestSpoiltCursor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cursor")
	for _, text := range []string{"", "yesterday", "-5 0 0", "5 0 -1", "5"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if p, err := newSender(t, Options{Cursor: path}).load(); err == nil || p != (place{}) {
			t.Errorf("%q is read as %+v", text, p)
		}
	}
}
