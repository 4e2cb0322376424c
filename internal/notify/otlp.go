package notify

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	logs "go.opentelemetry.io/proto/slim/otlp/logs/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"iocause/internal/outbound"
)

// Record is a log record of OpenTelemetry: an event with a name.
type Record struct {
	At         time.Time         `json:"at"`
	Name       string            `json:"name"` // of the event
	Warning    bool              `json:"warning,omitempty"`
	Body       string            `json:"body"`
	Attributes map[string]string `json:"attributes"`
}

// Logs is a receiver of log records over OTLP/HTTP
// (https://opentelemetry.io/docs/specs/otlp/#otlphttp).
type Logs struct {
	URL       string // whole: https://collector:4318/v1/logs
	TokenFile string // holds a bearer token, "" for none
	Resource  map[string]string
	Client    *http.Client
}

const otlpType = "application/x-protobuf"

// mostReceipt is how much of an answer is read, in bytes.
const mostReceipt = 64 << 10

// Post sends records.
func (l *Logs) Post(ctx context.Context, records []Record) error {
	if err := l.post(ctx, records); err != nil {
		return fmt.Errorf("sending %d log records to %s: %w", len(records), outbound.Host(l.URL), err)
	}
	return nil
}

func (l *Logs) post(ctx context.Context, records []Record) error {
	raw, err := proto.Marshal(l.pack(records))
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err = z.Write(raw)
	if err = errors.Join(err, z.Close()); err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.URL, &packed)
	if err != nil {
		return outbound.Unquoted(err)
	}
	r.Header.Set("Content-Type", otlpType)
	r.Header.Set("Content-Encoding", "gzip")
	if err := outbound.Introduce(r, l.TokenFile); err != nil {
		return err
	}
	answer, err := l.Client.Do(r)
	if err != nil {
		return outbound.Unquoted(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, mostReceipt)) // what there is of it
	var said collector.ExportLogsServiceResponse
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	switch code := answer.StatusCode; {
	case code == http.StatusBadRequest || code == http.StatusRequestEntityTooLarge:
		return fmt.Errorf("%w: %s: %.200q", ErrNotTaken, answer.Status, text)
	case code/100 != 2:
		return fmt.Errorf("it answered %s: %.200q", answer.Status, text)
	case kind != otlpType || proto.Unmarshal(text, &said) != nil:
		return fmt.Errorf("this is not an answer of an OTLP receiver: %s: %.200q", kind, text)
	case said.PartialSuccess.GetRejectedLogRecords() > 0:
		return fmt.Errorf("%w: %d of them: %.200q", ErrNotTaken, said.PartialSuccess.RejectedLogRecords, said.PartialSuccess.ErrorMessage)
	}
	return nil
}

func (l *Logs) pack(records []Record) *logs.LogsData {
	all := make([]*logs.LogRecord, len(records))
	for i, r := range records {
		severity, text := logs.SeverityNumber_SEVERITY_NUMBER_INFO, "INFO"
		if r.Warning {
			severity, text = logs.SeverityNumber_SEVERITY_NUMBER_WARN, "WARN"
		}
		at := uint64(r.At.UnixNano())
		all[i] = &logs.LogRecord{TimeUnixNano: at, ObservedTimeUnixNano: at, SeverityNumber: severity, SeverityText: text,
			EventName: r.Name, Body: valueOf(r.Body), Attributes: attributes(r.Attributes)}
	}
	return &logs.LogsData{ResourceLogs: []*logs.ResourceLogs{{
		Resource:  &resource.Resource{Attributes: attributes(l.Resource)},
		ScopeLogs: []*logs.ScopeLogs{{Scope: &common.InstrumentationScope{Name: "iocause"}, LogRecords: all}},
	}}}
}

func attributes(of map[string]string) (all []*common.KeyValue) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all = append(all, &common.KeyValue{Key: name, Value: valueOf(of[name])})
	}
	return all
}

// valueOf is a value that is a text. Those of the protocol are UTF-8.
func valueOf(s string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: strings.ToValidUTF8(s, "\uFFFD")}}
}
