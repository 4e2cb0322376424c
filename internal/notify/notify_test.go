package notify

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/require"
)

func an() *Event {
	return &Event{Action: "open", Number: 17, Summary: "disk.pressure 90 %\nPRIORITY=0", At: time.Unix(1700000000, 0), Document: []byte(`{"number":17}`)}
}

func TestCommandGetsTheDocument(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	c := Command{Args: []string{"sh", "-c", `{ echo "$IOCAUSE_ACTION $IOCAUSE_INCIDENT"; cat; } > "$0"`, file}}
	require.NoError(t, c.Notify(t.Context(), an()))
	got, err := os.ReadFile(file)
	if err != nil || string(got) != "open 17\n{\"number\":17}" {
		t.Errorf("%v %q", err, got)
	}
}

func TestCommandThatFails(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "no command is given"},
		{[]string{"/no/such"}, "no such file"},
		{[]string{"sh", "-c", "echo no mail; exit 3"}, `running the command "sh" for incident 17: exit status 3; it said "no mail"`},
		{[]string{"sh", "-c", "yes | head -c 100000; exit 1"}, `it said "y"`},
	} {
		if err := (Command{c.args}).Notify(t.Context(), an()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.args, err)
		}
	}
	if err := (Command{[]string{"sleep", "60"}}).Notify(ctx, an()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestWebhookIsSigned(t *testing.T) {
	var got http.Header
	var body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, body = r.Header, r.Method+" "+string(b)
	}))
	defer s.Close()
	require.NoError(t, (Webhook{URL: s.URL, Secret: []byte("key")}).Notify(t.Context(), an()))
	// printf '1700000000.{"number":17}' | openssl dgst -sha256 -hmac key
	const want = "t=1700000000,v1=06c582c45df0a5e7e73e1104d0d3f8d31f5d3ef242421d4b7c76b64ff04b8358"
	if body != `POST {"number":17}` || got.Get("X-Iocause-Signature") != want || got.Get("Content-Type") != "application/json" || got.Get("X-Iocause-Action") != "open" {
		t.Errorf("%s %v", body, got)
	}
	if err := (Webhook{URL: s.URL}).Notify(t.Context(), an()); err != nil || got.Get("X-Iocause-Signature") != "" {
		t.Errorf("%v %v", err, got)
	}
}

// A failure names the host and not the rest of the URL, which may be a secret.
func TestWebhookThatFails(t *testing.T) {
	elsewhere := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/secret/redirect":
			http.Redirect(w, r, "/secret/elsewhere", http.StatusTemporaryRedirect)
		case "/secret/elsewhere":
			elsewhere++
		default:
			http.Error(w, "not you", http.StatusForbidden)
		}
	}))
	for path, want := range map[string]string{"/secret": `it answered 403 Forbidden; it said "not you"`, "/secret/redirect": "it answered 307"} {
		err := (Webhook{URL: s.URL + path}).Notify(t.Context(), an())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", path, err)
		}
	}
	s.Close()
	for _, u := range []string{s.URL + "/secret", "x://secret\x7f"} {
		if err := (Webhook{URL: u}).Notify(t.Context(), an()); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", u, err)
		}
	}
	if elsewhere != 0 {
		t.Error("the document was taken elsewhere")
	}
}

func TestJournalHasTheFields(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, (Journal{socket}).Notify(t.Context(), an()))
	b := make([]byte, 4096)
	n, err := l.Read(b)
	if want := "MESSAGE=disk.pressure 90 % PRIORITY=0\nPRIORITY=4\nSYSLOG_IDENTIFIER=iocause\nIOCAUSE_ACTION=open\nIOCAUSE_INCIDENT=17\n"; err != nil || string(b[:n]) != want {
		t.Errorf("%v %q", err, b[:n])
	}
	if err := (Journal{socket + "x"}).Notify(t.Context(), an()); err == nil || !strings.Contains(err.Error(), "writing incident 17 to the journal") {
		t.Errorf("%v", err)
	}
}

// One that hangs or fails does not keep the others from being told.
// hung is a hook that heeds no limit.
type hung struct{ release chan struct{} }

func (h hung) Notify(context.Context, *Event) error {
	<-h.release
	return nil
}

// One that hangs keeps neither the others nor the next event from being told,
// and is not called again before it comes back.
func TestOneHangs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	h := hung{make(chan struct{})}
	hooks := []Hook{Alone(h), Alone(Command{[]string{"sh", "-c", "echo $IOCAUSE_INCIDENT >>" + file}})}
	for _, want := range []string{"1 hooks hang", "still has an earlier event"} {
		if err := All(t.Context(), time.Second, hooks, an()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	close(h.release)
	time.Sleep(100 * time.Millisecond) // until the one that hung has seen it
	if err := All(t.Context(), time.Second, hooks, an()); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "17\n17\n17\n" {
		t.Errorf("the other was told %q, %v", b, err)
	}
}

// A journal that takes nothing is given up when the time is.
func TestJournalThatHangs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for range 100_000 { // until its socket is full
		if err = (Journal{path}).Notify(ctx, an()); err != nil {
			break
		}
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestAllAreTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	err := All(t.Context(), 2*time.Second, []Hook{Command{}, Command{[]string{"touch", file}}}, an())
	if err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}
