package cli

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"iocause/internal/require"
)

const (
	// manyLives is the variable of how many lives an agent has, killed at the end
	// of each; eight are led at the same time with -parallel 8. Without it there
	// is a short one.
	manyLives = "IOCAUSE_TEST_LIVES"
	sideways  = 8
	// mayLack is what may be lost by a kill.
	mayLack = 2 * time.Second
)

// Killed after 3 to 12 seconds, while the disk and the processors are busy, the
// agent leaves a recording that can be read and has every value that could be
// seen of it two seconds before the end, and what is older.
func TestAgentIsKilledUnderLoad(t *testing.T) {
	lives, most := 1, 4*time.Second
	lanes := 1
	if s := os.Getenv(manyLives); s != "" {
		n, err := strconv.Atoi(s)
		require.NoError(t, err)
		lanes = min(n, sideways)
		lives, most = (n+lanes-1)/lanes, 12*time.Second
	}
	var all tally
	t.Run("lanes", func(t *testing.T) {
		for range lanes {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "rec")
				busyDisk(t)
				for i := range lives {
					liveAndDie(t, dir, i, 3*time.Second+rand.N(most-3*time.Second), &all)
				}
			})
		}
	})
	if all.values.Load() == 0 {
		t.Error("no value was seen: the test shows nothing")
	}
	t.Logf("%d kills, %d values seen more than %v before and all recorded, the newest recorded value at most %v older than the kill",
		all.kills.Load(), all.values.Load(), mayLack, time.Duration(all.lost.Load()).Round(time.Millisecond))
}

// tally is what a test has seen.
type tally struct {
	kills, values, lost atomic.Int64 // lost: the longest time, ns
}

// glimpse is a value that the agent showed, from memory.
type glimpse struct {
	at    time.Time
	value float64
}

const watched = "iocause_mem_free_bytes" // never the same for long

func liveAndDie(t *testing.T, dir string, life int, length time.Duration, all *tally) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at := l.Addr().String()
	l.Close()
	config := filepath.Join(t.TempDir(), "agent.yaml")
	settings := fmt.Sprintf("dir: %s\ninterval: 100ms\nlisten: %s\nlimits: {cpu: 100%%}\ntables: {interval: 1s}\nincidents: {watch: false}\n", dir, at)
	require.NoError(t, os.WriteFile(config, []byte(settings), 0o600))
	c, _, notes := run{args: []string{"agent", "--config", config}}.command(t)
	require.NoError(t, c.Start())
	watching, stop := context.WithCancel(t.Context())
	var seen []glimpse
	var watcher sync.WaitGroup
	alive := make(chan struct{})
	watcher.Go(func() { seen = glimpses(watching, at, alive) })
	select {
	case <-alive:
	case <-time.After(30 * time.Second):
		t.Fatalf("life %d: the agent does not answer: %s", life, notes)
	}
	time.Sleep(length)
	killed := time.Now()
	require.NoError(t, c.Process.Signal(syscall.SIGKILL))
	_ = c.Wait() // killed
	stop()
	watcher.Wait()
	for _, bad := range []string{"damaged", "panic", "lost"} {
		if strings.Contains(notes.String(), bad) {
			t.Fatalf("kill %d after %v: %s", life, length, notes)
		}
	}
	recorded, last := recordedOf(t, dir, killed)
	for _, g := range seen {
		if g.at.After(killed.Add(-mayLack)) {
			continue
		}
		if all.values.Add(1); !recorded[g.value] {
			t.Errorf("kill %d after %v: the value of %v before is not recorded", life, length, killed.Sub(g.at))
		}
	}
	if len(seen) > 0 && last.Before(seen[len(seen)-1].at.Add(-mayLack)) {
		t.Errorf("kill %d after %v: the newest recorded value is %v older than the newest that was seen", life, length, seen[len(seen)-1].at.Sub(last))
	}
	all.kills.Add(1)
	for lost := int64(killed.Sub(last)); ; {
		old := all.lost.Load()
		if lost <= old || all.lost.CompareAndSwap(old, lost) {
			break
		}
	}
	code, _, stderr := run{args: []string{"top", "--dir", dir, "--from", "1h ago"}}.do(t)
	if code != exitWell && !strings.Contains(stderr, "no table") || strings.Contains(stderr, "damaged") {
		t.Errorf("kill %d after %v: the tables: code %d, %s", life, length, code, stderr)
	}
}

// glimpses asks the agent for what it measures, until ctx ends; it closes alive
// when it has an answer.
func glimpses(ctx context.Context, at string, alive chan<- struct{}) (all []glimpse) {
	for ctx.Err() == nil {
		if v, ok := glance(ctx, at); ok && (len(all) == 0 || all[len(all)-1].value != v) {
			if all = append(all, glimpse{time.Now(), v}); len(all) == 1 {
				close(alive)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	return all
}

func glance(ctx context.Context, at string) (v float64, ok bool) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/metrics", nil)
	if err != nil {
		return 0, false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, false // not yet, or no longer
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if rest, found := strings.CutPrefix(line, watched+" "); found {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			return v, err == nil
		}
	}
	return 0, false
}

// recordedOf is what the recording has of the half minute before the kill.
func recordedOf(t *testing.T, dir string, killed time.Time) (values map[float64]bool, last time.Time) {
	t.Helper()
	span := time.Since(killed) + 30*time.Second
	code, out, stderr := run{args: []string{"query", fmt.Sprintf("%s[%dms]", watched, span.Milliseconds()), "--dir", dir, "--format", "csv"}}.do(t)
	if code != exitWell || stderr != "" {
		t.Fatalf("the recording cannot be read: code %d: %s", code, stderr)
	}
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil {
		t.Fatalf("%q, %v", out, err)
	}
	values = map[float64]bool{}
	for _, r := range rows[min(1, len(rows)):] {
		v, err := strconv.ParseFloat(r[2], 64)
		require.NoError(t, err)
		if last, err = time.Parse(time.RFC3339Nano, r[0]); err != nil {
			t.Fatal(err)
		}
		values[v] = true
	}
	return values, last
}

// busyDisk writes and waits for the disk, and works, until the test ends.
func busyDisk(t *testing.T) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "busy"))
	require.NoError(t, err)
	over := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		buf := make([]byte, 1<<20)
		for at := int64(0); ; at++ {
			select {
			case <-over:
				return
			default:
			}
			buf[0]++
			if _, err := f.WriteAt(buf, at%16<<20); err != nil {
				t.Error(err)
				return
			}
			if err := f.Sync(); err != nil {
				t.Error(err)
				return
			}
		}
	})
	t.Cleanup(func() {
		close(over)
		done.Wait()
		f.Close()
	})
}
