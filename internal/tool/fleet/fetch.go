package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"iocause/internal/outbound"
	"iocause/internal/store/whole"
)

// Fetching is a recording that is wanted of one agent.
type Fetching struct {
	Host      string // with or without a port
	Length    time.Duration
	TokenFile string // holds the agent's token
	CAFile    string // certificates that the agent's is checked with, "" for the system's
	Output    string // a file that is not there yet
}

const (
	// fetchPort is where agents listen unless another one is given.
	fetchPort = "9465"
	// mostRecording is how much is taken, in bytes: a minute of a busy machine has some
	// ten million.
	mostRecording = 256 << 20
	// fetchGrace is how much longer than the recording the answer may take.
	fetchGrace = time.Minute
)

// Fetch has an agent watch with all probes, and writes what they saw to a file: all of
// it, or nothing.
func Fetch(ctx context.Context, f *Fetching, path, kind string) (size int, err error) {
	if f.TokenFile == "" {
		return 0, &BadEndpoint{errors.New("reading --token-file: it is missing; the agent gives recordings only to who has its token")}
	}
	address := f.Host
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(strings.Trim(address, "[]"), fetchPort)
	}
	u := url.URL{Scheme: "https", Host: address, Path: path, RawQuery: url.Values{"duration": {f.Length.String()}}.Encode()}
	if parsed, err := url.Parse(u.String()); err != nil || parsed.Host != address || strings.ContainsAny(f.Host, "/?#@") {
		return 0, &BadEndpoint{fmt.Errorf("reading the arguments: %q is not a host; write db1 or db1:%s", f.Host, fetchPort)}
	}
	exists := &BadEndpoint{fmt.Errorf("writing %s: it exists already, or cannot be examined; give another name", f.Output)}
	if _, err := os.Lstat(f.Output); !errors.Is(err, fs.ErrNotExist) {
		return 0, exists
	}
	client, err := outbound.Client(f.CAFile)
	if err != nil {
		return 0, err
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, f.Length+fetchGrace)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), nil)
	if err != nil {
		return 0, fmt.Errorf("fetching from %s: %w", address, err)
	}
	if err := outbound.Introduce(r, f.TokenFile); err != nil {
		return 0, err
	}
	resp, err := client.Do(r)
	if err != nil {
		return 0, fmt.Errorf("fetching from %s: %w", address, unwrapped(err))
	}
	defer resp.Body.Close()
	if got, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); resp.StatusCode != http.StatusOK || got != kind {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 300)) // only to tell what it is
		return 0, fmt.Errorf("fetching from %s: it answers %s: %.300q", address, resp.Status, bytes.TrimSpace(said))
	}
	if resp.ContentLength < 0 || resp.ContentLength > mostRecording {
		return 0, fmt.Errorf("fetching from %s: the recording has %d bytes, and %d MiB are the most", address, resp.ContentLength, mostRecording>>20)
	}
	_, err = whole.Create(f.Output, 0o600, func(w io.Writer) error {
		n, err := io.Copy(w, resp.Body)
		size = int(n)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("the connection ended after %d of %d bytes; fetch it again", n, resp.ContentLength)
		}
		return err
	})
	switch {
	case errors.Is(err, fs.ErrExist): // since then
		return 0, exists
	case err != nil:
		return 0, fmt.Errorf("fetching from %s to %s: %w; nothing was kept", address, f.Output, err)
	}
	return size, nil
}
