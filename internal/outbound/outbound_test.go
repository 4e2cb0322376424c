package outbound

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iocause/internal/require"
)

// A certificate that nobody vouches for is refused, one of the file is not; the
// token goes to the address that was given, and nowhere else.
func TestClient(t *testing.T) {
	elsewhere, token := 0, ""
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token = r.Header.Get("Authorization")
		if r.URL.Path == "/elsewhere" {
			elsewhere++
			return
		}
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	dir := t.TempDir()
	ca, secret := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "token")
	for name, b := range map[string][]byte{ca: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), secret: []byte("secret\n")} {
		require.NoError(t, os.WriteFile(name, b, 0o600))
	}
	for file, want := range map[string]string{"": "certificate", ca: ""} {
		c, err := Client(file)
		require.NoError(t, err)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, nil)
		if err == nil {
			err = Introduce(r, secret)
		}
		require.NoError(t, err)
		resp, err := c.Do(r)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v", file, err)
			}
			continue
		}
		require.NoError(t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusTemporaryRedirect || elsewhere != 0 || token != "Bearer secret" {
			t.Errorf("status %d, %d elsewhere, token %q", resp.StatusCode, elsewhere, token)
		}
	}
	for _, bad := range []string{os.DevNull, filepath.Join(dir, "nothing")} {
		if _, err := Client(bad); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
