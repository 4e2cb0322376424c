package scenarios

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"iocause/internal/host"
	"iocause/internal/lab"
)

var (
	only    = flag.String("scenario", "", "run the scenarios that match this `regexp`")
	repeat  = flag.Int("repeat", 1, "run each scenario `N` times")
	binary  = flag.String("iocause", "", "use this `binary` instead of a fresh one")
	scratch = flag.String("scratch", "", "`folder` for test files, on a disk (default: $IOCAUSE_LAB_DIR or /var/tmp)")
	reports = flag.String("reports", "", "keep reports, facts and accounts in this `folder`")
	setUp   = flag.Bool("situations", false, "ask whether the situations come about, not for the verdicts")
)

// TestScenariosAreSound runs without any privilege.
func TestScenariosAreSound(t *testing.T) {
	all, err := lab.ReadAll(Files, ".")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("there are no scenarios")
	}
	for _, s := range all {
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
	all, err := lab.ReadAll(Files, ".")
	if err != nil {
		t.Fatal(err)
	}
	var table []string
	t.Cleanup(func() {
		if len(table) > 0 {
			fmt.Printf("%-28s %-4s %-24s %5s %5s  %s\n%s\n", "scenario", "", "primary", "setup", "all", "what is wrong", strings.Join(table, "\n"))
		}
	})
	var runner *lab.Runner
	parent := t
	for _, s := range all {
		if !pattern.MatchString(s.Name) {
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
			runs, wrong := *repeat, 0
			for n := 0; n < runs; n++ {
				line, why := one(t, runner, s, n)
				table = append(table, line)
				if why == "" {
					continue
				}
				t.Log(why)
				if wrong++; runs == 1 {
					runs = outvoted
				}
			}
			if wrong > 1 || wrong == 1 && *repeat > 1 {
				t.Errorf("wrong in %d of %d runs", wrong, runs)
			}
		})
	}
	if runner != nil {
		if err := runner.Close(); err != nil {
			t.Errorf("remove the shared files: %v", err)
		}
	}
}

// require skips a scenario that cannot be run here, saying what is missing,
// and fails if IOCAUSE_REQUIRE names it.
func require(t *testing.T, s *lab.Scenario) {
	t.Helper()
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

// outvoted is how many runs a scenario gets whose verdict was wrong: the others
// must be right, and the wrong one stays in the table. A machine that is shared
// has moments in which another cause is the true one. With -repeat every wrong
// run counts.
const outvoted = 3

// one runs a scenario once and gives its line of the table, and what is wrong.
func one(t *testing.T, runner *lab.Runner, s *lab.Scenario, n int) (line, why string) {
	t.Helper()
	out, err := runner.Run(t.Context(), s)
	for try := 1; err == nil && len(out.Unreal) > 0 && try < attempts; try++ {
		t.Logf("%s did not come about, trying again: %s", s.Name, strings.Join(out.Unreal, "; "))
		out, err = runner.Run(t.Context(), s)
	}
	if err != nil {
		return fmt.Sprintf("%-28s %-4s %v", s.Name, "FAIL", err), fmt.Sprintf("%s: %v", s.Path, err)
	}
	keep(t, fmt.Sprintf("%s-%d", s.Name, n+1), out)
	wrong := slices.Clone(out.Unreal)
	if !*setUp {
		wrong = append(append(wrong, out.Wrong...), out.Culprit...)
	}
	word := "ok"
	if len(wrong) > 0 {
		word = "FAIL"
		why = fmt.Sprintf("%s: %s\nloads: %s\n%s", s.Path, strings.Join(wrong, "; "), out.Loads, out.Report)
	}
	return fmt.Sprintf("%-28s %-4s %-24s %5.1f %5.1f  %s", s.Name, word, out.Verdict.Primary, out.Setup.Seconds(), out.Took.Seconds(), strings.Join(wrong, "; ")), why
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
	path := filepath.Join(t.TempDir(), "iocause")
	cmd := exec.Command("go", "build", "-o", path, "iocause")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build iocause: %v\n%s", err, out)
	}
	return path
}
