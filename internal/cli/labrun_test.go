package cli

import (
	"slices"
	"strings"
	"testing"

	"iocause/experiments"
	"iocause/internal/lab"
)

func TestLabRunList(t *testing.T) {
	out, notes, code := runLabTool(t, "", "run", "--list")
	files, err := experiments.Files.ReadDir(".")
	if err != nil || code != 0 || strings.Count(out, "\n") != len(files)+1 {
		t.Errorf("code %d, %v: %s %s", code, err, out, notes)
	}
}

// What the shipped experiments name is there, at any scale.
func TestShippedExperimentsNameWhatTheyMake(t *testing.T) {
	files, err := experiments.Files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		x, err := lab.FindExperiment(experiments.Files, strings.TrimSuffix(f.Name(), ".yaml"))
		if err != nil {
			t.Error(err)
			continue
		}
		x.Scale(0.01)
		made := map[string]bool{"{scratch}": true}
		for _, s := range x.Setup {
			if s.Loop != nil {
				made["{"+s.Loop.Name+"}"] = true
			}
		}
		for name := range x.Files {
			made["{"+name+"}"] = true
		}
		for _, p := range x.Phases {
			for _, l := range slices.Concat(p.Pressure, p.Loads) {
				if name, _, _ := strings.Cut(l.Do.Path, "/"); name != "" && !made[name] {
					t.Errorf("%s: %s uses %s, which nothing makes", f.Name(), l.Name, l.Do.Path)
				}
			}
		}
		if x.About == "" || len([]rune(x.Title)) > 66 { // the scale stands behind it
			t.Errorf("%s: about %q, %d letters of title", f.Name(), x.About, len([]rune(x.Title)))
		}
	}
}
