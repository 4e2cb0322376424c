package remote

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/slim/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"iocause/internal/store/series"
)

// receiveOTLP unpacks a request with the protocol's own messages.
func receiveOTLP(t *testing.T, r *http.Request) *collector.ExportMetricsServiceRequest {
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		t.Error(err)
		return nil
	}
	raw, err := io.ReadAll(z)
	var got collector.ExportMetricsServiceRequest
	if err != nil || r.Header.Get("Content-Encoding") != "gzip" || r.Header.Get("Content-Type") != otlpType || proto.Unmarshal(raw, &got) != nil {
		t.Errorf("%v, %v", err, r.Header)
	}
	return &got
}

func written(all []*common.KeyValue) (out string) {
	for _, kv := range all {
		out += kv.Key + "=" + kv.Value.GetStringValue() + " "
	}
	return out
}

func answerOTLP(w http.ResponseWriter, rejected int64) {
	said := &collector.ExportMetricsServiceResponse{}
	if rejected > 0 {
		said.PartialSuccess = &collector.ExportMetricsPartialSuccess{RejectedDataPoints: rejected, ErrorMessage: "too old"}
	}
	b, _ := proto.Marshal(said)
	w.Header().Set("Content-Type", otlpType)
	_, _ = w.Write(b)
}

// Over OTLP, too, each value arrives once whatever fails, and what was rejected is
// counted.
func TestOTLP(t *testing.T) {
	rec := recorded(t, epoch())
	got, n := map[string][]uint64{}, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := receiveOTLP(t, r)
		switch n++; n {
		case 1, 4:
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		case 2:
			answerOTLP(w, 3)
			return
		}
		for _, of := range request.ResourceMetrics {
			if said := written(of.Resource.Attributes); said != "service.name=iocause os.type=linux zone=a host.name=db1 service.instance.id=db1 " {
				t.Errorf("resource %q", said)
			}
			m := of.ScopeMetrics[0].Metrics
			if len(m) != 1 || m[0].Name != "test" || !m[0].GetSum().GetIsMonotonic() || m[0].Description != "help of test_total" {
				t.Errorf("%v", m)
			}
			for _, p := range m[0].GetSum().GetDataPoints() {
				got[written(p.Attributes)] = append(got[written(p.Attributes)], p.TimeUnixNano)
			}
		}
		answerOTLP(w, 0)
	}))
	defer server.Close()
	sent, refused := drain(t, rec, Options{
		URL: server.URL, Version: OTLP, Every: 30 * time.Second, Cursor: filepath.Join(t.TempDir(), "cursor"),
		Labels: []series.Label{{Name: "zone", Value: "a"}, {Name: "instance", Value: "db1"}}, Describe: func(name string) (string, string) { return "counter", "help of " + name },
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return epoch().Add(1210 * time.Second) },
	})
	if refused != 3 || sent != many*41-3 {
		t.Errorf("%d sent, %d refused", sent, refused)
	}
	arrived := 0
	for name, at := range got {
		arrived += len(at)
		for i := range at[1:] {
			if at[i+1] <= at[i] {
				t.Errorf("%s: %d after %d", name, at[i+1], at[i])
			}
		}
	}
	if rest := many*41 - arrived; rest <= 0 || rest > mostBatch { // of the request that was rejected in part
		t.Errorf("%d values arrived", arrived)
	}
}

// What is no OTLP receiver, though it answers 200, is not believed.
func TestNoOTLPReceiver(t *testing.T) {
	rec := recorded(t, epoch())
	for name, answer := range map[string]http.HandlerFunc{
		"HTML":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>welcome") },
		"no type": func(http.ResponseWriter, *http.Request) {},
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", otlpType)
			for range 1 << 20 {
				if _, err := w.Write(bytes.Repeat([]byte{0xff}, 1<<20)); err != nil {
					return
				}
			}
		},
	} {
		server := httptest.NewServer(answer)
		s := newSender(t, Options{URL: server.URL, Version: OTLP, Every: 30 * time.Second, Cursor: filepath.Join(t.TempDir(), "cursor"),
			Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return epoch().Add(1210 * time.Second) }})
		p := place{}
		if err := s.step(t.Context(), rec, &p); err == nil || !strings.Contains(err.Error(), "not an answer of an OTLP receiver") || s.Sent.Load() != 0 {
			t.Errorf("%s: %v", name, err)
		}
		server.Close()
	}
}

// Names of series as OpenTelemetry has them.
func TestConventions(t *testing.T) {
	s := newSender(t, Options{Version: OTLP})
	at := []series.Point{{At: epoch(), Value: 5}}
	for name, want := range map[string]string{
		"iocause_disk_read_bytes_total":  "system.disk.io By true disk.io.direction=read system.device=d class=c ",
		"iocause_net_sent_bytes_total":   "system.network.io By true network.io.direction=transmit network.interface.name=d class=c ",
		"iocause_fs_size_bytes":          "system.filesystem.limit By false system.device=d system.filesystem.mountpoint=c ",
		"iocause_psi_some_seconds_total": "iocause.psi_some s true device=d class=c ",
		"iocause_mem_dirty_bytes":        "iocause.mem_dirty By false device=d class=c ",
		"iocause_finding":                "iocause.finding  false device=d class=c ",
	} {
		m := s.packOTLP(batch{{Line: series.Line{Name: name, Labels: []series.Label{{Name: "__name__", Value: name}, {Name: "device", Value: "d"}, {Name: "class", Value: "c"}}, Points: at}}}).ResourceMetrics[0].ScopeMetrics[0].Metrics[0]
		points := m.GetGauge().GetDataPoints()
		_, isSum := m.Data.(*metrics.Metric_Sum)
		if isSum {
			points = m.GetSum().GetDataPoints()
		}
		if got := fmt.Sprint(m.Name, " ", m.Unit, " ", isSum, " ", written(points[0].Attributes)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// The Collector's own receiver takes all of it, once; 'make collector' builds it.
func TestCollectorTakesMetrics(t *testing.T) {
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
	lines := make(chan map[string]int, 1)
	go func() {
		seen := map[string]int{}
		for s := bufio.NewScanner(out); s.Scan(); {
			seen[s.Text()]++
		}
		lines <- seen
	}()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", at); err == nil {
			conn.Close()
			break
		}
		if time.Since(began) > 20*time.Second {
			t.Fatal("the Collector does not listen")
		}
	}
	sent, refused := drain(t, recorded(t, epoch()), Options{
		URL: "http://" + at + "/v1/metrics", Version: OTLP, Every: 30 * time.Second, Cursor: filepath.Join(t.TempDir(), "cursor"),
		Labels: []series.Label{{Name: "instance", Value: "db1"}}, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return epoch().Add(1210 * time.Second) },
	})
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	seen := <-lines
	_ = c.Wait()
	if sent != many*41 || refused != 0 || len(seen) != many*41 {
		t.Errorf("%d sent, %d refused, %d arrived", sent, refused, len(seen))
	}
	for line, n := range seen {
		if n != 1 || !strings.HasPrefix(line, "db1 test ") {
			t.Fatalf("%d times %q", n, line)
		}
	}
	if want := fmt.Sprintf("db1 test  map[device:d7] %d 600", epoch().Add(600*time.Second).UnixNano()); seen[want] != 1 {
		t.Errorf("no %q", want)
	}
}
