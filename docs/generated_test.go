package docs_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"iocause/internal/diagnose"
	"iocause/internal/sample"
)

var update = flag.Bool("update", false, "write the generated documents anew")

// The documents that are made from the code are what the code makes.
func TestGeneratedDocuments(t *testing.T) {
	for name, want := range map[string]string{"causes.md": causes(), "metrics.md": metrics(), "score.md": score(t)} {
		if *update {
			if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(name)
		if err != nil || string(have) != want {
			t.Errorf("%s is not what the code says (%v); run: go test ./docs -update", name, err)
		}
	}
}

func causes() string {
	var b strings.Builder
	b.WriteString(`# Causes

Made from the code by ` + "`go test ./docs -update`" + `. A diagnosis names one of these, ` + "`healthy`" + ` or ` + "`cannot-tell`" + `.
A cause that explains others is named before them, unless it weighs less than half of what they weigh;
those that hold as well are contributing causes.

| ID | what is wrong | explains | needs (one of each group) |
|---|---|---|---|
`)
	for _, c := range diagnose.List() {
		var over, needs []string
		for _, id := range c.Over {
			over = append(over, "`"+string(id)+"`")
		}
		for _, group := range c.Needs {
			var names []string
			for _, m := range group {
				names = append(names, "`"+string(m)+"`")
			}
			needs = append(needs, strings.Join(names, " or "))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.ID, c.Title, strings.Join(over, ", "), strings.Join(needs, "; "))
	}
	return b.String()
}

func metrics() string {
	var b strings.Builder
	b.WriteString(`# Metrics

Made from the code by ` + "`go test ./docs -update`" + `. A counter's total over a window is the sum of its points.

| metric | unit | kind | measured on | what it is |
|---|---|---|---|---|
`)
	for _, i := range sample.Catalog() {
		kind := "counter"
		if i.Kind == sample.Gauge {
			kind = "gauge"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", i.Metric, i.Unit, kind, i.On, i.Help)
	}
	return b.String()
}
