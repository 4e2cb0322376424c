package remote

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math"
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
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
	metrics "go.opentelemetry.io/proto/slim/otlp/metrics/v1"

	"iocause/internal/store/series"
)

// latencies is a recording of 20 minutes in which, every ten seconds, 9 requests take
// up to 1/1024 s and one takes 1/4 s.
func latencies(t *testing.T) *series.Recording {
	t.Helper()
	r, err := series.Open(series.Options{Dir: filepath.Join(t.TempDir(), "rec"), Keep: [series.Tiers]time.Duration{48 * time.Hour, 0, 0}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	part := func(name, bound string) *series.Series {
		return series.New("iocause_disk_read_latency_seconds"+name, series.Label{Name: "device", Value: "vda"}, series.Label{Name: "le", Value: bound})
	}
	var buckets []*series.Series
	const lowest, highest = -12, 0
	for e := lowest; e <= highest; e++ {
		buckets = append(buckets, part("_bucket", series.BoundOf(math.Ldexp(1, e))))
	}
	buckets = append(buckets, part("_bucket", "+Inf"))
	count, sum, other := part("_count", ""), part("_sum", ""), series.New("test_total")
	for s := 0; s <= 1210; s += 10 {
		n := float64(s / 10)
		f := series.Frame{At: epoch().Add(time.Duration(s) * time.Second), Values: []series.Value{{Of: count, V: 10 * n}, {Of: sum, V: 0.26 * n}, {Of: other, V: n}}}
		for i, b := range buckets {
			up := 0.0
			if e := lowest + i; e >= -2 {
				up = 10 * n
			} else if e >= -10 {
				up = 9 * n
			}
			f.Values = append(f.Values, series.Value{Of: b, V: up})
		}
		if _, err := r.Append([]series.Frame{f}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func optionsTo(t *testing.T, url string, log io.Writer) Options {
	return Options{
		URL: url, Every: 30 * time.Second, Cursor: filepath.Join(t.TempDir(), "cursor"), Labels: []series.Label{{Name: "instance", Value: "here"}},
		Describe: func(name string) (kind, help string) {
			return map[bool]string{true: "histogram", false: "counter"}[strings.Contains(name, "latency")], "it"
		},
		Log: slog.New(slog.NewTextHandler(log, nil)), Now: func() time.Time { return epoch().Add(1210 * time.Second) },
	}
}

// Prometheus's own receiver, store and language: histograms arrive as native ones,
// and their quantiles are those of the requests. Where 1.0 is spoken they are
// classic ones, with the same answer; and so where a receiver of 2.0 takes none.
func TestHistogramsInPrometheus(t *testing.T) {
	rec := latencies(t)
	both := remoteapi.MessageTypes{remoteapi.WriteV1MessageType, remoteapi.WriteV2MessageType}
	for name, c := range map[string]struct {
		takes  remoteapi.MessageTypes
		refuse bool // native histograms, as a receiver that does not know them
		native bool
		said   string
	}{
		"2.0":                {takes: both, native: true},
		"1.0":                {takes: both[:1], said: "using 1.0"},
		"2.0, no histograms": {takes: both, refuse: true, said: "takes no native histograms"},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := tsdb.Open(t.TempDir(), slog.New(slog.DiscardHandler), nil, tsdb.DefaultOptions(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			server := httptest.NewServer(remoteapi.NewWriteHandler(&database{db, !c.refuse}, c.takes))
			defer server.Close()
			var log bytes.Buffer
			sent, refused := drain(t, rec, optionsTo(t, server.URL, &log))
			if refused != 0 || sent == 0 || !strings.Contains(log.String(), c.said) {
				t.Errorf("%d sent, %d refused: %s", sent, refused, log.String())
			}
			engine := promql.NewEngine(promql.EngineOpts{Logger: slog.New(slog.DiscardHandler), MaxSamples: 1e6, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{})})
			value := func(expr string) float64 {
				q, err := engine.NewInstantQuery(t.Context(), db, nil, expr, epoch().Add(1190*time.Second))
				if err != nil {
					t.Fatal(err)
				}
				defer q.Close()
				v, err := q.Exec(t.Context()).Vector()
				if err != nil {
					t.Fatal(err)
				}
				if len(v) != 1 {
					return math.NaN()
				}
				return v[0].F
			}
			const is = `iocause_disk_read_latency_seconds{instance="here",device="vda"}`
			of := map[bool]string{true: "rate(" + is + "[10m])", false: "sum by (le) (rate(" + strings.Replace(is, "{", "_bucket{", 1) + "[10m]))"}[c.native]
			for q, want := range map[string][2]float64{"0.5": {1. / 2048, 1. / 1024}, "0.95": {1. / 8, 1. / 4}} {
				if got := value("histogram_quantile(" + q + ", " + of + ")"); !(got >= want[0] && got <= want[1]) {
					t.Errorf("the quantile %s is %g, want %g to %g", q, got, want[0], want[1])
				}
			}
			if got := value("histogram_count(" + is + ")"); c.native != (got > 0 && math.Mod(got, 10) == 0) {
				t.Errorf("%g requests in native histograms", got)
			}
			if got := value(`test_total`); math.IsNaN(got) {
				t.Error("the counter beside them is missing")
			}
		})
	}
}

// database keeps what the receiver of Prometheus's library hands on in a database of
// Prometheus.
type database struct {
	db         *tsdb.DB
	histograms bool // it takes native ones
}

func (d *database) Store(r *http.Request, kind remoteapi.WriteMessageType) (*remoteapi.WriteResponse, error) {
	said := remoteapi.NewWriteResponse()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return said, err
	}
	app := d.db.Appender(r.Context())
	if kind == remoteapi.WriteV1MessageType {
		var w prompb.WriteRequest
		if err := w.Unmarshal(body); err != nil {
			return said, err
		}
		b := labels.NewScratchBuilder(0)
		for _, x := range w.Timeseries {
			l := x.ToLabels(&b, nil)
			for _, v := range x.Samples {
				if _, err := app.Append(0, l, v.Timestamp, v.Value); err != nil {
					return said, err
				}
			}
		}
		return said, app.Commit()
	}
	var w writev2.Request
	if err := w.Unmarshal(body); err != nil {
		return said, err
	}
	for _, x := range w.Timeseries {
		b := labels.NewScratchBuilder(0)
		l, err := x.ToLabels(&b, w.Symbols)
		if err != nil {
			return said, err
		}
		for _, v := range x.Samples {
			if _, err := app.Append(0, l, v.Timestamp, v.Value); err != nil {
				return said, err
			}
			said.Samples++
		}
		for _, h := range x.Histograms {
			if !d.histograms {
				break
			}
			if _, err := app.AppendHistogram(0, l, h.Timestamp, h.ToIntHistogram(), nil); err != nil {
				return said, err
			}
			said.Histograms++
		}
	}
	return said, app.Commit()
}

// Over OTLP they are exponential histograms of scale 0, each instant once.
func TestHistogramsOverOTLP(t *testing.T) {
	var got []*metrics.ExponentialHistogramDataPoint
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, m := range receiveOTLP(t, r).ResourceMetrics[0].ScopeMetrics[0].Metrics {
			if h := m.GetExponentialHistogram(); h != nil {
				if m.Name != "iocause.disk_read_latency" || m.Unit != "s" || h.AggregationTemporality != metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
					t.Errorf("%s in %s, %v", m.Name, m.Unit, h.AggregationTemporality)
				}
				got = append(got, h.DataPoints...)
			} else if strings.Contains(m.Name, "latency") {
				t.Errorf("%s is told in parts", m.Name)
			}
		}
		answerOTLP(w, 0)
	}))
	defer server.Close()
	o := optionsTo(t, server.URL, io.Discard)
	o.Version = OTLP
	drain(t, latencies(t), o)
	if len(got) < 30 {
		t.Fatalf("%d histograms", len(got))
	}
	for i, p := range got {
		n := p.Count / 10
		in := func(e int) uint64 { return p.Positive.BucketCounts[e-1-int(p.Positive.Offset)] } // up to 2^e
		if p.Scale != 0 || p.Count%10 != 0 || in(-10) != 9*n || in(-2) != n || p.ZeroCount != 0 || fmt.Sprint(p.GetSum()) != fmt.Sprint(0.26*float64(n)) && math.Abs(p.GetSum()-0.26*float64(n)) > 1e-9 {
			t.Fatalf("%+v", p)
		}
		if i > 0 && p.TimeUnixNano <= got[i-1].TimeUnixNano {
			t.Errorf("%d after %d", p.TimeUnixNano, got[i-1].TimeUnixNano)
		}
	}
}

// Histograms of other bounds than powers of two have no schema: they stay as they
// are, and an instant that lacks a part is not told as a whole.
func TestWhatIsNoWholeHistogram(t *testing.T) {
	at := epoch()
	line := func(name, bound string, values ...float64) series.Line {
		l := series.Line{Name: name}
		if bound != "" {
			l.Labels = []series.Label{{Name: "le", Value: bound}}
		}
		for i, v := range values {
			l.Points = append(l.Points, series.Point{At: at.Add(time.Duration(i) * time.Second), Value: v})
		}
		return l
	}
	all := entries([]series.Line{line("a_bucket", "1", 1, 2), line("a_bucket", "2", 1, 3), line("a_bucket", "+Inf", 1, 3), line("a_sum", "", 1), line("b_sum", "", 7)})
	if len(all) != 2 || len(all[0].native) != 1 || all[1].Name != "b_sum" {
		t.Errorf("%+v", all)
	}
	if odd := entries([]series.Line{line("a_bucket", "1", 1), line("a_bucket", "3", 1), line("a_bucket", "+Inf", 1), line("a_sum", "", 1)}); len(odd) != 1 || odd[0].native != nil {
		t.Errorf("%+v", odd)
	}
	h := (&snapshot{at: at, lowest: -2, counts: []float64{4, 0, 3, 5, 0, 0, 1}, sum: 9}).histogram()
	if err := h.Validate(); err != nil || h.Count != 13 || h.ZeroCount != 4 {
		t.Errorf("%v: %v", h, err)
	}
	if got := h.String(); got != "{count:13, sum:9, [-0.25,0.25]:4, (0.5,1]:3, (1,2]:5, (8,16]:1}" {
		t.Error(got)
	}
}
