package cli

import (
	"encoding/json"
	"testing"
)

// The trace of an incident, every I/O of it, in the form that viewers open.
func TestTraceForViewers(t *testing.T) {
	code, out, stderr := runApp(t.Context(), nil, "trace", "--recording", "testdata/golden/agent/incidents/000001.iocause", "--format", "perfetto")
	if code != exitWell {
		t.Fatalf("code %d: %s", code, stderr)
	}
	var got struct {
		OtherData   struct{ Began string }
		TraceEvents []struct {
			Ph   string
			Args map[string]any
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v: %.200s", err, out)
	}
	ios := 0
	for _, e := range got.TraceEvents {
		if e.Ph == "X" && e.Args != nil {
			ios++
		}
	}
	if ios != 1500 || got.OtherData.Began == "" {
		t.Errorf("%d I/Os, begun %q, want all 1500", ios, got.OtherData.Began)
	}
	if code, _, _ := runApp(t.Context(), nil, "trace", "--format", "perfetto", "-o", "x"); code != exitUsage {
		t.Errorf("with -o: code %d", code)
	}
}

// What threads did, where they waited, and the course of a recording, in that form.
func TestMoreForViewers(t *testing.T) {
	for _, c := range []struct {
		phase string // that there must be
		args  []string
	}{
		{"C", []string{"threads", "--recording", goldenIncident}},
		{"X", []string{"offcpu", "--recording", goldenIncident, "--state", "all"}},
		{"C", []string{"report", goldenRecording}},
		{"C", []string{"report", goldenIncident}},
	} {
		code, out, stderr := runApp(t.Context(), nil, append(c.args, "--format", "perfetto")...)
		var got struct {
			TraceEvents []struct {
				Ph, Name string
				Dur      float64
			}
		}
		if err := json.Unmarshal([]byte(out), &got); code != exitWell || err != nil {
			t.Fatalf("%q: code %d, %v: %s", c.args, code, err, stderr)
		}
		events := 0
		for _, e := range got.TraceEvents {
			if e.Ph == c.phase {
				events++
			}
		}
		if events < 20 {
			t.Errorf("%q: %d events of kind %s", c.args, events, c.phase)
		}
	}
	if code, _, stderr := runApp(t.Context(), nil, "offcpu", "--recording", goldenIncident, "--format", "perfetto", "-o", "x.svg"); code != exitUsage {
		t.Errorf("with -o: code %d: %s", code, stderr)
	}
}
