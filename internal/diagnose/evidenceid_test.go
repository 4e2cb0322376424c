package diagnose

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var updateIDs = flag.Bool("ids", false, "add new IDs of figures to testdata/evidence-ids.txt")

// Figures have IDs that programs may rely on: one that was published stays, whatever
// becomes of its words, and none has the name of a device or a program in it.
func TestEvidenceIDsStay(t *testing.T) {
	const file = "testdata/evidence-ids.txt"
	text, err := os.ReadFile(file)
	if err != nil && !*updateIDs {
		t.Fatal(err)
	}
	published, now := strings.Fields(string(text)), idsInSource(t)
	for _, id := range published {
		if !slices.Contains(now, id) {
			t.Errorf("no figure has the ID %q any more: give it to the one that had it, with .as(%q)", id, id)
		}
	}
	for _, id := range now {
		if !slices.Contains(published, id) && !*updateIDs {
			t.Errorf("the ID %q is new: go test ./internal/diagnose -run EvidenceIDs -ids", id)
		}
	}
	if *updateIDs {
		all := slices.Concat(published, now)
		slices.Sort(all)
		if err := os.WriteFile(file, []byte(strings.Join(slices.Compact(all), "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// idsInSource are those of all figures that causes make.
func idsInSource(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	fset := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		given := map[ast.Node]bool{} // figures with .as
		ast.Inspect(file, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.CallExpr:
				of, ok := x.Fun.(*ast.SelectorExpr)
				switch {
				case !ok:
				case of.Sel.Name == "as":
					given[of.X] = true
					if id, ok := literal(x.Args[0]); ok {
						all = append(all, id)
					}
				case slices.Contains([]string{"figure", "figureOf", "partOf", "setEvidence"}, of.Sel.Name) && !given[x]:
					if said, ok := literal(x.Args[0]); ok {
						all = append(all, idOf(said))
					} else if _, sum := x.Args[0].(*ast.BinaryExpr); sum {
						t.Errorf("%s: the words of this figure differ from case to case: give it an ID with .as", fset.Position(x.Pos()))
					}
				}
			case *ast.CompositeLit:
				of, ok := x.Type.(*ast.Ident)
				if ok && of.Name == "Evidence" || x.Type == nil { // in a list its type is left out
					all = append(all, ofLiteral(t, fset, x)...)
				}
			}
			return true
		})
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ofLiteral is the ID of a figure that is written out.
func ofLiteral(t *testing.T, fset *token.FileSet, x *ast.CompositeLit) []string {
	fields := map[string]ast.Expr{}
	for _, e := range x.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			fields[kv.Key.(*ast.Ident).Name] = kv.Value
		}
	}
	if id, ok := literal(fields["ID"]); ok {
		return []string{id}
	}
	if said, ok := literal(fields["Name"]); ok && fields["Source"] != nil {
		return []string{idOf(said)}
	}
	if fields["ID"] == nil && fields["Name"] != nil && fields["Source"] != nil {
		t.Errorf("%s: give this figure an ID", fset.Position(x.Pos()))
	}
	return nil
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}
