package cli

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/diagnose"
	"iocause/internal/present/html"
	"iocause/internal/replay"
	"iocause/internal/report"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/store/recording"
)

const goldenRecording = "testdata/golden/host.iocause"

// reportIn is the finding that is within a page.
func reportIn(t *testing.T, page string) *diagnose.Report {
	t.Helper()
	m := regexp.MustCompile(`(?s)<script type="application/json" id="report">(.*?)</script>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("no finding in the page")
	}
	r := new(diagnose.Report)
	require.NoError(t, json.Unmarshal([]byte(m[1]), r))
	return r
}

// A page is its owner's alone, replaces an earlier page and nothing else.
func TestReportKeepsOtherFiles(t *testing.T) {
	dir := t.TempDir()
	page, other := filepath.Join(dir, "x.html"), filepath.Join(dir, "notes.html")
	require.NoError(t, os.WriteFile(other, []byte("<p>mine</p>"), 0o644))
	for range 2 {
		if code, out, stderr := runApp(t.Context(), nil, "report", goldenRecording, "-o", page); code != exitWell || out != "" || !strings.Contains(stderr, "iocause: wrote "+page) {
			t.Fatalf("code %d, %q%q", code, out, stderr)
		}
	}
	info, err := os.Stat(page)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, args := range [][]string{{"report", goldenRecording, "-o", other}, {"report", goldenRecording, "-o", dir + "/nowhere/x.html"}, {"report", goldenRecording, "-o", dir + "/x.txt"},
		{"report"}, {"report", goldenRecording, "--pid", "1", "--comm", "x"}, {"report", dir + "/none.iocause", "-o", page}, {"diagnose", "-o", other}, {"diagnose", "-o", "-"}} {
		if code, out, stderr := runApp(t.Context(), nil, args...); code == exitWell || out != "" || !strings.Contains(stderr, "iocause: ") {
			t.Errorf("%q: code %d, %q%q", args, code, out, stderr)
		}
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "<p>mine</p>" {
		t.Errorf("%q, %v", text, err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
}

// The page says what diagnose says, of recordings and of incidents.
func TestReportSaysWhatDiagnoseSays(t *testing.T) {
	for _, name := range []string{goldenRecording, "testdata/golden/b.iocause", "testdata/golden/agent/incidents/000001.iocause"} {
		code, page, stderr := runApp(t.Context(), nil, "report", name, "-o", "-")
		if code != exitWell {
			t.Fatalf("%s: code %d, %s", name, code, stderr)
		}
		code, out, stderr := runApp(t.Context(), nil, "diagnose", "--recording", name, "--format", "json")
		if code != exitWell {
			t.Fatalf("%s: code %d, %s", name, code, stderr)
		}
		want, got := decode(t, out), reportIn(t, page)
		same(t, got, &want)
	}
}

// same fails where two reports of the same windows differ, but for the last digits
// of the cost: it is added up in no order.
func same(t *testing.T, got, want *diagnose.Report) {
	t.Helper()
	if d := math.Abs(got.Cost.BPFSeconds - want.Cost.BPFSeconds); d > 1e-9 {
		t.Errorf("kernel programs took %g s, want %g", got.Cost.BPFSeconds, want.Cost.BPFSeconds)
	}
	got.Cost.BPFSeconds = want.Cost.BPFSeconds
	a, b := compactJSON(t, got), compactJSON(t, want)
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Errorf("the page has ...%.200s, diagnose ...%.200s", a[max(0, i-60):], b[max(0, i-60):])
			return
		}
	}
	if len(a) != len(b) {
		t.Errorf("the page has %d bytes, diagnose %d", len(a), len(b))
	}
}

func compactJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

// A page of what goes on now has a column for every second.
func TestDiagnoseWritesAPage(t *testing.T) {
	t.Parallel() // most of the time it waits
	bpftest.Root(t)
	page := filepath.Join(t.TempDir(), "x.html")
	code, out, stderr := runApp(t.Context(), source.List(), "diagnose", "--duration", "2s", "--format", "json", "-o", page)
	if code != exitWell {
		t.Fatalf("code %d: %s", code, stderr)
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	printed := decode(t, out)
	same(t, reportIn(t, string(text)), &printed)
	if !strings.Contains(string(text), "report of <bdi>this machine</bdi>") || strings.Contains(string(text), "was not divided") {
		t.Error("it is not of two windows of this machine")
	}
}

// Ten minutes are a page of at most 400 KB, made within a second.
func TestReportOfTenMinutes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ten.iocause")
	require.NoError(t, os.WriteFile(name, tenMinutes(t), 0o600))
	began := time.Now()
	p, err := report.Of(&replay.Opener{Now: time.Now, Note: func(err error) { t.Log(err) }}, report.Ask{Name: name, Interval: &replay.Interval{}})
	require.NoError(t, err)
	var page bytes.Buffer
	require.NoError(t, html.WriteDossier(&page, p))
	took := time.Since(began)
	t.Logf("%d columns, %d bytes, in %v", len(p.Sets[0].Begin), page.Len(), took)
	if len(p.Sets[0].Begin) != 600 || page.Len() > 400_000 {
		t.Errorf("%d columns in %d bytes", len(p.Sets[0].Begin), page.Len())
	}
	if took > 5*time.Second { // a second on a machine that does nothing else; this one may
		t.Errorf("it took %v", took)
	}
}

// tenMinutes is a recording of 600 seconds: those of a real one again and again,
// every figure of every second by another factor.
func tenMinutes(t *testing.T) []byte {
	t.Helper()
	from, err := (&replay.Opener{Now: time.Now, Note: func(error) {}}).File(goldenRecording, &replay.Interval{})
	require.NoError(t, err)
	var real []*sample.Window
	require.NoError(t, from.Each(func(r *recording.Record) error { real = append(real, r.Window); return nil }))
	var out bytes.Buffer
	to, err := recording.NewWriter(&out, from.Header())
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 600 {
		require.NoError(t, to.Window(&recording.Record{Window: shaken(real[i%len(real)], real[0].Start.Add(time.Duration(i)*time.Second), random)}))
	}
	require.NoError(t, to.End(recording.End{}))
	return out.Bytes()
}

// shaken is a window as a second that begins then, every figure times something
// between a half and one and a half.
func shaken(was *sample.Window, start time.Time, random *rand.Rand) *sample.Window {
	w := sample.NewWindow(start, time.Second)
	w.Processes, w.Files, w.Gaps = was.Processes, was.Files, was.Gaps
	for _, m := range was.Metrics() {
		was.Each(m, func(e sample.Entity, s *sample.Series) {
			next := &sample.Series{Source: s.Source}
			for _, p := range s.Points {
				next.Points = append(next.Points, sample.Point{At: min(p.At*2, time.Second), Value: p.Value * (.5 + random.Float64())})
			}
			w.SetSeries(m, e, next)
		})
		was.EachHistogram(m, func(e sample.Entity, h *sample.Hist) {
			next := *h
			for b := range next.Counts {
				next.Counts[b] = uint64(float64(next.Counts[b]) * (.5 + random.Float64()))
			}
			w.SetHistogram(m, e, &next)
		})
	}
	return w
}

const goldenIncident = "testdata/golden/agent/incidents/000001.iocause"

// The cells of the heat maps have every I/O that the page's have.
func TestReportCells(t *testing.T) {
	code, out, stderr := runApp(t.Context(), nil, "report", goldenIncident, "--format", "json")
	if code != exitWell {
		t.Fatalf("code %d: %s", code, stderr)
	}
	var d struct {
		Cells struct {
			Rows []struct {
				Part string
				IOs  float64
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatalf("%v: %.300s", err, out)
	}
	ios := 0.0
	for _, c := range d.Cells.Rows {
		if c.Part == "total" {
			ios += c.IOs
		}
	}
	if ios != 1500 {
		t.Errorf("%v I/Os of the trace, want 1500", ios)
	}
	code, csv, stderr := runApp(t.Context(), nil, "report", goldenIncident, "--format", "csv")
	if lines := strings.Count(csv, "\n"); code != exitWell || lines != len(d.Cells.Rows)+1 || !strings.Contains(csv, "device,op,part,from_seconds,to_seconds,ios\n") {
		t.Errorf("code %d, %d lines for %d cells: %.200s %s", code, lines, len(d.Cells.Rows), csv, stderr)
	}
	for _, args := range [][]string{{"--format", "png"}, {"--format", "csv", "-o", "x.html"}} {
		if code, _, stderr := runApp(t.Context(), nil, append([]string{"report", goldenIncident}, args...)...); code != exitUsage {
			t.Errorf("%v: code %d, %s", args, code, stderr)
		}
	}
}
