package remote

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/prometheus/prometheus/util/compression"

	"iocause/internal/outbound"
)

// The versions of the protocol.
const (
	version1 = "1.0"
	version2 = "2.0"
)

// These tell, in version 2.0, how many values and how many histograms were taken.
const (
	writtenHeader    = "X-Prometheus-Remote-Write-Samples-Written"
	histogramsHeader = "X-Prometheus-Remote-Write-Histograms-Written"
)

// send sends one request, and tells how many of its values were taken. Where it is
// not known yet whether the receiver speaks 2.0, it is asked in that, and in 1.0 if
// it answers as one that does not.
func (s *Sender) send(ctx context.Context, b batch) (taken int, err error) {
	switch s.version {
	case OTLP:
		return s.sendOTLP(ctx, b)
	case version1:
		return s.ask1(ctx, b)
	}
	samples, histograms := b.values()
	if s.classic {
		b = b.flat()
		samples, histograms = b.values()
	}
	resp, err := s.post(ctx, b, version2)
	if err != nil {
		return 0, err
	}
	err = resp.failure()
	taken, said := resp.written(writtenHeader, samples)
	native, _ := resp.written(histogramsHeader, histograms)
	if said && taken == samples && native == 0 && histograms > 0 && (err == nil || resp.refuses()) {
		s.classic = true
		s.o.Log.Info("the receiver takes no native histograms: using classic ones from now on", "to", outbound.Host(s.o.URL))
		more, err := s.send(ctx, slices.DeleteFunc(slices.Clone(b), func(e entry) bool { return e.parts == nil }))
		return min(taken+more, samples+histograms), err
	}
	taken += native
	switch {
	case said && err == nil && taken < samples+histograms:
		err = fmt.Errorf("%w: %d of %d were taken", errRefused, taken, samples+histograms)
		fallthrough
	case said:
		s.sure = s.sure || resp.code/100 == 2
		return taken, err
	case resp.code != http.StatusUnsupportedMediaType && (s.sure || err != nil && !resp.refuses()), s.o.Version == version2:
		if err == nil {
			err = fmt.Errorf("sending values: it is not known whether they were taken: the answer has no %s", writtenHeader)
		}
		return 0, err
	}
	if taken, err = s.ask1(ctx, b); err == nil {
		s.o.Log.Info("the receiver does not support remote write 2.0: using 1.0 from now on", "to", outbound.Host(s.o.URL))
		s.version = version1
	}
	return taken, err
}

// ask1 asks in version 1.0, where an answer counts as a whole.
func (s *Sender) ask1(ctx context.Context, b batch) (taken int, err error) {
	resp, err := s.post(ctx, b, version1)
	if err == nil {
		err = resp.failure()
	}
	if err != nil {
		return 0, err
	}
	taken, _ = b.flat().values()
	return taken, nil
}

// answer is what the receiver said.
type answer struct {
	code   int
	status string
	header http.Header
	text   []byte // 64 KiB of it at most
}

// refuses tells whether trying again will not change the answer.
func (a *answer) refuses() bool {
	switch a.code {
	case http.StatusTooManyRequests, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusRequestTimeout:
		return false
	}
	return a.code/100 == 4
}

// written is how many of so many values were taken, if it says.
func (a *answer) written(header string, of int) (n int, said bool) {
	n, err := strconv.Atoi(a.header.Get(header))
	if err != nil || n < 0 || n > of {
		return 0, false
	}
	return n, true
}

// failure is why the values as a whole, or the rest of them, were not taken.
func (a *answer) failure() error {
	switch {
	case a.code/100 == 2:
		return nil
	case a.refuses():
		return fmt.Errorf("%w: %s: %.512q", errRefused, a.status, a.text)
	default:
		return fmt.Errorf("sending values: %s: %.512q", a.status, a.text)
	}
}

// post sends one request.
func (s *Sender) post(ctx context.Context, b batch, version string) (*answer, error) {
	pack, kind, number := pack1, "application/x-protobuf", "0.1.0"
	if version == version2 {
		pack, kind, number = s.pack2, "application/x-protobuf;proto=io.prometheus.write.v2.Request", "2.0.0"
	}
	raw, err := pack(b)
	if err != nil {
		return nil, fmt.Errorf("packing values: %w", err)
	}
	packed, err := compression.Encode(compression.Snappy, raw, compression.NewSyncEncodeBuffer())
	if err != nil {
		return nil, fmt.Errorf("packing values: %w", err)
	}
	return s.ask(ctx, packed, map[string]string{"Content-Encoding": "snappy", "Content-Type": kind, "X-Prometheus-Remote-Write-Version": number})
}

// ask posts a body, and reads the begin of the answer.
func (s *Sender) ask(ctx context.Context, body []byte, header map[string]string) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.o.URL, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("sending values: %w", outbound.Unquoted(err))
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	if err := outbound.Introduce(req, s.o.TokenFile); err != nil {
		return nil, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("sending values: %w", outbound.Unquoted(err))
	}
	defer resp.Body.Close()
	return &answer{resp.StatusCode, resp.Status, resp.Header, readAnswer(resp.Body)}, nil
}

func pack1(b batch) ([]byte, error) {
	b = b.flat()
	w := prompb.WriteRequest{Timeseries: make([]prompb.TimeSeries, len(b))}
	for i, l := range b {
		t := &w.Timeseries[i]
		for _, x := range l.Labels {
			t.Labels = append(t.Labels, prompb.Label{Name: x.Name, Value: x.Value})
		}
		for _, p := range l.Points {
			t.Samples = append(t.Samples, prompb.Sample{Timestamp: p.At.UnixMilli(), Value: p.Value})
		}
	}
	return w.Marshal()
}

// pack2 writes each name once, and says what each series is.
func (s *Sender) pack2(b batch) ([]byte, error) {
	symbols := writev2.NewSymbolTable()
	w := writev2.Request{Timeseries: make([]writev2.TimeSeries, len(b))}
	for i, l := range b {
		t := &w.Timeseries[i]
		for _, x := range l.Labels {
			t.LabelsRefs = append(t.LabelsRefs, symbols.Symbolize(x.Name), symbols.Symbolize(x.Value))
		}
		for i := range l.native {
			t.Histograms = append(t.Histograms, l.native[i].write2())
		}
		for _, p := range l.Points {
			t.Samples = append(t.Samples, writev2.Sample{Timestamp: p.At.UnixMilli(), Value: p.Value})
		}
		if s.o.Describe != nil {
			kind, help := s.o.Describe(l.Name)
			t.Metadata = writev2.Metadata{Type: typeOf(kind), HelpRef: symbols.Symbolize(help)}
		}
	}
	w.Symbols = symbols.Symbols()
	return w.Marshal()
}

func typeOf(kind string) writev2.Metadata_MetricType {
	switch kind {
	case "counter":
		return writev2.Metadata_METRIC_TYPE_COUNTER
	case "histogram":
		return writev2.Metadata_METRIC_TYPE_HISTOGRAM
	case "gauge":
		return writev2.Metadata_METRIC_TYPE_GAUGE
	}
	return writev2.Metadata_METRIC_TYPE_UNSPECIFIED
}
