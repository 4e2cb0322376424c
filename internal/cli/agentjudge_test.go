package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/agent"
	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source"
)

// cpuTime is the processor time of this process so far.
func cpuTime(t *testing.T) float64 {
	t.Helper()
	c, err := source.ReadCost(host.Live(), sample.NewWindow(time.Now(), 0))
	require.NoError(t, err)
	return c.CPUSeconds
}

// What is found of an incident is a report, and a recording that gives the same
// verdict.
func TestJudgeIncident(t *testing.T) {
	needProbes(t)
	var notes bytes.Buffer
	a := &env{streams: streams{stdin: strings.NewReader(""), stdout: &notes, stderr: &notes}, host: host.Live(), sources: source.List()}
	look := newIncidentJudge(a).Judge(t.Context(), agent.Ask{Length: 200 * time.Millisecond, Look: true})
	if len(look.Sections) != 1 || len(look.Notes) > 0 || look.Report == nil || look.Cause == "" {
		t.Fatalf("a look: %d sections, %q, report %q, cause %q", len(look.Sections), look.Notes, look.Report, look.Cause)
	}
	for until := time.Now().Add(time.Second); time.Now().Before(until); { // so much at least was used before
	}
	began := cpuTime(t)
	f := newIncidentJudge(a).Judge(t.Context(), agent.Ask{Length: 300 * time.Millisecond, Normal: look.Sections[0].Data})
	used := cpuTime(t) - began
	var report diagnose.Report
	if err := json.Unmarshal(f.Report, &report); err != nil || len(f.Notes) > 0 {
		t.Fatalf("%v, %q", err, f.Notes)
	}
	if report.Cost.CPUSeconds <= 0 || report.Cost.CPUSeconds > used {
		t.Errorf("the look cost %g s, and all that was done meanwhile %g s", report.Cost.CPUSeconds, used)
	}
	if f.Cause == "" || f.Title == "" || string(report.Primary) != f.Cause || report.Window.Seconds < 0.3 {
		t.Errorf("%q, %q, %+v", f.Cause, f.Title, report.Window)
	}
	if len(f.Sections) != 9 || f.Sections[0].Name != "recording" {
		t.Fatalf("%d sections", len(f.Sections))
	}
	name := filepath.Join(t.TempDir(), "x.iocause")
	require.NoError(t, os.WriteFile(name, f.Sections[0].Data, 0o600))
	code, out, stderr := run{args: []string{"diagnose", "--recording", name, "--format", "json"}}.do(t)
	var again diagnose.Report
	if err := json.Unmarshal([]byte(out), &again); err != nil || code != 0 || again.Primary != report.Primary {
		t.Errorf("code %d, %v, %s, %q: %s", code, err, again.Primary, report.Primary, stderr)
	}
}
