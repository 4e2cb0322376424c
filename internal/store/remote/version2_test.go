package remote

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"

	"iocause/internal/store/series"
)

// store keeps what the receiver of Prometheus's own library hands on: that checks
// versions and content types, unpacks, and answers what was written.
type store struct {
	t      *testing.T
	got    map[string][]int64
	kinds  map[string]string
	refuse int // values of the next request of 2.0
	fail   int // requests that are answered with 503 after they were stored
	spoken []string
}

func (s *store) Store(r *http.Request, kind remoteapi.WriteMessageType) (*remoteapi.WriteResponse, error) {
	s.spoken = append(s.spoken, string(kind))
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	said := remoteapi.NewWriteResponse()
	if kind == remoteapi.WriteV1MessageType {
		var w prompb.WriteRequest
		if err := w.Unmarshal(body); err != nil {
			s.t.Error(err)
		}
		for _, x := range w.Timeseries {
			for _, v := range x.Samples {
				s.got[fmt.Sprint(x.Labels)] = append(s.got[fmt.Sprint(x.Labels)], v.Timestamp)
			}
		}
		return said, nil
	}
	var w writev2.Request
	if err := w.Unmarshal(body); err != nil {
		s.t.Error(err)
	}
	for _, x := range w.Timeseries {
		b := labels.NewScratchBuilder(0)
		name, err := x.ToLabels(&b, w.Symbols)
		if err != nil {
			s.t.Error(err)
		}
		meta, err := x.ToMetadata(w.Symbols)
		if err != nil {
			s.t.Error(err)
		}
		s.kinds[name.Get("__name__")] = string(meta.Type) + ": " + meta.Help
		for _, v := range x.Samples {
			if s.refuse > 0 {
				s.refuse--
				continue
			}
			all := s.got[name.String()]
			if len(all) == 0 || all[len(all)-1] < v.Timestamp { // else it is there, with the same value
				s.got[name.String()] = append(all, v.Timestamp)
			}
			said.Samples++
		}
	}
	if s.fail > 0 {
		s.fail--
		said.SetStatusCode(http.StatusServiceUnavailable)
		return said, io.ErrUnexpectedEOF
	}
	n := 0
	for _, x := range w.Timeseries {
		n += len(x.Samples)
	}
	if said.Samples < n {
		said.SetStatusCode(http.StatusBadRequest)
		return said, fmt.Errorf("out of order sample")
	}
	return said, nil
}

// The receiver of Prometheus's library takes 2.0, with what each series is; where
// it takes 1.0 alone, that is spoken; what it took of a request is counted; and an
// answer that was lost costs nothing.
func TestVersion2(t *testing.T) {
	rec := recorded(t, epoch())
	const all = many * 41
	both := remoteapi.MessageTypes{remoteapi.WriteV1MessageType, remoteapi.WriteV2MessageType}
	for name, c := range map[string]struct {
		version       string
		takes         remoteapi.MessageTypes
		store         store
		sent, refused int64
		last          remoteapi.WriteMessageType
		said          string
	}{
		"2.0":               {takes: both, sent: all, last: remoteapi.WriteV2MessageType},
		"1.0 alone":         {takes: both[:1], sent: all, last: remoteapi.WriteV1MessageType, said: "using 1.0 from now on"},
		"1.0 is wanted":     {version: "1.0", takes: both, sent: all, last: remoteapi.WriteV1MessageType},
		"some are refused":  {takes: both, store: store{refuse: 7}, sent: all - 7, refused: 7, last: remoteapi.WriteV2MessageType, said: "values=7"},
		"an answer is lost": {takes: both, store: store{fail: 2}, sent: all, last: remoteapi.WriteV2MessageType},
	} {
		t.Run(name, func(t *testing.T) {
			to := &c.store
			to.t, to.got, to.kinds = t, map[string][]int64{}, map[string]string{}
			server := httptest.NewServer(remoteapi.NewWriteHandler(to, c.takes))
			defer server.Close()
			var log bytes.Buffer
			sent, refused := drain(t, rec, Options{
				URL: server.URL, Every: 30 * time.Second, Cursor: filepath.Join(t.TempDir(), "cursor"), Version: c.version,
				Labels:   []series.Label{{Name: "instance", Value: "here"}},
				Describe: func(name string) (kind, help string) { return "counter", "what " + name + " is" },
				Log:      slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return epoch().Add(1210 * time.Second) },
			})
			if sent != c.sent || refused != c.refused || len(to.got) != many || !strings.Contains(log.String(), c.said) {
				t.Errorf("%d sent and %d refused of %d series: %s", sent, refused, len(to.got), log.String())
			}
			stored := 0
			for name, at := range to.got {
				stored += len(at)
				for i := range at[1:] {
					if at[i+1] <= at[i] {
						t.Fatalf("%s has %d after %d", name, at[i+1], at[i])
					}
				}
			}
			if stored != int(c.sent) {
				t.Errorf("%d are stored, %d were sent", stored, c.sent)
			}
			if last := to.spoken[len(to.spoken)-1]; last != string(c.last) {
				t.Errorf("it speaks %s", last)
			}
			if c.last == remoteapi.WriteV2MessageType && to.kinds["test_total"] != "counter: what test_total is" {
				t.Errorf("kinds %q", to.kinds)
			}
		})
	}
}

// A receiver that answers well and does not say what it took is not believed when
// 2.0 is demanded: nothing counts as sent.
func TestSilenceIsNoReceipt(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	s := newSender(t, Options{URL: server.URL, Every: 30 * time.Second, Version: "2.0", Cursor: filepath.Join(t.TempDir(), "cursor"),
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return epoch().Add(1210 * time.Second) }})
	p := place{}
	if err := s.step(t.Context(), recorded(t, epoch()), &p); err == nil || !strings.Contains(err.Error(), "it is not known whether they were taken") || s.Sent.Load() != 0 {
		t.Errorf("%v, %d sent", err, s.Sent.Load())
	}
}

// What is no receiver is said with its own first words, and read no further.
func TestNoReceiver(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/html", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<html>no such page")
	})
	mux.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		for range 1 << 20 {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	rec := recorded(t, epoch())
	for path, want := range map[string]string{"/html": `404 Not Found: "<html>no such page"`, "/endless": "502"} {
		s := newSender(t, Options{URL: server.URL + path, Every: 30 * time.Second, Cursor: filepath.Join(t.TempDir(), "cursor"),
			Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return epoch().Add(1210 * time.Second) }})
		p := place{}
		if err := s.step(t.Context(), rec, &p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
