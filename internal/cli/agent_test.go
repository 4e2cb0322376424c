package cli

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"iocause/internal/require"
	"iocause/internal/source"
)

// kills is how often the agent is killed; IOCAUSE_TEST_KILLS overrides it.
const kills = 4

// Killed at any moment, even while it opens what the last kill left, the agent
// leaves a recording that can be read and lacks two seconds at most.
func TestAgentIsKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rec")
	n := kills
	if s := os.Getenv("IOCAUSE_TEST_KILLS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	const interval = 100 * time.Millisecond
	for i := range n {
		c, _, notes := run{args: []string{"agent", "--dir", dir, "--interval", interval.String(), "--listen", "none"}}.command(t)
		require.NoError(t, c.Start())
		// Every other one dies while it opens what the last kill left.
		life := time.Duration(rand.IntN(500)) * time.Millisecond
		if i%2 == 1 {
			life += 1500 * time.Millisecond
		}
		time.Sleep(life)
		require.NoError(t, c.Process.Signal(syscall.SIGKILL))
		killed := time.Now()
		_ = c.Wait() // killed
		if strings.Contains(notes.String(), "damaged") || strings.Contains(notes.String(), "panic") {
			t.Fatalf("kill %d after %v: %s", i, life, notes)
		}
		if i%2 == 0 {
			continue // it may not have measured anything yet
		}
		code, out, stderr := run{args: []string{"query", "iocause_mem_free_bytes[1h]", "--dir", dir, "--format", "csv"}}.do(t)
		if code != exitWell || stderr != "" {
			t.Fatalf("kill %d after %v: code %d: %s\n%s", i, life, code, stderr, notes)
		}
		rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil {
			t.Fatalf("%q, %v", out, err)
		}
		last := time.Time{} // nothing was measured yet
		if len(rows) > 1 {
			if last, err = time.Parse(time.RFC3339Nano, rows[len(rows)-1][0]); err != nil {
				t.Fatal(err)
			}
		}
		runs := lineTime(t, notes.String(), "the agent runs")
		if lost := killed.Sub(last); lost > 2*time.Second && killed.Sub(runs) > time.Second {
			t.Errorf("kill %d after %v: the last %v are lost", i, life, lost)
		}
	}
}

// lineTime is when a line of a log was written, far in the future when it
// is not there.
func lineTime(t *testing.T, log, what string) time.Time {
	t.Helper()
	for line := range strings.Lines(log) {
		if rest, ok := strings.CutPrefix(line, "time="); ok && strings.Contains(line, what) {
			stamp, _, _ := strings.Cut(rest, " ")
			at, err := time.Parse(time.RFC3339Nano, stamp)
			require.NoError(t, err)
			return at
		}
	}
	return time.Now().Add(time.Hour)
}

func TestAgentStopsOnSIGTERM(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rec")
	c, _, _ := run{args: []string{"agent", "--dir", dir, "--interval", "100ms", "--listen", "none"}}.command(t)
	c.Stderr = nil
	pipe, err := c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	var log bytes.Buffer
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		log.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "the agent runs") {
			require.NoError(t, c.Process.Signal(syscall.SIGTERM))
		}
	}
	if err := c.Wait(); err != nil || !strings.Contains(log.String(), "the agent has stopped") {
		t.Errorf("%v\n%s", err, log.String())
	}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v: others can get at it", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// recordSome lets an agent record for a moment.
func recordSome(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "rec")
	c, _, notes := run{args: []string{"agent", "--dir", dir, "--interval", "100ms", "--listen", "none"}}.command(t)
	require.NoError(t, c.Start())
	time.Sleep(2500 * time.Millisecond)
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	if err := c.Wait(); err != nil {
		t.Fatal(err, notes)
	}
	return dir
}

func TestQuery(t *testing.T) {
	t.Parallel() // most of the time it waits
	dir := recordSome(t)
	ask := func(args ...string) string {
		t.Helper()
		code, out, stderr := runApp(t.Context(), source.List(), append([]string{"query", "--dir", dir}, args...)...)
		if code != exitWell || stderr != "" {
			t.Fatalf("%q: %d, %s", args, code, stderr)
		}
		return out
	}
	if out := ask("iocause_cpus"); !strings.Contains(out, "VALUE") || !strings.Contains(out, "iocause_cpus") {
		t.Error(out)
	}
	if out := ask("iocause_mem_free_bytes", "--from", "1m ago", "--step", "1s"); !strings.Contains(out, "COURSE") || !strings.ContainsAny(out, "▁▂▃▄▅▆▇█") {
		t.Error(out)
	}
	if out := ask("--list"); !strings.Contains(out, "iocause_psi_some_seconds_total") || !strings.Contains(out, "memory that nobody uses") || strings.Contains(out, "…") || strings.Contains(out, ":max\n") {
		t.Error(out)
	}
	var got struct {
		Type   string
		Series []struct {
			Name   string
			Labels map[string]string
			Points []struct {
				Time  time.Time
				Value *float64
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(ask(`iocause_psi_some_seconds_total{class="io"} * 0 / 0`, "--format", "json")), &got))
	if got.Type != "vector" || len(got.Series) != 1 || got.Series[0].Labels["class"] != "io" || got.Series[0].Points[0].Value != nil {
		t.Errorf("%+v", got)
	}
	rows, err := csv.NewReader(strings.NewReader(ask("iocause_cpus", "--from", "30s ago", "--step", "100ms", "--format", "csv"))).ReadAll()
	if err != nil || len(rows) < 10 || strings.Join(rows[0], " ") != "time series value" || rows[1][1] != "iocause_cpus" {
		t.Errorf("%q, %v", rows, err)
	}
	if out := ask(`"text"`); out != "text\n" {
		t.Errorf("%q", out)
	}
}

func TestQueryRefuses(t *testing.T) {
	empty := t.TempDir()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{}, exitUsage, "the expression is missing"},
		{[]string{"rate(x[5m]"}, exitUsage, "at character 11: unclosed left parenthesis; the error is here:\n  rate(x[5m]\n            ^"},
		{[]string{"up +\n\tsum(x) by"}, exitUsage, "the error is here:"},
		{[]string{"x", "--format", "xml"}, exitUsage, `"xml" is not known; use text, json or csv`},
		{[]string{"x", "--from", "soon"}, exitUsage, "reading --from: \"soon\" is not a time; write it like"},
		{[]string{"x", "--from", "now", "--to", "1h ago"}, exitUsage, "is not before"},
		{[]string{"x", "--step", "1s"}, exitUsage, "there is no --from"},
		{[]string{"x", "--list"}, exitUsage, "--list takes no expression"},
		{[]string{"x"}, exitFailed, "there is no history; 'iocause agent' makes one"},
	} {
		code, out, stderr := runApp(t.Context(), source.List(), append([]string{"query", "--dir", empty}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: %d, %q%q, want %q", c.args, code, out, stderr, c.want)
		}
	}
}

func TestAgentRefuses(t *testing.T) {
	config := filepath.Join(t.TempDir(), "agent.yaml")
	require.NoError(t, os.WriteFile(config, []byte("dir: /x\nlimits:\n  cpu: lots\n"), 0o600))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--config", config, "--check-config"}, config + ":3: \"lots\" is not a share"},
		{[]string{"--config", config + ".none"}, "no such file"},
		{[]string{"--interval", "1ms"}, "reading --interval: 1ms is too short"},
		{[]string{"--listen", "everywhere"}, "reading --listen:"},
		{[]string{"now"}, "takes no arguments"},
	} {
		code, _, stderr := runApp(t.Context(), source.List(), append([]string{"agent"}, c.args...)...)
		if code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: %d, %q, want %q", c.args, code, stderr, c.want)
		}
	}
}
