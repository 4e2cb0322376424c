package notify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"iocause/internal/outbound"
)

// Alert is what an Alertmanager is told, and told again while it holds. Its
// labels are what it is known by: of the same labels there is one.
type Alert struct {
	Labels      map[string]string
	Annotations map[string]string
	Start       time.Time
	End         time.Time // zero while it holds
}

// Alertmanager is one Alertmanager of Prometheus, or what has its API, version 2
// (github.com/prometheus/alertmanager, api/v2/openapi.yaml).
type Alertmanager struct {
	url, tokenFile string
	client         *http.Client

	mu   sync.Mutex
	skew time.Duration // of its clock from this machine's, by what it answered last
}

// mostSkew is by how much the clocks may differ and count as the same: it answers
// in whole seconds.
const mostSkew = 2 * time.Second

// NewAlertmanager is the one at a base URL, as http://alertmanager:9093. tokenFile
// has a bearer token, caFile the certificates that its own is checked with; "" for
// none and for the system's.
func NewAlertmanager(base, tokenFile, caFile string) (*Alertmanager, error) {
	client, err := outbound.Client(caFile)
	if err != nil {
		return nil, err
	}
	return &Alertmanager{url: strings.TrimRight(base, "/") + "/api/v2/alerts", tokenFile: tokenFile, client: client}, nil
}

// Host is whom it asks, without what may be a secret.
func (a *Alertmanager) Host() string { return outbound.Host(a.url) }

// Key names it in files, whatever secret its address holds.
func (a *Alertmanager) Key() string {
	sum := sha256.Sum256([]byte(a.url))
	return hex.EncodeToString(sum[:6])
}

// postable is an alert in the API's words.
type postable struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      *time.Time        `json:"endsAt,omitempty"` // without it, it ends resolve_timeout after it was told
}

// Post tells alerts. Instants are told by the other side's clock, as far as it is
// known: an end that is in its future would not be one yet.
func (a *Alertmanager) Post(ctx context.Context, alerts []Alert) error {
	a.mu.Lock()
	skew := a.skew
	a.mu.Unlock()
	all := make([]postable, len(alerts))
	for i, x := range alerts {
		all[i] = postable{Labels: x.Labels, Annotations: x.Annotations, StartsAt: x.Start.Add(skew)}
		if !x.End.IsZero() {
			end := x.End.Add(skew)
			all[i].EndsAt = &end
		}
	}
	body, err := json.Marshal(all)
	if err == nil {
		err = a.post(ctx, body)
	}
	if err != nil {
		return fmt.Errorf("sending to the Alertmanager at %s %d alerts: %w", a.Host(), len(alerts), err)
	}
	return nil
}

func (a *Alertmanager) post(ctx context.Context, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		return outbound.Unquoted(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if err := outbound.Introduce(r, a.tokenFile); err != nil {
		return err
	}
	answer, err := a.client.Do(r)
	if err != nil {
		return outbound.Unquoted(err)
	}
	defer answer.Body.Close()
	if theirs, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		a.setSkew(time.Until(theirs))
	}
	said := &head{}
	_, _ = io.CopyN(said, answer.Body, most) // best effort: the status says it all
	switch {
	case answer.StatusCode/100 == 2:
		return nil
	case answer.StatusCode == http.StatusBadRequest:
		return fmt.Errorf("%w: %s%s", ErrNotTaken, answer.Status, said)
	default:
		return fmt.Errorf("it answered %s%s", answer.Status, said)
	}
}

// ErrNotTaken is an answer that trying again will not change.
var ErrNotTaken = errors.New("it refuses them for good")

func (a *Alertmanager) setSkew(d time.Duration) {
	if d.Abs() <= mostSkew {
		d = 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.skew = d
}
