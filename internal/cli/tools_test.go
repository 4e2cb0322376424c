package cli

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/present/text"
	"iocause/internal/require"
	"iocause/internal/source"
	"iocause/internal/view"
)

// needProbes skips where no kernel program can be loaded.
func needProbes(t *testing.T) {
	t.Helper()
	for _, e := range source.List() {
		if e.Name == "pagecache" {
			s, err := e.Open(host.Live())
			bpftest.Need(t, "bpf", err)
			s.Close()
		}
	}
}

// Every observation command runs, in every format, and its text fits.
func TestToolsInEveryFormat(t *testing.T) {
	needProbes(t)
	for _, tool := range view.List() {
		by := tool.By
		if len(by) == 0 {
			by = []string{""}
		}
		for _, by := range by {
			args := []string{tool.Name, "0.2", "1"}
			if by != "" {
				args = append(args, "--by", by)
			}
			t.Run(strings.Join(args, " "), func(t *testing.T) {
				t.Parallel() // most of the time they watch
				inEveryFormat(t, args)
			})
		}
	}
}

func inEveryFormat(t *testing.T, args []string) {
	t.Helper()
	code, out, errs := runApp(t.Context(), source.List(), args...)
	if code != 0 || out == "" {
		t.Errorf("code %d, %q", code, errs)
	}
	for line := range strings.Lines(out) {
		if text.Width(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("a line of %d columns: %q", text.Width(line), line)
		}
	}
	_, out, errs = runApp(t.Context(), source.List(), append(slices.Clip(args), "--format", "json")...)
	var object map[string]any
	if err := json.Unmarshal([]byte(out), &object); err != nil || object["time"] == "" || object["seconds"].(float64) < 0.1 {
		t.Errorf("as JSON: %v, %q, %q", err, out, errs)
	}
	_, out, errs = runApp(t.Context(), source.List(), append(slices.Clip(args), "--format", "csv")...)
	if all, err := csv.NewReader(strings.NewReader(out)).ReadAll(); err != nil || len(all) > 0 && all[0][0] != "time" {
		t.Errorf("as CSV: %v, %q, %q", err, out, errs)
	}
}

// What one interval counts is counted in no other: their sum is the truth.
func TestIntervalsAddUp(t *testing.T) {
	needProbes(t)
	const pages = 997
	path := bpftest.File(t, pages)
	const passes = 5
	var out, errs require.Output
	done := make(chan error, 1)
	go func() {
		for began := time.Now(); out.String() == ""; time.Sleep(5 * time.Millisecond) { // until an interval is over
			if time.Since(began) > 30*time.Second {
				done <- errors.New("no interval was ever over")
				return
			}
		}
		for range passes {
			time.Sleep(200 * time.Millisecond)
			if err := exec.Command("dd", "if="+path, "of=/dev/null", "bs=4k", "status=none").Run(); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	a := &env{streams: streams{stdin: strings.NewReader(""), stdout: &out, stderr: &errs}, host: host.Live(), sources: source.List()}
	runLine(t.Context(), a, []string{"cache", "0.4", "10", "--by", "file", "--top", "0", "--file", path, "--format", "json"})
	require.NoError(t, <-done)
	sum, cold, intervals := 0.0, 0.0, 0
	for line := range strings.Lines(out.String()) {
		var v struct {
			Seconds float64
			ByFile  struct {
				Rows []map[string]any
			} `json:"by_file"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &v))
		intervals++
		for _, row := range v.ByFile.Rows {
			sum += row["read_bytes_per_s"].(float64) * v.Seconds / 4096
			cold += row["from_disk_bytes_per_s"].(float64) * v.Seconds / 4096
		}
	}
	if intervals != 10 {
		t.Errorf("%d intervals, want 10 (%s)", intervals, errs.String())
	}
	if math.Abs(sum-passes*pages) > .01 || math.Abs(cold-pages) > .01 {
		t.Errorf("%.1f visits and %.1f cold pages in all intervals, want %d and %d", sum, cold, passes*pages, pages)
	}
}

// Ctrl-C ends the interval that is under way, shows it, and sums up.
func TestInterruptSumsUp(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		time.Sleep(900 * time.Millisecond)
		syscall.Kill(os.Getpid(), syscall.SIGINT)
	}()
	code, out, errs := runApp(ctx, source.List(), "use", "0.2")
	if n := strings.Count(out, "Utilisation"); code != 0 || n < 3 || n > 6 {
		t.Errorf("code %d, %d tables, want 3 to 6: %q", code, n, errs)
	}
	if !strings.Contains(out, "in all, ") {
		t.Errorf("no sum at the end:\n%s", out)
	}
}

// A tool's sources are on the list, and its first row is by what its help says.
func TestToolsNameRealSources(t *testing.T) {
	var names []string
	for _, e := range source.List() {
		names = append(names, e.Name)
	}
	for _, tool := range view.List() {
		for _, s := range tool.Sources {
			if !slices.Contains(names, s) {
				t.Errorf("%s reads %q, which is no source", tool.Name, s)
			}
		}
	}
}
