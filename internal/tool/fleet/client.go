package fleet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"iocause/internal/outbound"
)

// Endpoint is where to ask: whatever answers the query API of Prometheus
// (https://prometheus.io/docs/prometheus/latest/querying/api/).
type Endpoint struct {
	URL       string // up to, but without, /api/v1
	TokenFile string // holds a bearer token; "" for none
	CAFile    string // certificates that its own is checked with; "" for the system's
	Timeout   time.Duration
}

// mostAnswer is how much of an answer is read, in bytes: ten thousand hosts give
// some 15 MB.
const mostAnswer = 512 << 20

// client asks one endpoint.
type client struct {
	base  string
	token string
	http  *http.Client

	mu   sync.Mutex
	note func(string) // what the endpoint warns of; not at once
}

// BadEndpoint is one that cannot be asked for what was written.
type BadEndpoint struct{ Err error }

func (e *BadEndpoint) Error() string { return e.Err.Error() }

func (e *BadEndpoint) Unwrap() error { return e.Err }

func newClient(e *Endpoint, note func(string)) (*client, error) {
	u, err := url.Parse(e.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, &BadEndpoint{fmt.Errorf("reading --url: %q is not the address of a Prometheus; write it like http://prometheus:9090", e.URL)}
	}
	if u.User != nil {
		return nil, &BadEndpoint{errors.New("reading --url: it holds a password, which others can see in the list of processes; put a token into a file (--token-file)")}
	}
	c := &client{base: strings.TrimSuffix(strings.TrimSuffix(e.URL, "/"), "/api/v1"), note: note}
	if c.http, err = outbound.Client(e.CAFile); err != nil {
		return nil, err
	}
	c.http.Timeout = e.Timeout
	if e.TokenFile != "" {
		b, err := os.ReadFile(e.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("reading the token: %w", err)
		}
		c.token = strings.TrimSpace(string(b))
	}
	return c, nil
}

func (c *client) close() { c.http.CloseIdleConnections() }

// line is one series of an answer.
type line struct {
	Metric map[string]string
	Value  point
	Values []point
	// Histograms are native ones.
	Histograms []distribution
}

// distribution is a native histogram at an instant: [1790000000.5, {"buckets": [[0,
// "0.5", "1", "3"]]}], of how the bounds count, the lower, the upper, and how many.
type distribution struct {
	at      time.Time
	buckets []bucket
}

type bucket struct{ upper, count float64 }

// UnmarshalJSON implements json.Unmarshaler.
func (d *distribution) UnmarshalJSON(b []byte) error {
	var said struct{ Buckets [][4]any }
	at := 0.0
	if err := json.Unmarshal(b, &[]any{&at, &said}); err != nil || math.Abs(at) > 1e11 {
		return fmt.Errorf("%.60q is not a histogram of a series: %w", b, err)
	}
	d.at = time.UnixMilli(int64(math.Round(at * 1000)))
	for _, x := range said.Buckets {
		upper, err := number(x[2])
		count, err2 := number(x[3])
		if err = errors.Join(err, err2); err != nil {
			return fmt.Errorf("a bucket of a histogram: %w", err)
		}
		d.buckets = append(d.buckets, bucket{upper, count})
	}
	return nil
}

// number reads a figure, which the API writes as a text.
func number(v any) (float64, error) {
	s, ok := v.(string)
	if !ok {
		return 0, fmt.Errorf("%.20v is not a figure", v)
	}
	return strconv.ParseFloat(s, 64)
}

// atOnce asks several questions together, and tells why the first of them failed.
func atOnce(questions ...func() error) error {
	failed := make([]error, len(questions))
	var all sync.WaitGroup
	for i, ask := range questions {
		all.Go(func() { failed[i] = ask() })
	}
	all.Wait()
	return cmp.Or(failed...)
}

// point is an instant and a value: [1790000000.5, "0.25"].
type point struct {
	at    time.Time
	value float64
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *point) UnmarshalJSON(b []byte) error {
	at, value, ok := bytes.Cut(bytes.Trim(b, "[] \n"), []byte(","))
	seconds, err := strconv.ParseFloat(string(bytes.TrimSpace(at)), 64)
	v, err2 := strconv.ParseFloat(string(bytes.Trim(value, `" `)), 64)
	if !ok || err != nil || err2 != nil || math.Abs(seconds) > 1e11 {
		return fmt.Errorf("%.60q is not a point of a series", b)
	}
	p.at, p.value = time.UnixMilli(int64(math.Round(seconds*1000))), v
	return nil
}

// at asks for the values at an instant.
func (c *client) at(ctx context.Context, expr string, at time.Time) ([]line, error) {
	return c.ask(ctx, "query", expr, url.Values{"time": {stamp(at)}})
}

// over asks for values from one instant to another. Without nocache VictoriaMetrics
// moves both to multiples of the step.
func (c *client) over(ctx context.Context, expr string, from, to time.Time, step time.Duration) ([]line, error) {
	return c.ask(ctx, "query_range", expr, url.Values{"start": {stamp(from)}, "end": {stamp(to)}, "step": {strconv.FormatFloat(step.Seconds(), 'f', -1, 64)}, "nocache": {"1"}})
}

func stamp(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }

// answer is what the API gives.
type answer struct {
	Status    string
	ErrorType string
	Error     string
	Warnings  []string
	Data      struct {
		ResultType string
		Result     []line
	}
}

func (c *client) ask(ctx context.Context, way, expr string, form url.Values) ([]line, error) {
	form.Set("query", expr)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/api/v1/"+way, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", c.base, err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("User-Agent", "iocause")
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", c.base, unwrapped(err))
	}
	defer resp.Body.Close()
	a, err := read(resp)
	if err != nil {
		return nil, fmt.Errorf("asking %s for %s: %w", c.base, expr, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range a.Warnings {
		c.note(w)
	}
	return a.Data.Result, nil
}

// unwrapped is an error without the URL that package http puts before it.
func unwrapped(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// read takes an answer apart. What is no answer of the API, as the page of a
// proxy, is told by its first words.
func read(resp *http.Response) (*answer, error) {
	body := &io.LimitedReader{R: resp.Body, N: mostAnswer + 1}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "application/json" {
		head, _ := io.ReadAll(io.LimitReader(body, 200)) // only to tell what it is
		return nil, fmt.Errorf("it answers %s with %q, which is not the query API of Prometheus: %.200q", resp.Status, kind, head)
	}
	var a answer
	err := json.NewDecoder(body).Decode(&a)
	switch {
	case err != nil && body.N <= 0:
		return nil, fmt.Errorf("the answer is longer than %d MiB: ask for a part of the hosts (--match), or a shorter time", mostAnswer>>20)
	case err != nil:
		return nil, fmt.Errorf("its answer (%s) cannot be read: %w", resp.Status, err)
	case a.Status != "success":
		return nil, fmt.Errorf("it refuses (%s): %s: %.500s", resp.Status, a.ErrorType, a.Error)
	}
	return &a, nil
}
