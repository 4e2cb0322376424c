package main

import (
	"cmp"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"iocause/internal/require"
)

// room is a folder with the folders below it, and which of our rooms it may
// import. Of a pattern that ends in "/*", every folder below it is a room of
// its own, that may not import its siblings.
type room struct {
	path string
	may  []string
}

// rooms is the table of docs/architecture.md, which is the only list of them: what
// it says in backquotes in the first column is a room, below internal/ unless there is
// a folder of that name at the root; in the last, what that may import. The most
// specific line counts. Every room may import itself and what lies below it.
func rooms(t *testing.T) []room {
	t.Helper()
	b, err := os.ReadFile("docs/architecture.md")
	require.NoError(t, err)
	_, text, _ := strings.Cut(string(b), "| room | what it does | may import |\n|---|---|---|\n")
	text, _, _ = strings.Cut(text, "\n\n")
	var all []room
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 3 {
			t.Fatalf("a row of rooms has %d columns: %s", len(cells), line)
		}
		may := inBackquotes(cells[2])
		for i := range may {
			may[i] = strings.TrimSuffix(may[i], "/*")
		}
		switch said := strings.TrimSpace(cells[2]); {
		case strings.HasPrefix(said, "as "):
			i := slices.IndexFunc(all, func(r room) bool { return r.path == may[0]+"/*" })
			if i < 0 {
				t.Fatalf("there is no row of %s/* above: %s", may[0], line)
			}
			may = append(may[1:], all[i].may...)
		case said == "every room":
			may = []string{"internal", "docs/schema", "experiments", "scenarios", "test/vm"}
		}
		for _, path := range inBackquotes(cells[0]) {
			all = append(all, room{path, may})
		}
	}
	if len(all) < 20 {
		t.Fatalf("only %d rooms were read from docs/architecture.md", len(all))
	}
	return all
}

// inBackquotes are the folders that a cell names in backquotes.
func inBackquotes(cell string) []string {
	var out []string
	for i, name := range strings.Split(cell, "`") {
		if i%2 == 0 {
			continue
		}
		if name == "main" {
			name = "."
		} else if _, err := os.Stat(strings.TrimSuffix(name, "/*")); err != nil {
			name = "internal/" + name
		}
		out = append(out, name)
	}
	return out
}

// fence is a third party, or a package of the standard library that does what
// a room should not, and the rooms that may import it.
type fence struct {
	path string
	may  []string
}

// fences are all third parties: one that is missing here is refused.
func fences() []fence {
	return []fence{
		{"os/exec", []string{"bench/assistant", "bench/day", "bench/fleet", "bench/live", "bench/outage", "bench/predictions", "deploy/release", "internal/agent/page", "internal/lab", "internal/notify", "internal/session"}},
		{"github.com/cilium/ebpf", []string{"internal/bpf", "internal/source/probe"}},
		{"golang.org/x/sys", []string{"bench/predictions", "internal/agent", "internal/bpf", "internal/cli", "internal/console", "internal/filters", "internal/host", "internal/lab", "internal/source", "internal/store/whole", "internal/symbol", "internal/tool/trace"}},
		{"github.com/spf13/cobra", []string{"deploy/release", "internal/cli"}},
		{"github.com/spf13/pflag", []string{"internal/cli", "deploy/release"}},
		{"github.com/CycloneDX/cyclonedx-go", []string{"deploy/release"}},
		{"github.com/google/go-containerregistry", []string{"deploy/release"}},
		{"github.com/goreleaser/nfpm", []string{"deploy/release"}},
		{"helm.sh/helm", []string{"deploy/helm/check"}},
		{"k8s.io/api", []string{"deploy/helm/check"}},
		{"sigs.k8s.io/json", []string{"deploy/helm/check"}},
		{"sigs.k8s.io/yaml", []string{"deploy/helm/check"}},
		{"golang.org/x/crypto/x509roots", []string{"deploy/release"}},
		{"charm.land/bubbletea", []string{"internal/live"}},
		{"github.com/modelcontextprotocol/go-sdk", []string{"internal/mcp"}},
		{"go.yaml.in/yaml", []string{"internal/agent", "internal/lab"}},
		{"github.com/ianlancetaylor/demangle", []string{"internal/symbol"}},
		{"github.com/ulikunitz/xz", []string{"internal/parse", "internal/symbol"}},
		{"github.com/klauspost/compress", []string{"bench/fleet", "internal/parse", "internal/store/frames", "internal/store/incidents", "internal/store/recording"}},
		{"github.com/google/pprof", []string{"internal/parse/pprof", "internal/present/pprof"}},
		{"github.com/prometheus/prometheus", []string{"bench/receiver", "internal/store"}},
		{"go.opentelemetry.io/collector", []string{"test/collector"}},
		{"go.opentelemetry.io/proto", []string{"internal/notify", "internal/store/remote"}},
		{"google.golang.org/protobuf", []string{"internal/cri", "internal/notify", "internal/store/remote"}},
		{"github.com/prometheus/client_golang", []string{"bench/receiver", "internal/store"}},
		{"github.com/oklog/ulid", []string{"internal/store"}},
		{"github.com/google/jsonschema-go", []string{"internal/cli"}}, // tests
	}
}

// inTests is what test files may import on top of their room, from whatever
// room: loads to measure, and helpers that only tests use.
func inTests() []string {
	return []string{"internal/present/text", "internal/parse/folded", "internal/parse/pprof", "internal/lab", "internal/bpf/bpftest", "internal/require", "internal/source/proc/proctest", "internal/sample", "internal/host"}
}

// inTestsFenced is what test files may import although it is fenced off: tests
// run mkfs, mount and the commands that the documents show, ask as an assistant
// does, and receive what is sent.
func inTestsFenced() []string {
	return []string{"os/exec", "github.com/modelcontextprotocol/go-sdk", "go.opentelemetry.io/proto", "google.golang.org/protobuf"}
}

// below tells whether a folder is top or lies below it.
func below(dir, top string) bool { return dir == top || strings.HasPrefix(dir, top+"/") }

// roomOf is the table's line for a folder, and the folder that is its room.
func roomOf(all []room, dir string) (r room, own string, ok bool) {
	for _, x := range all {
		top, siblings := strings.CutSuffix(x.path, "/*")
		var at string
		switch {
		case x.path == ".":
			if dir != "." {
				continue
			}
			at = "."
		case siblings:
			if !strings.HasPrefix(dir, top+"/") {
				continue
			}
			name, _, _ := strings.Cut(dir[len(top)+1:], "/")
			at = top + "/" + name
		case !below(dir, x.path):
			continue
		default:
			at = x.path
		}
		if !ok || len(x.path) > len(r.path) {
			r, own, ok = x, at, true
		}
	}
	return r, own, ok
}

// violations are the imports of one file that the table forbids. name is its
// path from the root, with slashes.
func violations(all []room, name string, src any) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	dir, isTest := path.Dir(name), strings.HasSuffix(name, "_test.go")
	r, own, ok := roomOf(all, dir)
	if !ok {
		return []string{dir + " is missing from the table of rooms"}, nil
	}
	var out []string
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		why := ""
		if ours, isOurs := strings.CutPrefix(imported, "iocause/"); isOurs {
			why = forbiddenRoom(ours, r, own, isTest)
		} else {
			why = forbiddenParty(imported, dir, isTest)
		}
		if why != "" {
			out = append(out, fmt.Sprintf("%s imports %s: %s", name, imported, why))
		}
	}
	return out, nil
}

// inTestsOf is what else tests of a room may import: those of the agent let what judges
// incidents, which imports the agent, judge them; those of the diagnosis hold recordings to
// its laws.
func inTestsOf() map[string][]string {
	return map[string][]string{
		"internal/agent":    {"internal/incident", "internal/replay"},
		"internal/diagnose": {"internal/store/recording"},
	}
}

func forbiddenRoom(ours string, r room, own string, isTest bool) string {
	may := r.may
	if isTest {
		may = slices.Concat(may, inTests(), inTestsOf()[r.path])
	}
	if own != "." && below(ours, own) || slices.ContainsFunc(may, func(top string) bool { return below(ours, top) }) {
		return ""
	}
	return fmt.Sprintf("%s may only import %v", cmp.Or(own, r.path), may)
}

func forbiddenParty(imported, dir string, isTest bool) string {
	if isTest && slices.ContainsFunc(inTestsFenced(), func(top string) bool { return below(imported, top) }) {
		return ""
	}
	for _, f := range fences() {
		if !below(imported, f.path) {
			continue
		}
		if slices.ContainsFunc(f.may, func(top string) bool { return below(dir, top) }) {
			return ""
		}
		return "fenced off from " + dir
	}
	host, _, _ := strings.Cut(imported, "/")
	switch {
	case imported == "C":
		return "the binary is static: no cgo"
	case strings.Contains(host, "."):
		return "a third party that is missing from the table of fences"
	}
	return ""
}

func TestRoomsImportWhatTheyMay(t *testing.T) {
	files, all := 0, rooms(t)
	used := map[string]bool{} // "ROOM IMPORT" by code that is no test
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (name == "third_party" || name != "." && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_"))) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		files++
		name = filepath.ToSlash(name)
		found, err := violations(all, name, nil)
		for _, v := range found {
			t.Error(v)
		}
		if err == nil && !strings.HasSuffix(name, "_test.go") {
			err = use(all, name, used)
		}
		return err
	})
	require.NoError(t, err)
	if files < 20 {
		t.Errorf("only %d files were looked at", files)
	}
	for _, r := range all {
		if _, err := os.Stat(strings.TrimSuffix(r.path, "/*")); err != nil {
			t.Errorf("the table has a row of %s, and there is no such folder", r.path)
		}
		for _, may := range r.may {
			// who may import every room needs not all of them, and as tool/* others do not
			if !used[r.path+" "+may] && r.path != "internal/cli" && r.path != "bench" && r.path != "docs" && !strings.HasPrefix(r.path, "internal/tool/") {
				t.Errorf("%s may import %s by the table, and does not", r.path, may)
			}
		}
	}
}

// use notes which entries of the table a file needs, and that its room is there.
func use(all []room, name string, used map[string]bool) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	if err != nil {
		return err
	}
	r, _, _ := roomOf(all, path.Dir(name))
	used[r.path+" "] = true
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		for _, may := range r.may {
			if ours, isOurs := strings.CutPrefix(imported, "iocause/"); isOurs && below(ours, may) {
				used[r.path+" "+may] = true
			}
		}
	}
	return nil
}

// Data flows one way: no room imports one that imports it, straight or through others.
func TestRoomsHaveNoCircle(t *testing.T) {
	all := rooms(t)
	imports := map[string][]string{}
	for _, name := range sources(t, "internal") {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		_, own, _ := roomOf(all, path.Dir(name))
		for _, spec := range file.Imports {
			ours, isOurs := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), "iocause/")
			if _, of, _ := roomOf(all, ours); isOurs && of != own && !slices.Contains(imports[own], of) {
				imports[own] = append(imports[own], of)
			}
		}
	}
	if len(imports) < 20 {
		t.Fatalf("only %d rooms import others", len(imports))
	}
	done := map[string]bool{}
	var visit func(way []string)
	visit = func(way []string) {
		at := way[len(way)-1]
		if i := slices.Index(way, at); i < len(way)-1 {
			t.Errorf("a circle: %v", way[i:])
			return
		}
		if done[at] {
			return
		}
		for _, next := range imports[at] {
			visit(append(slices.Clone(way), next))
		}
		done[at] = true
	}
	for room := range imports {
		visit([]string{room})
	}
}

// The command line wires rooms, and shall stay that small.
func TestTheCommandLineIsThin(t *testing.T) {
	const most, mostOfAFile = 6000, 300
	sum := 0
	for _, name := range sources(t, "internal") {
		if path.Dir(name) != "internal/cli" {
			continue
		}
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		n := strings.Count(string(b), "\n")
		if sum += n; n > mostOfAFile {
			t.Errorf("%s has %d lines, more than %d: what is no wiring belongs into a room", name, n, mostOfAFile)
		}
	}
	if sum > most || sum < 1000 {
		t.Errorf("internal/cli has %d lines, more than %d: what is no wiring belongs into a room", sum, most)
	}
}

// sources are the Go files below a folder that are no tests, by their paths from the root.
func sources(t *testing.T, top string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !strings.Contains(name, "testdata") {
			all = append(all, filepath.ToSlash(name))
		}
		return err
	})
	require.NoError(t, err)
	return all
}

func TestPlantedImportsAreCaught(t *testing.T) {
	all := rooms(t)
	for _, c := range []struct {
		file, imported string
		caught         bool
	}{
		{"main.go", "iocause/internal/cli", false},
		{"main.go", "iocause/internal/host", true},
		{"internal/sample/x.go", "iocause/internal/host", true},
		{"internal/host/x.go", "iocause/internal/sample", true},
		{"internal/host/x.go", "golang.org/x/sys/unix", false},
		{"internal/bpf/x.go", "iocause/internal/source", true},
		{"internal/source/list.go", "iocause/internal/source/proc/stat", false},
		{"internal/source/list.go", "iocause/internal/symbol", true},
		{"internal/source/proc/stat/x.go", "iocause/internal/source/proc/pid", true},
		{"internal/source/proc/stat/x.go", "iocause/internal/bpf", true},
		{"internal/source/proc/stat/deep/x.go", "iocause/internal/source/proc/stat/deeper", false},
		{"internal/source/probe/x/x.go", "iocause/internal/bpf", false},
		{"internal/source/probe/x/x.go", "iocause/internal/source/probe/y", true},
		{"internal/source/probe/x/x.go", "iocause/internal/source/proc/pid", true},
		{"internal/source/probe/x/x.go", "iocause/internal/lab/load", true},
		{"internal/source/probe/x/x_test.go", "iocause/internal/lab/load", false},
		{"internal/source/probe/x/x.go", "github.com/cilium/ebpf/link", false},
		{"internal/source/proc/x/x.go", "github.com/cilium/ebpf", true},
		{"internal/source/probe/x/x_test.go", "os/exec", false},
		{"internal/source/probe/x/x.go", "os/exec", true},
		{"internal/diagnose/x.go", "iocause/internal/source", true},
		{"internal/diagnose/x.go", "iocause/internal/sample", false},
		{"internal/diagnose/x_test.go", "iocause/internal/source", true},
		{"internal/present/text/x.go", "iocause/internal/present/html", true},
		{"internal/present/text/x.go", "iocause/internal/host", true},
		{"internal/table/x.go", "iocause/internal/present/text", true},
		{"internal/view/x.go", "iocause/internal/table", false},
		{"internal/tool/x/x.go", "iocause/internal/session", false},
		{"internal/tool/x/x.go", "iocause/internal/tool/y", true},
		{"internal/tool/x/x.go", "iocause/internal/present/text", true},
		{"internal/tool/x/x.go", "github.com/spf13/cobra", true},
		{"internal/view/x.go", "iocause/internal/present/text", true},
		{"internal/lab/x.go", "iocause/internal/diagnose", true},
		{"internal/lab/load/x.go", "iocause/internal/lab", false},
		{"internal/lab/x.go", "os/exec", false},
		{"internal/host/x.go", "os/exec", true},
		{"internal/cli/x.go", "os/exec", true},
		{"internal/cli/x.go", "iocause/internal/lab", false},
		{"internal/cli/x.go", "github.com/cilium/ebpf", true},
		{"internal/diagnose/x.go", "github.com/spf13/cobra", true},
		{"internal/store/series/x.go", "github.com/prometheus/prometheus/tsdb", false},
		{"internal/cli/x.go", "github.com/prometheus/prometheus/promql", true},
		{"internal/diagnose/x.go", "github.com/spf13/cobrastrange", true},
		{"internal/sample/x.go", "C", true},
		{"internal/sample/x.go", "encoding/json", false},
		{"internal/attic/x.go", "fmt", true},
		{"internal/sampler/x.go", "fmt", true},
		{"extra/x.go", "fmt", true},
	} {
		found, err := violations(all, c.file, fmt.Sprintf("package x\n\nimport _ %q\n", c.imported))
		require.NoError(t, err)
		if (len(found) > 0) != c.caught {
			t.Errorf("%s importing %s: found %q, want caught %v", c.file, c.imported, found, c.caught)
		}
	}
}

// A fence around nothing is a line that nobody would miss.
func TestEveryFenceIsNeeded(t *testing.T) {
	used := map[string]bool{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			for _, f := range fences() {
				if below(strings.Trim(spec.Path.Value, `"`), f.path) {
					used[f.path] = true
				}
			}
		}
		return nil
	})
	require.NoError(t, err)
	for _, f := range fences() {
		if !used[f.path] {
			t.Errorf("nothing imports %s: take it off the table", f.path)
		}
	}
}
