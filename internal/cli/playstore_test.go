package cli

import (
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/store/incidents"
	"iocause/internal/store/series"
)

// What an agent recorded is shown by the commands that show it live; what it
// does not record is said, unless an incident of that time has it.
func TestAgentIsPlayedBack(t *testing.T) {
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
	if out, _ := do("cache"); !strings.Contains(out, "By process") || !strings.Contains(out, "with incidents alone") {
		t.Errorf("%s", out)
	}
	code, _, stderr = runApp(t.Context(), source.List(), "cache", "--pid", "1", "--dir", dir, "--from", "10m ago")
	if code != exitFailed || !strings.Contains(stderr, "keeps processes with incidents alone") {
		t.Errorf("code %d, %s", code, stderr)
	}
	if out, _ := do("files"); !strings.Contains(out, "with incidents alone") {
		t.Errorf("%s", out)
	}
	if out, _ := do("diagnose"); !strings.Contains(out, "Cannot tell") {
		t.Errorf("%s", out)
	}
	code, _, stderr = runApp(t.Context(), source.List(), "threads", "--dir", dir, "--from", "10m ago")
	if code != exitFailed || !strings.Contains(stderr, "there was no incident") {
		t.Errorf("code %d, %s", code, stderr)
	}
	now := time.Now()
	data, err := keepJSON(&keptThreads{Version: 1, Begin: now, Length: time.Second, Threads: []keptThread{{TID: 7, PID: 7, Process: "victim", Wall: time.Second}}})
	if err != nil {
		t.Fatal(err)
	}
	early := &incidents.Incident{Meta: incidents.Meta{Open: true, What: sample.Incident{Start: now.Add(-time.Minute), End: now}}}
	if err := incidents.Save(filepath.Join(dir, incidentsIn), early); err != nil {
		t.Fatal(err)
	}
	code, _, stderr = runApp(t.Context(), source.List(), "threads", "--dir", dir, "--from", "10m ago")
	if code != exitFailed || !strings.Contains(stderr, "the incidents of that time (1) hold no threads evidence") {
		t.Errorf("of one that is not judged: code %d, %s", code, stderr)
	}
	code, _, stderr = runApp(t.Context(), source.List(), "threads", "--dir", dir, "--recording", "1")
	if code != exitFailed || !strings.Contains(stderr, "not judged yet") {
		t.Errorf("code %d, %s", code, stderr)
	}
	x := &incidents.Incident{Sections: []incidents.Section{{Name: sectionThreads, Type: jsonType, Data: data}},
		Meta: incidents.Meta{Cause: "swap-thrash", What: sample.Incident{Start: now.Add(-time.Minute), End: now}}}
	if err := incidents.Save(filepath.Join(dir, incidentsIn), x); err != nil {
		t.Fatal(err)
	}
	if out, stderr := do("threads"); !strings.Contains(out, "victim") || !strings.Contains(stderr, "the evidence of incident 2") {
		t.Errorf("%s%s", out, stderr)
	}
	if _, stderr := do("use"); !strings.Contains(stderr, "incident 2 (") {
		t.Errorf("%s", stderr)
	}
	code, _, stderr = runApp(t.Context(), source.List(), "use", "--dir", dir, "--from", "3 days ago", "--to", "2 days ago")
	if code != exitFailed || !strings.Contains(stderr, "nothing was recorded from") {
		t.Errorf("code %d, %s", code, stderr)
	}
}

// Counters become increases: none is made up where the agent did not run, and
// one that began anew counts from zero.
func TestStoreSpan(t *testing.T) {
	from := time.Unix(1_700_000_000, 0)
	s := newStoreSpan(from, from.Add(40*time.Second), time.Second)
	points := func(all ...float64) (out []series.Point) {
		for i, v := range all {
			if !math.IsNaN(v) {
				out = append(out, series.Point{At: from.Add(time.Duration(i) * time.Second), Value: v})
			}
		}
		return out
	}
	nan := math.NaN()
	for _, l := range []series.Line{
		{Name: "iocause_disk_reads_total", Labels: []series.Label{{Name: "device", Value: "vda"}}, Points: points(10, 20, 30, nan, 1000, 1001, 7)},
		{Name: "iocause_mem_free_bytes", Points: points(2, 3, nan, nan, nan, 5)},
		{Name: "iocause_of_a_later_version", Points: points(1, 2, 3)},
	} {
		s.take(&l, 1500*time.Millisecond)
	}
	if some, missing := s.known(); !some || missing != 36*time.Second {
		t.Errorf("something is known: %v, %v is missing", some, missing)
	}
	data, err := s.recording()
	if err != nil {
		t.Fatal(err)
	}
	a := &app{host: host.Live(), stderr: &stream{}}
	p, err := a.pastIn(data)
	if err != nil {
		t.Fatal(err)
	}
	w := p.window
	if w.Length != 4*time.Second { // what nobody observed is in no rate
		t.Errorf("it is %v long", w.Length)
	}
	// 10 to 20 and 20 to 30; 1000 is after a gap; 1000 to 1001; 7 of a new agent
	if got, ok := w.Sum(sample.DiskReads, sample.Entity{Device: "vda"}); !ok || got != 10+10+1+7 {
		t.Errorf("%g reads, %v", got, ok)
	}
	free := w.Get(sample.MemFree, sample.Entity{})
	if free == nil || len(free.Points) != 2 || free.Last() != 5 || free.Source != storeSource {
		t.Errorf("%+v", free)
	}
	if why := w.WhyAbsent(sample.CacheVisits); !strings.Contains(why, "with incidents alone") {
		t.Errorf("%q", why)
	}
}

// What is read less often than a step lasts for all steps to the next: nothing
// is 0 in between, and nothing is known after the last.
func TestStoreSpanOfRareValues(t *testing.T) {
	from := time.Unix(1_700_000_000, 0)
	s := newStoreSpan(from, from.Add(2*time.Minute), 10*time.Second)
	var counter, gauge []series.Point
	for i := range 4 { // the last at 85 s
		at := from.Add(time.Duration(i)*30*time.Second - 5*time.Second)
		counter = append(counter, series.Point{At: at, Value: 300 * float64(i)})
		gauge = append(gauge, series.Point{At: at, Value: float64(i)})
	}
	s.take(&series.Line{Name: "iocause_disk_reads_total", Labels: []series.Label{{Name: "device", Value: "vda"}}, Points: counter}, time.Minute)
	s.take(&series.Line{Name: "iocause_mem_free_bytes", Points: gauge}, time.Minute)
	for n := 1; n < len(s.put); n++ {
		want := 100.0
		switch {
		case n == 9:
			want = 50 // half of that step
		case n > 9:
			want = 0
		}
		got := 0.0
		for _, v := range s.put[n] {
			if v.metric == sample.DiskReads {
				got += v.value
			}
		}
		if math.Abs(got-want) > 1e-9 || s.observed(n) != (n <= 9) {
			t.Errorf("step %d: %g reads, want %g; observed: %v", n, got, want, s.observed(n))
		}
	}
	if g := s.put[5]; !slices.ContainsFunc(g, func(v storeValue) bool { return v.metric == sample.MemFree && v.value == 1 }) {
		t.Errorf("step 5 has %+v", g)
	}
}
