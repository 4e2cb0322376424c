package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/incident"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source"
	probe "iocause/internal/source/probe/threads"
	"iocause/internal/store/incidents"
	"iocause/internal/tool/threads"
)

// What an agent recorded is shown by the commands that show it live; what it
// does not record is said, unless an incident of that time has it.
func TestAgentIsPlayedBack(t *testing.T) {
	t.Parallel() // most of the time it waits
	dir := recordSome(t)
	do := func(args ...string) (string, string) {
		t.Helper()
		args = append(args, "--dir", dir, "--from", "10m ago")
		code, out, stderr := runApp(t.Context(), source.List(), args...)
		if code != exitWell {
			t.Fatalf("%q: code %d, %s", args, code, stderr)
		}
		return out, stderr
	}
	if out, _ := do("use"); !strings.Contains(out, "memory") || !strings.Contains(out, "processors") {
		t.Errorf("%s", out)
	}
	code, out, stderr := runApp(t.Context(), source.List(), "use", "--recording", dir, "--from", "10m ago")
	if code != exitWell || !strings.Contains(out, "memory") {
		t.Errorf("by its folder: code %d, %s%s", code, out, stderr)
	}
	if code, _, stderr = runApp(t.Context(), source.List(), "use", "--recording", dir); code != exitUsage || !strings.Contains(stderr, "--from") {
		t.Errorf("without a time: code %d, %s", code, stderr)
	}
	out, _ = do("disk", "--format", "json")
	var disk struct {
		Seconds float64
		Devices struct{ Notes []string }
	}
	if err := json.Unmarshal([]byte(out), &disk); err != nil || disk.Seconds < 1 || disk.Seconds > 60 {
		t.Errorf("%v: %s", err, out)
	}
	if out, _ := do("cache"); !strings.Contains(out, "By process") || !strings.Contains(out, "only for incidents") {
		t.Errorf("%s", out)
	}
	code, _, stderr = runApp(t.Context(), source.List(), "cache", "--pid", "1", "--dir", dir, "--from", "10m ago")
	if code != exitFailed || !strings.Contains(stderr, "keeps processes only for incidents") {
		t.Errorf("code %d, %s", code, stderr)
	}
	if out, _ := do("files"); !strings.Contains(out, "only for incidents") {
		t.Errorf("%s", out)
	}
	if out, _ := do("diagnose"); !strings.HasPrefix(out, "CANNOT TELL") {
		t.Errorf("%s", out)
	}
	code, _, stderr = runApp(t.Context(), source.List(), "threads", "--dir", dir, "--from", "10m ago")
	if code != exitFailed || !strings.Contains(stderr, "there was no incident") {
		t.Errorf("code %d, %s", code, stderr)
	}
	now := time.Now()
	data, err := incident.JSON(&threads.Threads{Version: 1, Begin: now, Length: time.Second,
		Threads: []threads.Thread{{Usage: probe.Usage{TID: 7, PID: 7, Process: "victim", Wall: time.Second}}}})
	require.NoError(t, err)
	early := &incidents.Incident{Meta: incidents.Meta{Open: true, What: sample.Incident{Start: now.Add(-time.Minute), End: now}}}
	require.NoError(t, incidents.Save(filepath.Join(dir, incidentsIn), early))
	code, _, stderr = runApp(t.Context(), source.List(), "threads", "--dir", dir, "--from", "10m ago")
	if code != exitFailed || !strings.Contains(stderr, "the incidents of that time (1) hold no threads evidence") {
		t.Errorf("of one that is not judged: code %d, %s", code, stderr)
	}
	code, _, stderr = runApp(t.Context(), source.List(), "threads", "--dir", dir, "--recording", "1")
	if code != exitFailed || !strings.Contains(stderr, "not diagnosed yet") {
		t.Errorf("code %d, %s", code, stderr)
	}
	x := &incidents.Incident{Sections: []incidents.Section{{Name: incident.SectionThreads, Type: incident.TypeJSON, Data: data}},
		Meta: incidents.Meta{Cause: "swap-thrash", What: sample.Incident{Start: now.Add(-time.Minute), End: now}}}
	require.NoError(t, incidents.Save(filepath.Join(dir, incidentsIn), x))
	if out, stderr := do("threads"); !strings.Contains(out, "victim") || !strings.Contains(stderr, "the evidence of incident 2") {
		t.Errorf("%s%s", out, stderr)
	}
	if _, stderr := do("use"); !strings.Contains(stderr, "incident 2 (") {
		t.Errorf("%s", stderr)
	}
	code, _, stderr = runApp(t.Context(), source.List(), "use", "--dir", dir, "--from", "3 days ago", "--to", "2 days ago")
	if code != exitFailed || !strings.Contains(stderr, "it has nothing from") {
		t.Errorf("code %d, %s", code, stderr)
	}
}
