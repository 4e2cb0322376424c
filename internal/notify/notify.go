// Package notify tells others of incidents: a command, a web hook, the system
// journal. What it sends is one JSON document that the caller made.
package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"iocause/internal/outbound"
)

// Action is what happened to an incident.
type Action string

// What happens to an incident, in this order unless it is over before it is
// judged.
const (
	Open   Action = "open"
	Judged Action = "judged" // its cause was looked for
	Close  Action = "close"
)

// Event is what is told.
type Event struct {
	Action   Action
	Number   int    // of the incident; 0: the disk has not taken it, and so it has none
	Summary  string // one line, escaped
	At       time.Time
	Document []byte // JSON
}

// Hook is one way to tell somebody.
type Hook interface {
	// Notify returns when the other side has taken the event, or ctx is done.
	Notify(ctx context.Context, e *Event) error
}

// All tells every hook at the same time, each within a limit. One that fails
// or hangs does not keep the others from being told.
func All(ctx context.Context, limit time.Duration, hooks []Hook, e *Event) error {
	told := make(chan error, len(hooks))
	for _, h := range hooks {
		go func() {
			one, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			told <- h.Notify(one, e)
		}()
	}
	const grace = time.Second // for who heeds the limit
	late := time.After(limit + grace)
	var all []error
	for n := range hooks {
		select {
		case err := <-told:
			all = append(all, err)
		case <-late:
			return errors.Join(append(all, fmt.Errorf("sending incident %d: %d hooks hang", e.Number, len(hooks)-n))...)
		}
	}
	return errors.Join(all...)
}

// Alone is a hook that is not called while a call before has not come back, as
// of a program on a disk that hangs: each would take a thread.
func Alone(h Hook) Hook { return &alone{h: h} }

type alone struct {
	h    Hook
	busy atomic.Bool
}

// Notify implements Hook.
func (a *alone) Notify(ctx context.Context, e *Event) error {
	if !a.busy.CompareAndSwap(false, true) {
		return fmt.Errorf("sending incident %d: %T still has an earlier event", e.Number, a.h)
	}
	defer a.busy.Store(false)
	return a.h.Notify(ctx, e)
}

// Command runs a program with the document on its standard input. The program
// finds IOCAUSE_ACTION and IOCAUSE_INCIDENT in its environment; nothing of the
// event is an argument, so that no name on the host becomes a part of a
// command.
type Command struct{ Args []string }

// most is how much of what a hook answers is looked at, in bytes.
const most = 4096

// Notify implements Hook.
func (c Command) Notify(ctx context.Context, e *Event) error {
	if len(c.Args) == 0 {
		return errors.New("sending an incident to a command: no command is given")
	}
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Stdin = bytes.NewReader(e.Document)
	cmd.Env = append(os.Environ(), "IOCAUSE_ACTION="+string(e.Action), "IOCAUSE_INCIDENT="+strconv.Itoa(e.Number))
	said := &head{}
	cmd.Stdout, cmd.Stderr = said, said
	cmd.WaitDelay = time.Second // what it started may hold the pipes
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fmt.Errorf("running the command %q for incident %d: %w%s", c.Args[0], e.Number, err, said)
	}
	return nil
}

// head keeps the beginning of what is written to it.
type head struct{ b []byte }

func (h *head) Write(p []byte) (int, error) {
	h.b = append(h.b, p[:min(len(p), most-len(h.b))]...)
	return len(p), nil
}

func (h *head) String() string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(h.b)), "\n")
	if line == "" {
		return ""
	}
	return fmt.Sprintf("; it said %q", line)
}

// Webhook posts the document to a URL. With a secret it is signed: the header
// X-Iocause-Signature is "t=SECONDS,v1=HEX", where HEX is the HMAC-SHA-256 of
// the seconds since 1970, a point and the body. Redirects are not followed:
// they would take the document elsewhere.
type Webhook struct {
	URL    string
	Secret []byte
}

// Signature signs a body that is sent at an instant.
func Signature(secret, body []byte, at time.Time) string {
	seconds := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, secret)
	io.WriteString(mac, seconds+".")
	mac.Write(body)
	return "t=" + seconds + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// Notify implements Hook.
func (w Webhook) Notify(ctx context.Context, e *Event) error {
	if err := w.post(ctx, e); err != nil {
		return fmt.Errorf("sending to the web hook at %s incident %d: %w", outbound.Host(w.URL), e.Number, err)
	}
	return nil
}

func (w Webhook) post(ctx context.Context, e *Event) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(e.Document))
	if err != nil {
		return outbound.Unquoted(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Iocause-Action", string(e.Action))
	if len(w.Secret) > 0 {
		r.Header.Set("X-Iocause-Signature", Signature(w.Secret, e.Document, e.At))
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		return outbound.Unquoted(err)
	}
	defer answer.Body.Close()
	said := &head{}
	_, _ = io.CopyN(said, answer.Body, most) // best effort: the status says it all
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("it answered %s%s", answer.Status, said)
	}
	return nil
}

// Journal writes an entry to the system journal by its native protocol
// (systemd.io/JOURNAL_NATIVE_PROTOCOL).
type Journal struct{ Socket string }

// JournalSocket is where the journal listens.
const JournalSocket = "/run/systemd/journal/socket"

// Notify implements Hook.
func (j Journal) Notify(ctx context.Context, e *Event) error {
	priority := "4" // warning
	if e.Action == Close {
		priority = "5" // notice
	}
	var b []byte
	for _, f := range [][2]string{{"MESSAGE", e.Summary}, {"PRIORITY", priority}, {"SYSLOG_IDENTIFIER", "iocause"},
		{"IOCAUSE_ACTION", string(e.Action)}, {"IOCAUSE_INCIDENT", strconv.Itoa(e.Number)}} {
		b = append(b, f[0]+"="+strings.ReplaceAll(f[1], "\n", " ")+"\n"...)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unixgram", j.Socket)
	if err == nil {
		defer conn.Close()
		if until, ok := ctx.Deadline(); ok {
			err = conn.SetDeadline(until) // a journal that hangs takes nothing once its socket is full
		}
	}
	if err == nil {
		_, err = conn.Write(b)
	}
	if err != nil {
		return fmt.Errorf("writing incident %d to the journal: %w", e.Number, err)
	}
	return nil
}
