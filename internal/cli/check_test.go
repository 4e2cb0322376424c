package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"iocause/internal/bpf"
	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/present/text"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/tool/check"
)

// everything is a working source for all that any cause needs, but the given.
func everything(but ...sample.Metric) source.Entry {
	seen := map[sample.Metric]bool{}
	for _, m := range but {
		seen[m] = true
	}
	var all []sample.Metric
	for _, c := range diagnose.List() {
		for _, oneOf := range c.Needs {
			for _, m := range oneOf {
				if !seen[m] {
					seen[m] = true
					all = append(all, m)
				}
			}
		}
	}
	return working("everything", all...)
}

func TestCheckAllWell(t *testing.T) {
	code, out, err := runApp(t.Context(), []source.Entry{everything()}, "check")
	if code != 0 || err != "" || !strings.Contains(out, fmt.Sprintf("All %d verdicts are possible.", len(diagnose.List()))) {
		t.Errorf("code %d, stderr %q, stdout %q", code, err, out)
	}
}

func TestCheckSaysWhatIsImpossible(t *testing.T) {
	cause := diagnose.List()[0]
	gone := cause.Needs[0] // all of a list: then none suffices
	entries := []source.Entry{
		everything(gone...),
		fails("refused", fmt.Errorf("loading: %w", bpf.ErrNotPermitted), gone...),
		fails("old", fmt.Errorf("tracepoint x: %w", bpf.ErrNotSupported), gone...),
		fails("odd", errors.New("a\x1b[2Jname"), gone...),
	}
	code, out, stderr := runApp(t.Context(), entries, "check", "--format", "json")
	var c check.Found
	if err := json.Unmarshal([]byte(out), &c); code != 1 || stderr != "" || err != nil {
		t.Fatalf("code %d, stderr %q, %v", code, stderr, err)
	}
	want := map[string]check.State{"everything": check.Works, "refused": check.Failed, "old": check.NotSupported, "odd": check.Failed}
	for _, s := range c.Sources {
		if s.State != want[s.Name] || s.State != check.Works && (len(s.Why) == 0 || s.Needs != "luck") {
			t.Errorf("%+v, want %q with why and needs", s, want[s.Name])
		}
	}
	for _, v := range c.Verdicts {
		if v.Cause == cause.ID && (v.Possible || !strings.Contains(v.Missing[0], string(gone[0]))) {
			t.Errorf("%+v is possible without %v", v, gone)
		}
	}
	code, out, _ = runApp(t.Context(), entries, "check")
	if code != 1 || !strings.Contains(out, "IMPOSSIBLE") || !strings.Contains(out, string(cause.ID)) ||
		!strings.Contains(out, "not supported") || !strings.Contains(out, "needs luck") || strings.Contains(out, "\x1b") {
		t.Errorf("code %d, %s", code, out)
	}
	for _, line := range strings.Split(out, "\n") {
		if text.Width(line) > 80 {
			t.Errorf("%q is wider than 80 columns", line)
		}
	}
}

func TestCheckEndsInTime(t *testing.T) {
	slow := source.Entry{Name: "slow", Metrics: []sample.Metric{sample.Sysctl}, Open: func(*host.Host) (sample.Source, error) {
		time.Sleep(5 * time.Second)
		return calm{}, nil
	}}
	began := time.Now()
	code, out, _ := runApp(t.Context(), []source.Entry{everything(), slow}, "check", "--timeout", "3s")
	if took := time.Since(began); took > 3500*time.Millisecond || !strings.Contains(out, "took longer than 2.0 s") {
		t.Errorf("code %d after %v: %s", code, took, out)
	}
}

func TestJSONHidesNothingFromTheEye(t *testing.T) {
	var out strings.Builder
	in := map[string]string{"name": "a\x1b[31m\u009b\u202e\u2028\x7f\U000e0041größe <&>"}
	if err := writeJSON(&out, in); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"name\": \"a\\u001b[31m\\u009b\\u202e\\u2028\\u007f\\udb40\\udc41größe <&>\"\n}\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	var back map[string]string
	if err := json.Unmarshal([]byte(out.String()), &back); err != nil || back["name"] != in["name"] {
		t.Errorf("read back as %q, %v", back["name"], err)
	}
}
