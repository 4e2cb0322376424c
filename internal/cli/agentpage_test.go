package cli

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/require"
)

// noPrograms are the settings of an agent that loads no kernel program.
const noPrograms = "interval: 100ms\nlisten: 127.0.0.1:0\nlimits: {cpu: 100%}\ntables: {interval: 0}\npage_cache: {interval: 0}\nincidents: {diagnose: 0}\n"

// pageAgent runs an agent on a folder that it goes on with, and gives the address and
// the key of its page.
func pageAgent(t *testing.T, dir, settings string) (base, key string) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "agent.yaml")
	require.NoError(t, os.WriteFile(config, []byte("dir: "+dir+"\n"+settings), 0o600))
	c, _, _ := run{args: []string{"agent", "--config", config}}.command(t)
	c.Stderr = nil
	log, err := c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
	})
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if _, rest, ok := strings.Cut(lines.Text(), " listen="); ok && strings.Contains(lines.Text(), "the agent runs") {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			b, err := os.ReadFile(filepath.Join(dir, "page.key"))
			require.NoError(t, err)
			return "http://" + strings.Trim(rest, `"`), strings.TrimSpace(string(b))
		}
	}
	t.Fatal("the agent does not run")
	return "", ""
}

// The page of a real agent: this moment, a report of the incident that is kept, made
// by another process, and what is wrong where there is none.
func TestAgentsPage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "agent")
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/golden/agent")))
	base, key := pageAgent(t, dir, noPrograms)
	get := func(path string) (int, string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
		require.NoError(t, err)
		r.SetBasicAuth("any", key)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		b, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(b)
	}
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		code, text := get("/page/now")
		if code != 200 || time.Since(began) > 20*time.Second {
			t.Fatalf("%d: the resources of this machine are not shown: %s", code, text)
		}
		if strings.Contains(text, "of the last minute") && strings.Contains(text, "runnable") {
			break
		}
	}
	if code, text := get("/page/report?incident=1"); code != 200 || !strings.Contains(text, "cgroup-cache-limit") || !strings.Contains(text, "iocause</b> report of") {
		t.Errorf("the report: %d, %.300s", code, text)
	}
	if code, text := get("/page/report?incident=99"); code != 500 || !strings.Contains(text, "no such") {
		t.Errorf("the report of what is not there: %d, %.300s", code, text)
	}
}
