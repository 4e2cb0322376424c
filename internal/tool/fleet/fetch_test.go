package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
)

const kind = "application/x-recording"

// A recording is whole or not there: with a token that is wrong, a certificate that
// is unknown, a connection that is cut, a disk that is full, an address of somebody
// else. Each time it is said what is wrong.
func TestFetch(t *testing.T) {
	data := bytes.Repeat([]byte("window "), 100_000)
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer 0123456789abcdef" || r.Method != http.MethodPost || r.URL.Query().Get("duration") != "2s" {
			http.Error(w, "the token is not that of this agent", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		switch r.URL.Path {
		case "/page":
			w.Header().Set("Content-Type", "text/html")
		case "/cut":
			_, _ = w.Write(data[:len(data)/2])
			panic(http.ErrAbortHandler)
		case "/endless":
			w.Header().Set("Content-Length", fmt.Sprint(10<<30))
		}
		_, _ = w.Write(data)
	}))
	defer s.Close()
	dir, full := t.TempDir(), t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	right, wrong, ca := put("right", "0123456789abcdef\n"), put("wrong", "0123456789abcdeX\n"), put("ca", string(certificate(s)))
	err := syscall.Mount("tmpfs", full, "tmpfs", 0, "size=64k")
	bpftest.Need(t, "root", err)
	defer func() {
		if err := syscall.Unmount(full, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	host := strings.TrimPrefix(s.URL, "https://")
	for name, c := range map[string]struct {
		f    Fetching
		path string
		want string
	}{
		"well":          {Fetching{Host: host, TokenFile: right, CAFile: ca, Output: filepath.Join(dir, "well")}, "/", ""},
		"wrong token":   {Fetching{Host: host, TokenFile: wrong, CAFile: ca}, "/", "the token is not that of this agent"},
		"no token":      {Fetching{Host: host, CAFile: ca}, "/", "--token-file"},
		"certificate":   {Fetching{Host: host, TokenFile: right}, "/", "certificate"},
		"cut":           {Fetching{Host: host, TokenFile: right, CAFile: ca}, "/cut", "the connection ended after"},
		"full disk":     {Fetching{Host: host, TokenFile: right, CAFile: ca, Output: filepath.Join(full, "x")}, "/", "no space left"},
		"a page":        {Fetching{Host: host, TokenFile: right, CAFile: ca}, "/page", "it answers 200 OK"},
		"10 GB":         {Fetching{Host: host, TokenFile: right, CAFile: ca}, "/endless", "256 MiB are the most"},
		"there already": {Fetching{Host: host, TokenFile: right, CAFile: ca, Output: right}, "/", "it exists already"},
		"no host":       {Fetching{Host: "https://db1/x", TokenFile: right}, "/", "is not a host"},
		"nobody":        {Fetching{Host: "127.0.0.1:1", TokenFile: right}, "/", "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.f.Output == "" {
				c.f.Output = filepath.Join(dir, "none")
			}
			c.f.Length = 2 * time.Second
			size, err := Fetch(t.Context(), &c.f, c.path, kind)
			if c.want == "" {
				b, readErr := os.ReadFile(c.f.Output)
				info, statErr := os.Stat(c.f.Output)
				if err = errors.Join(err, readErr, statErr); err != nil || size != len(data) || !bytes.Equal(b, data) || info.Mode() != 0o600 {
					t.Errorf("%d bytes, %v", size, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			left, _ := filepath.Glob(filepath.Join(filepath.Dir(c.f.Output), "*none*"))
			more, _ := filepath.Glob(filepath.Join(full, "*"))
			if left = append(left, more...); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}
