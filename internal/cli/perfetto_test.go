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
