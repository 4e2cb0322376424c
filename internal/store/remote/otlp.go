package remote

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"slices"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/slim/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"iocause/internal/store/series"
)

// OTLP is a version that is no remote write: OpenTelemetry's protocol over HTTP,
// in protocol buffers (https://opentelemetry.io/docs/specs/otlp/#otlphttp).
const OTLP = "otlp"

// otlpType is what requests and answers are.
const otlpType = "application/x-protobuf"

// sendOTLP sends one request, and tells how many of its values were taken.
func (s *Sender) sendOTLP(ctx context.Context, b batch) (taken int, err error) {
	raw, err := proto.Marshal(s.packOTLP(b))
	if err != nil {
		return 0, fmt.Errorf("packing values: %w", err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err = z.Write(raw)
	if err = errors.Join(err, z.Close()); err != nil {
		return 0, fmt.Errorf("packing values: %w", err)
	}
	resp, err := s.ask(ctx, packed.Bytes(), map[string]string{"Content-Type": otlpType, "Content-Encoding": "gzip"})
	if err != nil {
		return 0, err
	}
	if err := resp.failure(); err != nil {
		return 0, err
	}
	var said collector.ExportMetricsServiceResponse
	kind, _, _ := mime.ParseMediaType(resp.header.Get("Content-Type"))
	if kind != otlpType || proto.Unmarshal(resp.text, &said) != nil {
		return 0, fmt.Errorf("sending values: this is not an answer of an OTLP receiver: %s: %.200q", kind, resp.text)
	}
	samples, histograms := b.values()
	if p := said.PartialSuccess; p.GetRejectedDataPoints() > 0 {
		return max(0, samples+histograms-int(p.RejectedDataPoints)), fmt.Errorf("%w: %.200q", errRefused, p.ErrorMessage)
	}
	return samples + histograms, nil
}

// packOTLP writes values as one resource's: the host's.
func (s *Sender) packOTLP(b batch) *metrics.MetricsData {
	of := map[string]*metrics.Metric{}
	var all []*metrics.Metric
	for _, l := range b {
		n := conventional(l.Name)
		m := of[n.name]
		if m == nil {
			m = &metrics.Metric{Name: n.name, Unit: n.unit}
			if s.o.Describe != nil {
				_, m.Description = s.o.Describe(l.Name)
			}
			switch {
			case l.parts != nil:
				m.Data = &metrics.Metric_ExponentialHistogram{ExponentialHistogram: &metrics.ExponentialHistogram{AggregationTemporality: metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE}}
			case n.sum:
				m.Data = &metrics.Metric_Sum{Sum: &metrics.Sum{AggregationTemporality: metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE, IsMonotonic: true}}
			default:
				m.Data = &metrics.Metric_Gauge{Gauge: &metrics.Gauge{}}
			}
			of[n.name] = m
			all = append(all, m)
		}
		attributes := slices.Clone(n.attributes)
		for _, x := range l.Labels {
			if x.Name == "__name__" || slices.Contains(s.o.Labels, x) {
				continue // of the resource
			}
			attributes = append(attributes, attribute(n.label(x.Name), x.Value))
		}
		var points []*metrics.NumberDataPoint
		for _, p := range l.Points {
			points = append(points, &metrics.NumberDataPoint{Attributes: attributes, TimeUnixNano: uint64(p.At.UnixNano()), Value: &metrics.NumberDataPoint_AsDouble{AsDouble: p.Value}})
		}
		switch data := m.Data.(type) {
		case *metrics.Metric_Sum:
			data.Sum.DataPoints = append(data.Sum.DataPoints, points...)
		case *metrics.Metric_ExponentialHistogram:
			for i := range l.native {
				data.ExponentialHistogram.DataPoints = append(data.ExponentialHistogram.DataPoints, l.native[i].exponential(attributes))
			}
		case *metrics.Metric_Gauge:
			data.Gauge.DataPoints = append(data.Gauge.DataPoints, points...)
		}
	}
	return &metrics.MetricsData{ResourceMetrics: []*metrics.ResourceMetrics{{
		Resource:     &resource.Resource{Attributes: resourceOf(s.o.Labels)},
		ScopeMetrics: []*metrics.ScopeMetrics{{Scope: &common.InstrumentationScope{Name: "iocause"}, Metrics: all}},
	}}}
}

// exponential is a histogram as OpenTelemetry has it, of scale 0: bucket i holds what
// is above 2^i and up to 2^(i+1).
func (w *snapshot) exponential(attributes []*common.KeyValue) *metrics.ExponentialHistogramDataPoint {
	p := &metrics.ExponentialHistogramDataPoint{Attributes: attributes, TimeUnixNano: uint64(w.at.UnixNano()), Sum: &w.sum,
		ZeroThreshold: math.Ldexp(1, w.lowest), ZeroCount: uint64(w.counts[0]), Count: uint64(w.counts[0])}
	b := &metrics.ExponentialHistogramDataPoint_Buckets{Offset: int32(w.lowest)}
	for _, n := range w.counts[1:] {
		b.BucketCounts = append(b.BucketCounts, uint64(n))
		p.Count += uint64(n)
	}
	p.Positive = b
	return p
}

// resourceOf are the labels of all series as attributes of the host.
func resourceOf(labels []series.Label) []*common.KeyValue {
	all := []*common.KeyValue{attribute("service.name", "iocause"), attribute("os.type", "linux")}
	for _, l := range labels {
		if l.Name == "instance" {
			all = append(all, attribute("host.name", l.Value), attribute("service.instance.id", l.Value))
			continue
		}
		all = append(all, attribute(l.Name, l.Value))
	}
	return all
}

func attribute(name, value string) *common.KeyValue {
	return &common.KeyValue{Key: name, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}

// mostAnswer is how much of an answer is read, in bytes: a message, or its begin.
const mostAnswer = 64 << 10

func readAnswer(r io.Reader) []byte {
	text, _ := io.ReadAll(io.LimitReader(r, mostAnswer)) // only to tell why
	return text
}
