package agent

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/detect"
	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/store/incidents"
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
		"cpu.user": 0.25, "disk.pressure": 0.25, "disk.busy": 0.5, "disk.read": 101 * 4096, "disk.write": 0, "disk.latency": 0.01, "memory.available": 0.01,
	} {
		if got, ok := s.Values[name]; !ok || got < want*0.999 || got > want*1.001 {
			t.Errorf("%s is %g (%v), want %g", name, got, ok, want)
		}
	}
	if len(s.Values) != 7 {
		t.Errorf("%v has more than what was measured", s.Values)
	}
	if len(s.Limits) != 1 || s.Limits[0].Kind != sample.LimitOOM || s.Limits[0].What != "1.0 % of the memory can still be had" {
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
	}
	return from
}

// An incident is kept as soon as it begins, judged, told, closed; and one that
// is open when the agent ends is gone on with.
func TestIncidentIsKept(t *testing.T) {
	dir := t.TempDir()
	told := filepath.Join(dir, "told")
	config := DefaultConfig()
	config.Dir = dir
	config.Incidents.Command = []string{"/bin/sh", "-c", "echo $IOCAUSE_ACTION $IOCAUSE_INCIDENT >>" + told}
	judge := func(context.Context, time.Duration) Finding {
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
		}
	}
	if list, err := incidents.List(w.dir()); err == nil && len(list) > 0 {
		t.Fatalf("an incident without cause: %+v", list[0].Meta)
	}
	off(w, 30)
	if w.open == nil || w.judging != 1 {
		t.Fatalf("five minutes of trouble opened no incident")
	}
	if first, err := incidents.Load(w.dir(), 1); err != nil || !first.Meta.Open || first.Meta.Cause != "" {
		t.Errorf("before it is judged there is %+v, %v", first, err)
	}
	w.take(t.Context(), <-w.found)
	w.finish() // and the agent ends
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
	if w.open == nil || w.open.Meta.Number != 1 {
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
		if strings.Contains(string(b), "open 1\n") && strings.Contains(string(b), "close 1\n") {
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
