package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"iocause/internal/require"
)

// step is a row of a way in docs/architecture.md: a function, and what it hands on.
type step struct {
	room, function string
	handsOn        []string
}

// walks are the tables of ways by their headings, and the text below each.
func walks(t *testing.T) (ways map[string][]step, below map[string]string) {
	t.Helper()
	b, err := os.ReadFile("docs/architecture.md")
	require.NoError(t, err)
	ways, below = map[string][]step{}, map[string]string{}
	for _, part := range strings.Split(string(b), "\n### The way of ")[1:] {
		heading, rest, _ := strings.Cut(part, "\n")
		_, rest, found := strings.Cut(rest, "| room | function | hands on |\n|---|---|---|\n")
		if !found {
			t.Fatalf("the way of %s has no table", heading)
		}
		rows, after, _ := strings.Cut(rest, "\n\n")
		for row := range strings.Lines(rows) {
			cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), " | ")
			if len(cells) != 3 {
				t.Fatalf("the way of %s: a row has %d columns: %s", heading, len(cells), row)
			}
			name := regexp.MustCompile("`([^`]+)`").FindStringSubmatch(cells[1])
			if name == nil {
				t.Fatalf("the way of %s: a row names no function: %s", heading, row)
			}
			s := step{room: inBackquotes(cells[0])[0], function: name[1]}
			for _, n := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[2], -1) {
				s.handsOn = append(s.handsOn, n[1])
			}
			ways[heading] = append(ways[heading], s)
		}
		below[heading], _, _ = strings.Cut(after, "\n\n")
	}
	return ways, below
}

// said are the words of a function: names, "package.Name" and texts in quotes, the
// former with the room that an import of its file stands for.
func (s *step) said(t *testing.T) map[string]string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(s.room, "*.go"))
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && nameOf(d) == s.function {
				return goWords(f, d)
			}
		}
	}
	return s.cWords()
}

// nameOf is "Type.Method" or the name of a function.
func nameOf(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	of := d.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if of, ok := of.(*ast.Ident); ok {
		return of.Name + "." + d.Name.Name
	}
	return ""
}

func goWords(f *ast.File, d *ast.FuncDecl) map[string]string {
	rooms := map[string]string{}
	for _, i := range f.Imports {
		at, _ := strconv.Unquote(i.Path.Value)
		name := path.Base(at)
		if i.Name != nil {
			name = i.Name.Name
		}
		rooms[name] = strings.TrimPrefix(at, "iocause/")
	}
	words := map[string]string{}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if n != d.Name {
				words[n.Name] = ""
			}
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil {
				words[text] = ""
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && rooms[x.Name] != "" {
				words[x.Name+"."+n.Sel.Name] = rooms[x.Name]
			}
		}
		return true
	})
	return words
}

// cWords are those of a function in the C of a probe, nil where there is none.
func (s *step) cWords() map[string]string {
	files, _ := filepath.Glob(filepath.Join(s.room, "*.bpf.[ch]"))
	begin := regexp.MustCompile(`(?m)^[a-z].*\b` + regexp.QuoteMeta(s.function) + `\b.*\)\n\{\n`)
	for _, file := range files {
		b, err := os.ReadFile(file)
		at := begin.FindIndex(b)
		if err != nil || at == nil {
			continue
		}
		body, _, _ := strings.Cut(string(b[at[0]:]), "\n}\n")
		words := map[string]string{}
		for _, w := range regexp.MustCompile(`\w+`).FindAllString(body, -1) {
			words[w] = ""
		}
		return words
	}
	return nil
}

// own is the name of a function without its type or package.
func own(name string) string { return name[strings.LastIndex(name, ".")+1:] }

// joins tells whether one step leads to the other: it calls it, is called by it, or
// hands on the same thing. C and Go write names of fields in different cases.
func (s *step) joins(next *step) bool {
	hands := func(s *step, name string) bool {
		return slices.ContainsFunc(s.handsOn, func(h string) bool { return strings.EqualFold(own(h), own(name)) })
	}
	return hands(s, next.function) || hands(next, s.function) || slices.ContainsFunc(next.handsOn, func(h string) bool { return hands(s, h) })
}

func TestWaysOfTheDocumentAreThoseOfTheCode(t *testing.T) {
	ways, below := walks(t)
	if len(ways) != 3 {
		t.Errorf("docs/architecture.md has %d ways, want 3", len(ways))
	}
	for heading, steps := range ways {
		var passed []string
		returns := 0
		for i, s := range steps {
			said := s.said(t)
			if said == nil {
				t.Errorf("the way of %s: %s has no function %s", heading, s.room, s.function)
				continue
			}
			for _, h := range s.handsOn {
				in, ok := said[h]
				if !ok {
					t.Errorf("the way of %s: %s of %s does not mention %s", heading, s.function, s.room, h)
				}
				for _, next := range steps[i+1:] {
					if in != "" && own(h) == next.function && in != next.room {
						t.Errorf("the way of %s: %s of %s calls %s of %s, not of %s", heading, s.function, s.room, h, in, next.room)
					}
				}
			}
			from := i - 1
			for from >= 0 && !steps[from].joins(&s) {
				from--
			}
			switch {
			case i > 0 && from < 0:
				t.Errorf("the way of %s: no row above leads to %s of %s", heading, s.function, s.room)
			case from < i-1 && s.room != steps[i-1].room && slices.Contains(passed, s.room):
				returns++
			}
			if !slices.Contains(passed, s.room) {
				passed = append(passed, s.room)
			}
		}
		n := strconv.Itoa
		if want := n(len(passed)) + " rooms, " + n(returns) + " returns to one above."; !strings.HasPrefix(below[heading], want) {
			t.Errorf("below the way of %s stands %q, want %q", heading, below[heading], want)
		}
		if len(passed) > 12 || returns > 3 {
			t.Errorf("the way of %s passes %d rooms and returns to one above %d times; at most 12 and 3", heading, len(passed), returns)
		}
	}
}
