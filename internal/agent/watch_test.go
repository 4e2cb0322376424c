package agent

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/detect"
	"iocause/internal/host"
	"iocause/internal/notify"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/store/incidents"
	"iocause/internal/store/summaries"
)

func windowOf(t *testing.T, seconds float64, put func(*sample.Recorder)) *sample.Window {
	t.Helper()
	start := time.Unix(1_700_000_000, 0)
	r := sample.NewRecorder(start)
	end := start.Add(time.Duration(seconds * float64(time.Second)))
	r.At(end)
	put(r)
	return r.Window(end)
}

// Amounts are divided by the time that they came in; what was not measured is
// missing, and a disk with hardly a request has no latency.
func TestGather(t *testing.T) {
	g := newGather()
	for range 10 {
		g.see(windowOf(t, 1, func(r *sample.Recorder) {
			r.Put(sample.CPUCount, sample.Entity{}, 4, "test")
			r.Put(sample.CPUUser, sample.Entity{}, 1, "test")
		}))
		g.see(windowOf(t, 1, func(r *sample.Recorder) { r.Put(sample.PSISome, sample.Entity{Class: "io"}, 0.25, "test") }))
		g.see(windowOf(t, 1, func(r *sample.Recorder) {
			for name, requests := range map[string]float64{"vda": 100, "loop0": 50, "vdb": 1} {
				e := sample.Entity{Device: name}
				r.Put(sample.DiskBusy, e, requests/200, "test")
				r.Put(sample.DiskReads, e, requests, "test")
				r.Put(sample.DiskReadTime, e, requests/requests*0.5, "test")
				r.Put(sample.DiskReadBytes, e, 4096*requests, "test")
			}
		}))
	}
	g.see(windowOf(t, 1, func(r *sample.Recorder) {
		r.Put(sample.MemTotal, sample.Entity{}, 1000, "test")
		r.Put(sample.MemAvailable, sample.Entity{}, 10, "test")
	}))
	s := g.take(time.Unix(1_700_000_010, 0))
	for name, want := range map[string]float64{
		"cpu.user": 0.25, "disk.pressure": 0.25, "disk.busy": 0.5, "disk.read": 101 * 4096, "disk.write": 0, "disk.requests": 101, "disk.latency": 0.01, "memory.available": 0.01,
	} {
		if got, ok := s.Values[name]; !ok || got < want*0.999 || got > want*1.001 {
			t.Errorf("%s is %g (%v), want %g", name, got, ok, want)
		}
	}
	if len(s.Values) != 8 {
		t.Errorf("%v has more than what was measured", s.Values)
	}
	if len(s.Limits) != 1 || s.Limits[0].Kind != sample.LimitOOM || s.Limits[0].What != "1.0 % of the memory is still available" {
		t.Errorf("limits %v", s.Limits)
	}
	if s := g.take(time.Unix(1_700_000_020, 0)); len(s.Values) != 0 || len(s.Limits) != 0 {
		t.Errorf("nothing was seen since, but there is %v", s)
	}
}

// days are quiet samples, ten seconds apart.
func days(w *watcher, from time.Time, n int) time.Time {
	for range n * 8640 {
		from = from.Add(watchEvery)
		w.step(context.Background(), detect.Sample{At: from, Values: map[string]float64{"cpu.user": 0.5, "memory.pressure": 0, "disk.pressure": 0.05}})
		if w.looking {
			w.take(context.Background(), <-w.found)
		}
		w.keeper.work(false)
	}
	return from
}

// An incident is kept as soon as it begins, judged, told, closed; and one that
// is open when the agent ends is gone on with.
func TestIncidentIsKept(t *testing.T) {
	dir := t.TempDir()
	told := filepath.Join(dir, "told")
	against := ""
	config := DefaultConfig()
	config.Dir = dir
	config.Incidents.Command = []string{"/bin/sh", "-c", "echo $IOCAUSE_ACTION $IOCAUSE_INCIDENT >>" + told}
	looks := 0
	judge := func(_ context.Context, ask Ask) Finding {
		if ask.Look {
			looks++
			return Finding{Sections: []incidents.Section{{Name: "recording", Data: fmt.Appendf(nil, "look %d", looks)}}}
		}
		if against = string(ask.Normal); ask.Length != config.Incidents.Diagnose {
			t.Errorf("judged for %v", ask.Length)
		}
		return Finding{Report: json.RawMessage(`{"primary":"cache-busting"}`), Cause: "cache-busting", Title: "the data is larger",
			Sections: []incidents.Section{{Name: "recording", Data: []byte("x")}}, Notes: []string{"half of it"}}
	}
	start := func() *watcher {
		return newWatcher(host.Live(), &config, slog.New(slog.DiscardHandler), judge, "test")
	}
	w := start()
	now := days(w, time.Date(2026, 3, 2, 0, 0, 0, 0, time.Local), 2)
	off := func(w *watcher, n int) {
		for range n {
			now = now.Add(watchEvery)
			w.step(t.Context(), detect.Sample{At: now, Values: map[string]float64{"cpu.user": 0.1, "memory.pressure": 0.5, "disk.pressure": 0.9}})
			w.keeper.work(false)
		}
	}
	if list, err := incidents.List(w.dir()); err == nil && len(list) > 0 {
		t.Fatalf("an incident without cause: %+v", list[0].Meta)
	}
	off(w, 30)
	if w.open == nil || w.judging != w.open {
		t.Fatalf("five minutes of trouble opened no incident")
	}
	if first, err := incidents.Load(w.dir(), 1); err != nil || !first.Meta.Open || first.Meta.Cause != "" {
		t.Errorf("before it is judged there is %+v, %v", first, err)
	}
	w.take(t.Context(), <-w.found)
	// two days of looks, one an hour: the last before the incident, for there is
	// none of a week before
	if looks != 48 || against != "look 48" {
		t.Errorf("the probes looked %d times, and the incident was judged against %q", looks, against)
	}
	if kept, _ := filepath.Glob(filepath.Join(w.normalDir(), "*-??.iocause")); len(kept) != 48 {
		t.Errorf("%d windows of better times are kept: %v", len(kept), kept)
	}
	w.finish(t.Context()) // and the agent ends
	w.keeper.work(false)
	x, err := incidents.Load(w.dir(), 1)
	if err != nil || !x.Meta.Open || x.Meta.Cause != "cache-busting" || string(x.Finding) != `{"primary":"cache-busting"}` || len(x.Sections) != 1 || x.Meta.Notes[0] != "half of it" {
		t.Fatalf("%+v, %v", x, err)
	}
	var busy *incidents.Series
	for i := range x.Series {
		if x.Series[i].Name == "disk.pressure" {
			busy = &x.Series[i]
		}
	}
	if busy == nil || len(busy.Values) < 60 || *busy.Values[0] != 0.05 || *busy.Values[len(busy.Values)-1] != 0.9 {
		t.Errorf("the signals around it are %+v", x.Series)
	}
	w = start()
	if w.open == nil || w.open.number.Load() != 1 {
		t.Fatal("the open incident is forgotten")
	}
	off(w, 6)
	days(w, now, 1)
	x, err = incidents.Load(w.dir(), 1)
	if err != nil || x.Meta.Open || x.Meta.What.Samples < 35 || x.Meta.Cause != "cache-busting" || len(x.Series) == 0 {
		t.Errorf("%+v, %v", x.Meta, err)
	}
	if list, err := incidents.List(w.dir()); err != nil || len(list) != 1 {
		t.Errorf("%d incidents, %v", len(list), err)
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		b, _ := os.ReadFile(told)
		if string(b) == "open 1\njudged 1\nclose 1\n" {
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Fatalf("told %q", b)
		}
	}
	if files, err := filepath.Glob(filepath.Join(dir, "baselines", "*")); err != nil || len(files) == 0 {
		t.Errorf("what is normal is not kept: %v", err)
	}
}

// An incident over which the agent ended is judged by the next, while it goes
// on; what the probes had seen at the end is kept.
func TestJudgedByTheNextAgent(t *testing.T) {
	config := DefaultConfig()
	config.Dir = t.TempDir()
	seen := make(chan Finding, 1)
	judge := func(ctx context.Context, _ Ask) Finding {
		select {
		case f := <-seen:
			return f
		case <-ctx.Done():
			return Finding{Notes: []string{"the finding: it was interrupted before anything was seen"}}
		}
	}
	h := host.Live()
	now := h.Now()
	h.Now = func() time.Time { return now }
	end := func(w *watcher, cancel func()) *incidents.Incident {
		t.Helper()
		cancel()
		w.finish(t.Context())
		w.keeper.work(true)
		x, err := incidents.Load(w.dir(), 1)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	start := func() (*watcher, context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(t.Context())
		w := newWatcher(h, &config, slog.New(slog.DiscardHandler), judge, "test")
		w.judgeResumed(ctx)
		return w, ctx, cancel
	}
	w, ctx, cancel := start()
	w.begin(ctx, sample.Incident{Start: now, Opened: now, End: now})
	if x := end(w, cancel); x.Finding != nil || len(x.Meta.Notes) > 0 {
		t.Errorf("of an incident that nobody looked at there is %+v", x)
	}
	w, _, cancel = start()
	if w.judging == nil {
		t.Fatal("it is not judged")
	}
	seen <- Finding{Cause: "cache-busting", Report: json.RawMessage(`{"primary":"cache-busting"}`), Notes: []string{"threads: interrupted before that"}}
	if x := end(w, func() {}); x.Meta.Cause != "cache-busting" || len(x.Meta.Notes) != 1 {
		t.Errorf("what was seen before the end is not kept: %+v", x)
	}
	cancel()
	if w, _, cancel = start(); w.judging != nil {
		t.Error("it is judged twice")
	}
	cancel()
	if err := os.Remove(incidents.Path(w.dir(), 1)); err != nil {
		t.Fatal(err)
	}
	w, ctx, cancel = start()
	w.begin(ctx, sample.Incident{Start: now, Opened: now, End: now})
	end(w, cancel)
	now = now.Add(stillOn + time.Second)
	w, _, cancel = start()
	if x := end(w, cancel); w.judging != nil || x.Finding != nil || len(x.Meta.Notes) != 1 {
		t.Errorf("what is over is judged: %+v", x)
	}
}

func TestConfigOfIncidents(t *testing.T) {
	c, err := parseConfig("x.yaml", []byte("incidents:\n  watch: true\n  diagnose: 20s\n  command: [/bin/mail, root]\n  webhook: {url: 'https://example.com/h', secret_file: /etc/s}\n  journal: true\n"))
	if i := c.Incidents; err != nil || i.Off || i.Diagnose != 20*time.Second || len(i.Command) != 2 || i.Webhook.SecretFile != "/etc/s" || !i.Journal {
		t.Errorf("%+v, %v", i, err)
	}
	_, err = parseConfig("x.yaml", []byte("incidents:\n  watch: no\n  diagnose: 1h\n  command: x\n  webhook: {url: 'ftp://u:p@h/'}\n"))
	if err == nil || strings.Count(err.Error(), "x.yaml:") != 4 {
		t.Errorf("%v", err)
	}
}

// An incident is compared with the same hour of the week before, and with
// nothing that is from its own time or too old. One that begins while the
// probes look is judged when they are done.
func TestNormal(t *testing.T) {
	config := DefaultConfig()
	config.Dir = t.TempDir()
	ended := make(chan bool)
	judge := func(_ context.Context, ask Ask) Finding {
		if ask.Look {
			<-ended
			return Finding{Sections: []incidents.Section{{Data: []byte("look")}}}
		}
		return Finding{Cause: "against " + string(ask.Normal)}
	}
	w := newWatcher(host.Live(), &config, slog.New(slog.DiscardHandler), judge, "test")
	at := time.Date(2026, 3, 2, 14, 30, 0, 0, time.Local)
	for _, x := range []struct {
		ago  time.Duration
		what string
	}{{7 * 24 * time.Hour, "a week ago"}, {time.Hour, "an hour ago"}, {40 * 24 * time.Hour, "long ago"}} {
		w.normal = &normal{at.Add(-x.ago), []byte(x.what)}
		w.keepNormal()
	}
	w.keeper.work(false)
	for _, x := range []struct {
		start time.Time
		want  string
	}{
		{at, "a week ago"}, {at.Add(2 * time.Hour), "an hour ago"}, {at.Add(-90 * time.Minute), "a week ago"},
		{at.Add(-8 * 24 * time.Hour), "long ago"}, {at.Add(60 * 24 * time.Hour), ""}, {at.Add(-60 * 24 * time.Hour), ""},
	} {
		if got := string(w.normalBefore(x.start, nil)); got != x.want {
			t.Errorf("%v is compared with %q, want %q", x.start, got, x.want)
		}
	}
	w.normal = &normal{at.Add(-time.Minute), []byte("a minute ago")}
	if got := string(w.normalBefore(at.Add(2*time.Hour), w.normal)); got != "a minute ago" {
		t.Errorf("the newest is %q", got)
	}
	w.lookAtNormal(t.Context(), at)
	w.lookAtNormal(t.Context(), at.Add(normalFirst))
	if !w.looking {
		t.Fatal("the probes do not look")
	}
	w.begin(t.Context(), sample.Incident{Start: at.Add(normalFirst), Opened: at, End: at})
	close(ended)
	w.take(t.Context(), <-w.found)
	w.take(t.Context(), <-w.found)
	w.keeper.work(false)
	if x, err := incidents.Load(w.dir(), 1); err != nil || x.Meta.Cause != "against a week ago" {
		t.Errorf("%+v, %v", x, err)
	}
}

// What went on for so long that it became normal is no incident after a restart
// either.
func TestNewNormalOverARestart(t *testing.T) {
	config := DefaultConfig()
	config.Dir = t.TempDir()
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.Local)
	h := host.Live()
	h.Now = func() time.Time { return now }
	before := map[string]float64{"cpu.user": 0.5, "memory.pressure": 0, "disk.pressure": 0.05}
	since := map[string]float64{"cpu.user": 0.1, "memory.pressure": 0.5, "disk.pressure": 0.9}
	var hours []sample.Hour
	for at := now.AddDate(0, 0, -35); at.Before(now); at = at.Add(time.Hour) {
		values := before
		if now.Sub(at) <= 24*time.Hour {
			values = since
		}
		for name, v := range values {
			hours = append(hours, sample.Hour{Signal: name, Start: at, N: 360, Q: [5]float64{v, v, v, v, v}, Extreme: v})
		}
	}
	if err := summaries.Append(filepath.Join(config.Dir, "baselines"), hours); err != nil {
		t.Fatal(err)
	}
	began := func() int {
		t.Helper()
		w := newWatcher(h, &config, slog.New(slog.DiscardHandler), nil, "test")
		for range 60 {
			now = now.Add(watchEvery)
			w.step(t.Context(), detect.Sample{At: now, Values: since})
		}
		w.keeper.work(false)
		list, err := incidents.List(w.dir())
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	dir := filepath.Join(config.Dir, "incidents")
	x := incidents.Incident{Meta: incidents.Meta{What: sample.Incident{Start: now.Add(-24 * time.Hour), End: now.Add(-10 * time.Hour), Lasting: true}}}
	if err := incidents.Save(dir, &x); err != nil {
		t.Fatal(err)
	}
	if n := began(); n != 1 {
		t.Errorf("%d incidents, though it is known to be normal now", n)
	}
	if err := os.Remove(incidents.Path(dir, x.Meta.Number)); err != nil {
		t.Fatal(err)
	}
	if n := began(); n != 1 {
		t.Errorf("%d incidents by an agent that does not know it", n)
	}
}

// What the configuration names is told of an incident, from its file on: here a
// web hook, that checks the signature by the secret.
func TestConfiguredHookIsTold(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	type told struct{ action, signature, body string }
	got := make(chan told, 10)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got <- told{r.Header.Get("X-Iocause-Action"), r.Header.Get("X-Iocause-Signature"), string(b)}
	}))
	defer s.Close()
	config, err := parseConfig("x.yaml", fmt.Appendf(nil, "dir: %s\nincidents:\n  webhook: {url: '%s/hook', secret_file: %s}\n", t.TempDir(), s.URL, secret))
	if err != nil {
		t.Fatal(err)
	}
	w := newWatcher(host.Live(), &config, slog.New(slog.DiscardHandler), nil, "test")
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	w.step(t.Context(), detect.Sample{At: now, Limits: []sample.Limit{{Kind: sample.LimitErrors, What: "vda"}}})
	w.keeper.work(false)
	for range 200 { // until it is over
		now = now.Add(watchEvery)
		w.step(t.Context(), detect.Sample{At: now})
	}
	actions := map[string]int{}
	for range 2 {
		select {
		case x := <-got:
			actions[x.action]++
			at, sum, ok := strings.Cut(x.signature, ",v1=")
			mac := hmac.New(sha256.New, []byte("key"))
			fmt.Fprintf(mac, "%s.%s", strings.TrimPrefix(at, "t="), x.body)
			if want := hex.EncodeToString(mac.Sum(nil)); !ok || sum != want {
				t.Errorf("signed %q, want %s", x.signature, want)
			}
			var m incidents.Meta
			if err := json.Unmarshal([]byte(x.body), &m); err != nil || m.Number != 1 || m.Open != (x.action == "open") || len(m.What.Limits) != 1 {
				t.Errorf("%s: %v, %s", x.action, err, x.body)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("told only %v", actions)
		}
	}
	if actions["open"] != 1 || actions["close"] != 1 {
		t.Errorf("told %v", actions)
	}
}

// A secret that cannot be read costs its web hook alone, and nothing is sent
// without a signature.
func TestHookWithoutItsSecret(t *testing.T) {
	var log require.Output
	i := Incidents{Command: []string{"true"}, Journal: true}
	i.Webhook.URL, i.Webhook.SecretFile = "https://example.com/hook", filepath.Join(t.TempDir(), "none")
	all := i.hooks(slog.New(slog.NewTextHandler(&log, nil)))
	if len(all) != 2 || !strings.Contains(log.String(), "it gets no incidents") {
		t.Fatalf("%+v, %s", all, log.String())
	}
	if _, ok := all[1].(notify.Journal); !ok {
		t.Errorf("%+v", all)
	}
}
