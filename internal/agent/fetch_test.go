package agent

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/store/incidents"
)

// identity writes a certificate for 127.0.0.1 with its key, and a token.
func identity(t *testing.T) (f Fetch, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	is := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, is, is, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	f = Fetch{Listen: "127.0.0.1:0", CertFile: put("cert", cert), KeyFile: put("key", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})),
		TokenFile: put("token", []byte("0123456789abcdef\n"))}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	return f, pool
}

// A recording is given to who shows the token, over TLS, one at a time; to others it
// is said what is wrong, and nothing is recorded.
func TestRecordingsAreFetched(t *testing.T) {
	config, pool := identity(t)
	c := DefaultConfig()
	c.Fetch = config
	var log require.Output
	started, finish := make(chan Ask, 1), make(chan struct{})
	a := &Agent{config: c, host: host.Live(), log: slog.New(slog.NewTextHandler(&log, nil)), judge: func(_ context.Context, ask Ask) Finding {
		started <- ask
		<-finish
		return Finding{Sections: []incidents.Section{{Data: []byte("a window")}}}
	}}
	s, err := a.serveFetches(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	ask := func(token, duration string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+s.address()+FetchPath+"?duration="+duration, nil)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := client.Do(r)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	for _, x := range []struct {
		token, duration, said string
		code                  int
	}{
		{"", "2s", "the token is not that of this agent", 401}, {"0123456789abcdeg", "2s", "the token is not", 401}, {"0123456789abcdef0", "2s", "the token is not", 401},
		{"0123456789abcdef", "2h", "duration must be from 1s to 1m", 400}, {"0123456789abcdef", "", "duration must be", 400},
	} {
		if code, said := ask(x.token, x.duration); code != x.code || !strings.Contains(said, x.said) || len(started) > 0 {
			t.Errorf("%q %q: %d %s", x.token, x.duration, code, said)
		}
	}
	if !strings.Contains(log.String(), "without the right token") {
		t.Error("who has no token is not in the log")
	}
	first := make(chan string, 1)
	go func() {
		_, said := ask("0123456789abcdef", "2s")
		first <- said
	}()
	if got := <-started; got.Length != 2*time.Second || !got.Look {
		t.Errorf("%+v", got)
	}
	if code, said := ask("0123456789abcdef", "2s"); code != 409 || !strings.Contains(said, "another recording") {
		t.Errorf("beside another: %d %s", code, said)
	}
	close(finish)
	if said := <-first; said != "a window" {
		t.Errorf("%q", said)
	}
	if resp, err := http.Get("http://" + s.address() + FetchPath); err == nil {
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 400 || bytes.Contains(b, []byte("window")) {
			t.Errorf("without TLS: %s %s", resp.Status, b)
		}
	}
}

// Without a token that is long enough, or a certificate, nothing listens.
func TestFetchingNeedsItsFiles(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Fetch)
		want   string
	}{
		"short token":    {func(f *Fetch) { _ = os.WriteFile(f.TokenFile, []byte("short"), 0o600) }, "16 are the least"},
		"no token":       {func(f *Fetch) { f.TokenFile = "/no/such" }, "reading the token"},
		"no certificate": {func(f *Fetch) { f.CertFile = f.TokenFile }, "reading the certificate"},
	} {
		config := DefaultConfig()
		config.Fetch, _ = identity(t)
		c.change(&config.Fetch)
		a := &Agent{config: config, host: host.Live(), log: slog.New(slog.DiscardHandler), judge: func(context.Context, Ask) Finding { return Finding{} }}
		if _, err := a.serveFetches(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := parseConfig("x", []byte("fetch: {listen: \"127.0.0.1:9465\"}")); err == nil || !strings.Contains(err.Error(), "are all needed") {
		t.Errorf("%v", err)
	}
	if s, err := (&Agent{config: DefaultConfig()}).serveFetches(t.Context()); err != nil || s.at != nil {
		t.Errorf("it is on by default: %v", err)
	}
}
