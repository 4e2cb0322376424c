package diagnose

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"iocause/internal/sample"
)

// A testdata file holds cases of one cause: windows that were recorded from
// real situations, and edits of them. A case is
//
//	case NAME
//	seconds S
//	process PID comm=C memory=CGROUP io=CGROUP [cpu=CGROUP] [kernel]
//	file DEV INO SIZE PATH
//	gap METRIC WHY
//	told                  (the window was read out of a text)
//	METRIC [pid=N] [cgroup=C] [device=D] [file=DEV:INO] [class=C] = V [V@SECONDS ...]
//	without METRIC        (takes a metric out again)
//	like NAME             (starts from another case, of any file)
//	target PID            (asks about this process; "host" about all)
//	before NAME           (is compared with another case)
//	differs SETTING DISK|- BEFORE|- NOW|-
//	unknown WHY           (the settings of one side are not known)
//	want CAUSE yes|no|cannot tell
//	primary CAUSE
//	likely                (the first finding is called likely: who waits for what was not counted)
//	culprit COMM          (of the first finding; none: nobody of this machine)
//	advice TEXT           (is in what the first finding says to do)
//	weight CAUSE W        (to 0.005; absent: the cause is not among the findings)
type testCase struct {
	name    string
	lines   []string
	like    string // the case it starts from
	before  string // the case it is compared with
	differ  []Setting
	unknown string
	target  Target
	host    bool // the whole host is asked about
	want    map[ID]Answer
	primary ID
	likely  bool
	culprit string
	advice  string
	weights map[ID]string
	where   string
}

var epoch = time.Unix(0, 0)

func TestCauses(t *testing.T) {
	files, err := filepath.Glob("testdata/*.test")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	slices.Sort(files)
	known := map[string]*testCase{}
	covered := map[ID]map[Answer]int{}
	cases := map[string][]*testCase{}
	for _, f := range files {
		cases[f] = readCases(t, f, known)
	}
	for _, f := range files {
		for _, c := range cases[f] {
			t.Run(filepath.Base(f)+"/"+c.name, func(t *testing.T) {
				w := build(t, c.all(t, known))
				target := c.target
				if from := known[c.like]; from != nil && len(target.PIDs) == 0 && !c.host {
					target = from.target
				}
				var before *Before
				if c.before != "" {
					was := known[c.before]
					if was == nil {
						t.Fatalf("%s: no case is called %q", c.where, c.before)
					}
					before = &Before{Window: build(t, was.all(t, known)), Target: was.target, Differ: c.differ, Unknown: c.unknown}
				}
				r := JudgeAgainst(w, target, before)
				for _, cause := range List() {
					want, ok := c.want[cause.ID]
					if !ok {
						continue
					}
					v := cause.Judge(newCaseAgainst(w, target, before))
					if v.Answer != want {
						t.Errorf("%s: %s is %q, want %q (%s)", c.where, cause.ID, v.Answer, want, v.Why)
					}
					if covered[cause.ID] == nil {
						covered[cause.ID] = map[Answer]int{}
					}
					covered[cause.ID][want]++
				}
				if c.primary != "" && r.Primary != c.primary {
					t.Errorf("%s: the primary cause is %s, want %s", c.where, r.Primary, c.primary)
				}
				if c.likely && (len(r.Findings) == 0 || !r.Findings[0].Likely || r.Blind == "") {
					t.Errorf("%s: the first finding is not called likely, or not why: %q, %+v", c.where, r.Blind, r.Findings)
				}
				if c.culprit != "" && (len(r.Findings) == 0 || cmp.Or(r.Findings[0].Culprit.Comm, "none") != c.culprit) {
					t.Errorf("%s: the culprit is not %s in %+v", c.where, c.culprit, r.Findings)
				}
				if c.advice != "" && (len(r.Findings) == 0 || !strings.Contains(r.Findings[0].Advice[0].Do, c.advice)) {
					t.Errorf("%s: the advice is not %q in %+v", c.where, c.advice, r.Findings)
				}
				for cause, want := range c.weights {
					if got := weightOf(r, cause); got != want {
						t.Errorf("%s: %s weighs %s, want %s", c.where, cause, got, want)
					}
				}
				checkReport(t, r)
			})
		}
	}
	for _, cause := range List() {
		for _, a := range []Answer{Yes, No, CannotTell} {
			if covered[cause.ID][a] == 0 {
				t.Errorf("%s: no case wants %q", cause.ID, a)
			}
		}
	}
}

// all is the lines of the case it starts from, if any, and its own.
func (c *testCase) all(t *testing.T, known map[string]*testCase) []string {
	t.Helper()
	if c.like == "" {
		return c.lines
	}
	from := known[c.like]
	if from == nil || from == c {
		t.Fatalf("%s: no other case is called %q", c.where, c.like)
	}
	return append(slices.Clone(from.all(t, known)), c.lines...)
}

// checkReport holds every report to what a reader may rely on.
func checkReport(t *testing.T, r *Report) {
	t.Helper()
	for _, f := range r.Findings {
		if f.Confidence < 0 || f.Confidence > 1 || f.Weight < 0 || f.Weight > 1 {
			t.Errorf("%s: confidence %g, weight %g, want 0 to 1", f.Cause, f.Confidence, f.Weight)
		}
		if f.Cause != Healthy && (len(f.Evidence) == 0 || len(f.Advice) == 0 || f.Disprove == "") {
			t.Errorf("%s: evidence, advice or what would disprove it is missing", f.Cause)
		}
		for _, a := range f.Advice {
			checkPromise(t, f.Cause, &a)
		}
		for _, e := range f.Evidence {
			if e.Unit == "" || e.Source == "" {
				t.Errorf("%s: %q has unit %q and source %q", f.Cause, e.Name, e.Unit, e.Source)
			}
			if e.Value != e.Value {
				t.Errorf("%s: %q is not a number", f.Cause, e.Name)
			}
		}
	}
	if r.Primary != Unknown && (len(r.Findings) == 0 || r.Findings[0].Cause != r.Primary) {
		t.Errorf("the primary cause %s is not the first finding", r.Primary)
	}
	if r.Victim == (Culprit{}) && r.Primary != Unknown && !slices.Contains([]ID{Healthy, "cpu-bound", "small-io", "device-errors"}, r.Primary) {
		t.Errorf("the primary cause is %s, and nobody is said to wait", r.Primary)
	}
	checkWeights(t, r)
	for _, m := range r.CannotTell {
		if m.Missing == "" {
			t.Errorf("%s cannot be told, and nothing is said to be missing", m.Cause)
		}
	}
}

// weightOf is the weight of a finding in hundredths, "absent" without it.
func weightOf(r *Report, cause ID) string {
	for _, f := range r.Findings {
		if f.Cause == cause {
			return fmt.Sprintf("%.2f", f.Weight)
		}
	}
	return "absent"
}

// checkWeights holds the weights to their definition: causes that explain
// different waits do not explain more than all of them together.
func checkWeights(t *testing.T, r *Report) {
	t.Helper()
	for _, f := range r.Findings {
		if f.Cause != Healthy && !slices.Contains([]string{OfWaiting, OfTime, InFlight, OfRequest, OfLog}, f.WeightOf) {
			t.Errorf("the weight of %s is a share of %q", f.Cause, f.WeightOf)
		}
	}
	if sum, of := explained(r.Findings); sum > 1+1e-9 {
		t.Errorf("causes of different waits explain %.3f of the waiting: %v", sum, of)
	}
}

func readCases(t *testing.T, path string, known map[string]*testCase) []*testCase {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []*testCase
	var c *testCase
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<20)
	for n := 1; scan.Scan(); n++ {
		line := strings.TrimSpace(scan.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "case":
			c = &testCase{name: rest, want: map[ID]Answer{}, weights: map[ID]string{}, where: fmt.Sprintf("%s:%d", path, n)}
			out = append(out, c)
		case "like":
			c.like = rest
		case "target":
			if rest == "host" {
				c.host = true
				continue
			}
			pid, err := strconv.Atoi(rest)
			if err != nil {
				t.Fatalf("%s:%d: %v", path, n, err)
			}
			c.target.PIDs = []int{pid}
		case "before":
			c.before = rest
		case "unknown":
			c.unknown = rest
		case "differs":
			f := strings.Fields(strings.ReplaceAll(rest+" ", "- ", `"" `))
			if len(f) != 4 {
				t.Fatalf("%s:%d: differs SETTING DISK BEFORE NOW", path, n)
			}
			for i := range f {
				f[i] = strings.Trim(f[i], `"`)
			}
			c.differ = append(c.differ, Setting{Name: f[0], Device: f[1], Before: f[2], Now: f[3]})
		case "want":
			cause, answer, _ := strings.Cut(rest, " ")
			c.want[ID(cause)] = Answer(answer)
		case "primary":
			c.primary = ID(rest)
		case "likely":
			c.likely = true
		case "culprit":
			c.culprit = rest
		case "advice":
			c.advice = rest
		case "weight":
			cause, weight, _ := strings.Cut(rest, " ")
			c.weights[ID(cause)] = weight
		default:
			c.lines = append(c.lines, fmt.Sprintf("%s:%d\x00%s", path, n, line))
		}
		known[c.name] = c
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// build makes the window of a case. A later line for the same series replaces
// an earlier one.
func build(t *testing.T, lines []string) *sample.Window {
	t.Helper()
	seconds := 10.0
	type key struct {
		m sample.Metric
		e sample.Entity
	}
	values := map[key]string{}
	var order []key
	processes := map[int]sample.Process{}
	files := map[sample.FileID]sample.File{}
	var gaps []sample.Gap
	told := false
	for _, l := range lines {
		where, line, _ := strings.Cut(l, "\x00")
		fail := func(err error) {
			if err != nil {
				t.Fatalf("%s: %v: %s", where, err, line)
			}
		}
		f := strings.Fields(line)
		switch f[0] {
		case "seconds":
			v, err := strconv.ParseFloat(f[1], 64)
			fail(err)
			seconds = v
		case "process":
			pid, err := strconv.Atoi(f[1])
			fail(err)
			var p sample.Process
			for _, a := range f[2:] {
				k, v, _ := strings.Cut(a, "=")
				switch k {
				case "comm":
					p.Comm = v
				case "memory":
					p.MemoryCgroup = v
				case "io":
					p.IOCgroup = v
				case "cpu":
					p.CPUCgroup = v
				case "kernel":
					p.Kernel = true
				}
			}
			processes[pid] = p
		case "file":
			id, err := fileID(f[1] + ":" + f[2])
			fail(err)
			size, err := strconv.ParseInt(f[3], 10, 64)
			fail(err)
			files[id] = sample.File{Size: size, Path: strings.Join(f[4:], " ")}
		case "told":
			told = true
		case "gap":
			gaps = append(gaps, sample.Gap{Metrics: []sample.Metric{sample.Metric(f[1])}, Why: strings.Join(f[2:], " ")})
		case "without":
			order = slices.DeleteFunc(order, func(k key) bool { return string(k.m) == f[1] })
		default:
			left, right, ok := strings.Cut(line, " = ")
			if !ok {
				fail(fmt.Errorf("neither a value nor a word"))
			}
			f := strings.Fields(left)
			k := key{m: sample.Metric(f[0])}
			class := ""
			for i, a := range f[1:] {
				name, v, _ := strings.Cut(a, "=")
				var err error
				switch name {
				case "pid":
					k.e.PID, err = strconv.Atoi(v)
				case "cgroup":
					k.e.Cgroup = v
				case "device":
					k.e.Device = v
				case "file":
					k.e.File, err = fileID(v)
				case "class":
					class = strings.Join(append([]string{v}, f[i+2:]...), " ") // the last, may hold blanks
				}
				fail(err)
				if class != "" {
					break
				}
			}
			k.e.Class = class
			if !slices.Contains(order, k) {
				order = append(order, k)
			}
			values[k] = where + "\x00" + right
		}
	}
	r := sample.NewRecorder(epoch)
	end := epoch.Add(time.Duration(seconds * 1e9))
	for pid, p := range processes {
		r.PutProcess(pid, p)
	}
	for id, f := range files {
		r.PutFile(id, f)
	}
	for _, g := range gaps {
		r.PutGap(g)
	}
	for _, k := range order {
		where, text, _ := strings.Cut(values[k], "\x00")
		if strings.HasPrefix(text, "histogram ") {
			r.PutHistogram(k.m, k.e, parseHistogram(t, where, text), "test")
			continue
		}
		for _, v := range strings.Fields(text) {
			number, at, timed := strings.Cut(v, "@")
			x, err := strconv.ParseFloat(number, 64)
			when := end
			if timed && err == nil {
				var s float64
				s, err = strconv.ParseFloat(at, 64)
				when = epoch.Add(time.Duration(s * 1e9))
			}
			if err != nil {
				t.Fatalf("%s: %v", where, err)
			}
			r.PutAt(when, k.m, k.e, x, "test")
		}
	}
	w := r.Window(end)
	w.Told = told
	return w
}

// parseHistogram reads "histogram UNIT SUM BUCKET:COUNT ...".
func parseHistogram(t *testing.T, where, text string) sample.Histogram {
	t.Helper()
	f := strings.Fields(text)
	h := sample.Histogram{Unit: f[1]}
	var err error
	if h.Sum, err = strconv.ParseFloat(f[2], 64); err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	for _, p := range f[3:] {
		var bucket int
		var n uint64
		if _, err := fmt.Sscanf(p, "%d:%d", &bucket, &n); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		h.Counts[bucket] = n
	}
	return h
}

func fileID(s string) (sample.FileID, error) {
	var id sample.FileID
	_, err := fmt.Sscanf(s, "%d:%d", &id.Dev, &id.Ino)
	return id, err
}

// Without the block probe nobody can be said to use a device, so that a calm
// answer would be a guess.
func TestDeviceWithoutTheBlockProbe(t *testing.T) {
	r := sample.NewRecorder(epoch)
	r.Put(sample.WaitIO, sample.Entity{}, 0, "test")
	r.Put(sample.PSISome, sample.Entity{Class: "io"}, 0, "test")
	w := r.Window(epoch.Add(10 * time.Second))
	if got := Judge(w, Target{Device: "vda"}).Primary; got != Unknown {
		t.Errorf("the primary cause is %s, want %s", got, Unknown)
	}
}

// The longest blocked process is the one that waits longest, not the one that
// works most.
func TestLongestBlocked(t *testing.T) {
	r := sample.NewRecorder(epoch)
	r.Put(sample.ProcUser, sample.Entity{PID: 1}, 5, "test")
	r.Put(sample.ProcUser, sample.Entity{PID: 2}, 1, "test")
	r.Put(sample.WaitIO, sample.Entity{PID: 2, Class: "sync"}, 0.5, "test")
	r.Put(sample.WaitThreads, sample.Entity{PID: 2}, 1, "test")
	f := Judge(r.Window(epoch.Add(10*time.Second)), Target{}).Findings
	if len(f) != 1 || f[0].Cause != Healthy || len(f[0].Evidence) == 0 || f[0].Evidence[0].Value != 0.05 {
		t.Errorf("found %+v, want healthy, and 0.05 of its time for the longest blocked", f)
	}
}
