package scenarios

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/lab/labtest"
)

var (
	only    = flag.String("scenario", "", "run the scenarios that match this `regexp`")
	repeat  = flag.Int("repeat", 1, "run each scenario `N` times")
	window  = flag.Duration("window", 3*time.Second, "let iocause look for this `long` where a scenario does not say")
	binary  = flag.String("iocause", "", "use this `binary` instead of a fresh one")
	scratch = flag.String("scratch", "", "`folder` for test files, on a disk (default: $IOCAUSE_LAB_DIR or /var/tmp)")
	reports = flag.String("reports", "", "keep reports, facts and accounts in this `folder`")
	all     = flag.Bool("all", false, "run the variants too, which take three minutes more")
	setUp   = flag.Bool("situations", false, "ask whether the situations come about, not for the verdicts")
)

// variants are the scenarios that have another file system, program or call than
// one that always runs, and the same cause. They run with -all or -scenario.
func variants() []string {
	return []string{
		"cache-squeezed-tmpfs", "cgroup-cache-limit-mapped", "cgroup-io-limit-unreached-sync", "cgroup-io-throttle-iops",
		"cold-cache-btrfs", "cold-cache-in-cgroup", "cold-cache-overlay", "cold-cache-random", "cold-cache-xfs",
		"dd-direct", "dd-dsync", "device-queueing-libaio", "device-without-errors", "direct-io-once", "dirty-throttling-xfs",
		"fuse-daemon-buffered", "noisy-neighbour-writes", "redis-aof-always", "rsync-cold-tree", "stress-ng-cpu",
		"stress-ng-fsync", "sync-writes-btrfs", "sync-writes-sqlite", "sync-writes-xfs", "two-cache-users",
	}
}

// TestScenariosAreSound runs without any privilege.
func TestScenariosAreSound(t *testing.T) {
	every, err := lab.ReadAll(Files, ".")
	if err != nil {
		t.Fatal(err)
	}
	if len(every) == 0 {
		t.Fatal("there are no scenarios")
	}
	for _, name := range variants() {
		if !slices.ContainsFunc(every, func(s *lab.Scenario) bool { return s.Name == name }) {
			t.Errorf("variants has %s, which is no scenario", name)
		}
	}
	for _, s := range every {
		if !slices.Contains(s.Requires, "root") {
			t.Errorf("%s does not require root, which observing does", s.Name)
		}
	}
}

func TestScenarios(t *testing.T) {
	if testing.Short() {
		t.Skip("scenarios take minutes: not with -short")
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		t.Fatalf("-scenario: %v", err)
	}
	every, err := lab.ReadAll(Files, ".")
	if err != nil {
		t.Fatal(err)
	}
	var table []string
	counted, absent := 0, 0
	t.Cleanup(func() {
		if len(table) > 0 {
			fmt.Printf("%-28s %-4s %-24s %5s %5s  %s\n%s\n", "scenario", "", "primary", "setup", "all", "what is wrong", strings.Join(table, "\n"))
		}
	})
	var runner *lab.Runner
	parent := t
	for _, s := range every {
		if !pattern.MatchString(s.Name) || *only == "" && !*all && slices.Contains(variants(), s.Name) {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			require(t, s)
			if runner == nil { // not before there is something to run
				path := build(parent)
				if runner, err = lab.NewRunner(host.Live(), path, *scratch); err != nil {
					t.Fatal(err)
				}
			}
			runner.Window = *window
			var v votes
			for n := 0; v.open(*repeat); n++ {
				line, result, why := one(t, runner, s, n)
				table = append(table, line)
				v.count(result)
				if why != "" {
					t.Log(why)
				}
			}
			switch counted++; {
			case v.absent > 0 && v.right+v.wrong == 0:
				absent++
			case v.lost(*repeat):
				t.Errorf("wrong in %d of %d runs", v.wrong, v.wrong+v.right)
			}
		})
	}
	if absent > counted/absentShare || absent > 0 && *setUp {
		t.Errorf("%d of %d situations did not come about: the rest says too little", absent, counted)
	}
	if runner != nil {
		if err := runner.Close(); err != nil {
			t.Errorf("remove the shared files: %v", err)
		}
	}
}

// What is advised for these causes is done, and helps, whatever was diagnosed beside
// other tests; the others with a remedy take longer.
func TestRemedies(t *testing.T) {
	if testing.Short() {
		t.Skip("scenarios take minutes: not with -short")
	}
	for _, name := range []string{"cache-pollution", "cache-squeezed"} {
		if *only != "" && *only != name {
			continue
		}
		t.Run(name, func(t *testing.T) {
			chosen, err := lab.Choose(Files, ".", "^"+name+"$", false)
			if err != nil {
				t.Fatal(err)
			}
			require(t, chosen[0])
			runner, err := lab.NewRunner(host.Live(), build(t), *scratch)
			if err != nil {
				t.Fatal(err)
			}
			defer runner.Close()
			r, err := runner.Verify(t.Context(), chosen[0])
			if err != nil {
				t.Fatal(err)
			}
			before, with := r.Before.Disk/r.Before.Calls, r.With.Disk/r.With.Calls
			if !(with < before/2) || r.With.Calls < r.Before.Calls {
				t.Errorf("%s found; %.0f bytes from disk for each call, %.0f with %q; %.0f calls a second, then %.0f", r.Primary, before, with, r.Do, r.Before.Calls, r.With.Calls)
			}
		})
	}
}

// require skips a scenario that cannot be run here, saying what is missing,
// and fails if IOCAUSE_REQUIRE names it.
func require(t *testing.T, s *lab.Scenario) {
	t.Helper()
	if lack := s.NeedsGuest(); lack != "" {
		t.Skip("needs " + lack + " of iocause lab score")
	}
	for _, r := range s.Requires {
		if lack := lab.Lacks(host.Live(), r); lack != "" {
			if lab.Demanded(r) {
				t.Fatalf("IOCAUSE_REQUIRE demands %s: %s", r, lack)
			}
			t.Skip(lack)
		}
	}
}

// attempts is how often a situation may fail to come about, as it does when
// others use the machine.
const attempts = 3

// absentShare is the part, one in so many, of the situations that may fail to
// come about: on a disk that is too fast or too slow for one, the diagnosis was
// neither right nor wrong.
const absentShare = 20

// result is what one run says about the diagnosis.
type result int

const (
	right  result = iota
	wrong         // the situation came about, the verdict is another
	absent        // the situation did not come about
)

// votes counts the runs of one scenario. A machine that is shared has moments
// in which another cause is the true one, so a scenario whose verdict is wrong
// at first goes on to the best of five; the wrong ones stay in the table. With
// -repeat every wrong run counts.
type votes struct{ right, wrong, absent int }

const majority = 3 // of five

func (v *votes) count(r result) {
	switch r {
	case right:
		v.right++
	case wrong:
		v.wrong++
	case absent:
		v.absent++
	}
}

// open tells whether another run is needed.
func (v *votes) open(repeat int) bool {
	runs := v.right + v.wrong + v.absent
	if repeat > 1 || runs == 0 || v.wrong == 0 {
		return runs < repeat
	}
	return v.right < majority && v.wrong < majority && v.absent < majority
}

func (v *votes) lost(repeat int) bool {
	if repeat > 1 {
		return v.wrong > 0
	}
	return v.wrong > v.right
}

func TestVotes(t *testing.T) {
	const r, w, a = right, wrong, absent
	for _, c := range []struct {
		repeat int
		runs   []result // all that are asked for
		lost   bool
	}{
		{1, []result{r}, false},
		{1, []result{a}, false},
		{1, []result{w, w, w}, true},
		{1, []result{w, r, r, r}, false},
		{1, []result{w, r, w, r, r}, false},
		{1, []result{w, r, r, w, w}, true},
		{1, []result{w, a, a, a}, true},
		{3, []result{r, r, r}, false},
		{3, []result{r, w, r}, true},
	} {
		var v votes
		for i, result := range c.runs {
			if !v.open(c.repeat) {
				t.Errorf("%v of %d: closed after %d", c.runs, c.repeat, i)
			}
			v.count(result)
		}
		if v.open(c.repeat) || v.lost(c.repeat) != c.lost {
			t.Errorf("%v of %d: open %v, lost %v", c.runs, c.repeat, v.open(c.repeat), v.lost(c.repeat))
		}
	}
}

// one runs a scenario once and gives its line of the table, and what is wrong.
func one(t *testing.T, runner *lab.Runner, s *lab.Scenario, n int) (line string, r result, why string) {
	t.Helper()
	out, err := runner.Run(t.Context(), s)
	for try := 1; err == nil && len(out.Unreal) > 0 && try < attempts; try++ {
		t.Logf("%s did not come about, trying again: %s", s.Name, strings.Join(out.Unreal, "; "))
		out, err = runner.Run(t.Context(), s)
	}
	if err != nil {
		return fmt.Sprintf("%-28s %-4s %v", s.Name, "FAIL", err), wrong, fmt.Sprintf("%s: %v", s.Path, err)
	}
	keep(t, fmt.Sprintf("%s-%d", s.Name, n+1), out)
	what, word := slices.Clone(out.Unreal), "ok"
	switch {
	case len(out.Unreal) > 0:
		r, word = absent, "----"
	case !*setUp:
		if what = append(slices.Clone(out.Wrong), out.Culprit...); len(what) > 0 {
			r, word = wrong, "FAIL"
		}
	}
	if r != right {
		why = fmt.Sprintf("%s: %s\n%s", s.Path, strings.Join(what, "; "), brief(out))
	}
	return fmt.Sprintf("%-28s %-4s %-24s %5.1f %5.1f  %s", s.Name, word, out.Verdict.Primary, out.Setup.Seconds(), out.Took.Seconds(), strings.Join(what, "; ")), r, why
}

// brief is what of an outcome tells why it is not the expected one, in few
// enough lines to be kept by whatever collects the output of tests.
func brief(out *lab.Outcome) string {
	type reason struct{ Cause, Why, Missing string }
	var r struct {
		Victim   map[string]any
		Findings []struct {
			Cause    string
			Weight   float64
			Evidence []struct {
				Name, Unit string
				Value      float64
			}
		}
		Excluded   []reason
		CannotTell []reason `json:"cannot_tell"`
		Gaps       []string
	}
	if err := json.Unmarshal(out.Report, &r); err != nil {
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "facts: %v\n", out.Facts)
	for name, account := range out.Loads {
		fmt.Fprintf(&b, "load %s: %s\n", name, account)
	}
	fmt.Fprintf(&b, "victim: %v\n", r.Victim)
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "found %s, weight %.2f:", f.Cause, f.Weight)
		for _, e := range f.Evidence {
			fmt.Fprintf(&b, " %s %.4g %s;", e.Name, e.Value, e.Unit)
		}
		b.WriteByte('\n')
	}
	for _, x := range r.Excluded {
		fmt.Fprintf(&b, "not %s: %s\n", x.Cause, x.Why)
	}
	for _, m := range r.CannotTell {
		fmt.Fprintf(&b, "cannot tell %s: %s\n", m.Cause, m.Missing)
	}
	for _, g := range r.Gaps {
		fmt.Fprintf(&b, "gap: %s\n", g)
	}
	return b.String()
}

func keep(t *testing.T, name string, out *lab.Outcome) {
	t.Helper()
	if *reports == "" {
		return
	}
	about, err := json.MarshalIndent(map[string]any{"facts": out.Facts, "loads": out.Loads, "unreal": out.Unreal, "wrong": out.Wrong, "culprit": out.Culprit}, "", " ")
	if err != nil {
		t.Fatalf("keep the facts: %v", err)
	}
	if err := os.MkdirAll(*reports, 0o755); err != nil {
		t.Fatalf("make the folder for what was found: %v", err)
	}
	for suffix, content := range map[string][]byte{".report.json": out.Report, ".facts.json": about} {
		if err := os.WriteFile(filepath.Join(*reports, name+suffix), content, 0o644); err != nil {
			t.Fatalf("keep what was found: %v", err)
		}
	}
}

func build(t *testing.T) string {
	t.Helper()
	if *binary != "" {
		path, err := filepath.Abs(*binary)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	return labtest.Build(t)
}
