package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"iocause/internal/require"
)

// constants are the string constants of one list of names, by their values; of
// those that have that type or, where it is "", whose names begin with prefix.
func constants(t *testing.T, file, typ, prefix string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	names := map[string]string{}
	for _, d := range parsed.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			if of, _ := v.Type.(*ast.Ident); typ != "" && (of == nil || of.Name != typ) || len(v.Values) != 1 || !strings.HasPrefix(v.Names[0].Name, prefix) {
				continue
			}
			value, ok := text(v.Values[0])
			if !ok {
				continue
			}
			if names[value] != "" {
				t.Errorf("%s: %q has two names, %s and %s", file, value, names[value], v.Names[0].Name)
			}
			names[value] = v.Names[0].Name
		}
	}
	return names
}

// text is the value of a string literal.
func text(e ast.Expr) (value string, ok bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(l.Value)
	return value, err == nil
}

// namedElsewhere are places that write a name of a list and mean another thing.
func namedElsewhere() map[string][]string {
	return map[string][]string{
		"internal/detect/signal.go":       {"cpu.user", "disk.busy"}, // signals: shares, where the metrics are times
		"internal/store/advice/limits.go": {"cgroup-io-throttle"},    // a store knows no diagnosis
		"internal/lab/score.go":           {"healthy"},               // the lab knows no diagnosis; its scenarios say this of their own
	}
}

// A name of a metric, a cause or a class that is written out a second time compiles
// with a typo in it, and then reads as zero.
func TestNamesAreWrittenOnce(t *testing.T) {
	const metricsFile, causesFile, classesFile = "internal/sample/metrics.go", "internal/diagnose/list.go", "internal/sample/class.go"
	metrics, causes, classes := constants(t, metricsFile, "Metric", ""), constants(t, causesFile, "ID", ""), constants(t, classesFile, "", "Class")
	if len(metrics) < 100 || len(causes) < 25 || len(classes) < 25 {
		t.Fatalf("only %d metrics, %d causes and %d classes were read", len(metrics), len(causes), len(classes))
	}
	files := 0
	for _, name := range slices.Concat(sources(t, "internal"), sources(t, "bench")) {
		if strings.HasSuffix(name, "_bpfel.go") || strings.HasSuffix(filepath.Dir(name), "test") { // generated, or fixtures
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		require.NoError(t, err)
		files++
		for at, found := range literals(file) {
			value, inClass := found.value, found.class
			constant := ""
			switch {
			case slices.Contains(namedElsewhere()[name], value):
				continue
			case metrics[value] != "" && name != metricsFile:
				constant = "sample." + metrics[value]
			case causes[value] != "" && name != causesFile:
				constant = "diagnose." + causes[value]
			case inClass && classes[value] != "" && name != classesFile:
				constant = "sample." + classes[value]
			default:
				continue
			}
			t.Errorf("%s: %q is written out: use %s", set.Position(at), value, constant)
		}
	}
	if files < 200 {
		t.Errorf("only %d files were looked at", files)
	}
}

type literal struct {
	value string
	class bool // it stands where the class of an entity stands
}

// literals are the strings of a file, but for imports and tags.
func literals(file *ast.File) map[token.Pos]literal {
	found := map[token.Pos]literal{}
	put := func(class bool, all ...ast.Expr) {
		for _, e := range all {
			if value, ok := text(e); ok {
				found[e.Pos()] = literal{value, class || found[e.Pos()].class}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field: // its tag
			n.Tag = nil
		case *ast.BasicLit:
			put(false, n)
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Class" {
				put(true, n.Value)
			}
		case *ast.BinaryExpr:
			if named(n.X, "Class") {
				put(true, n.Y)
			}
		case *ast.AssignStmt:
			if named(n.Lhs[0], "Class") {
				put(true, n.Rhs...)
			}
		case *ast.IndexExpr: // the waits of a process, by class
			if named(n.X, "wait", "waits") {
				put(true, n.Index)
			}
		case *ast.SwitchStmt:
			if named(n.Tag, "Class") {
				for _, c := range n.Body.List {
					put(true, c.(*ast.CaseClause).List...)
				}
			}
		}
		return true
	})
	return found
}

// named tells whether an expression selects a field of one of these names.
func named(e ast.Expr, names ...string) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && slices.Contains(names, s.Sel.Name)
}

func TestPlantedNamesAreCaught(t *testing.T) {
	const planted = "package x\n\nimport \"cpu.user\"\n\nvar a, b, c = f(\"cache.misses\"), Entity{Class: \"read\"}, e.Class == \"write\"\n\nvar d = v.waits[\"page\"]\n\ntype s struct {\n\tHealthy bool `healthy`\n}\n"
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", planted, 0)
	require.NoError(t, err)
	got := slices.SortedFunc(maps.Values(literals(file)), func(a, b literal) int { return strings.Compare(a.value, b.value) })
	want := []literal{{"cache.misses", false}, {"page", true}, {"read", true}, {"write", true}}
	if !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}
