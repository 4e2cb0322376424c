package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// generator makes schemas of the values that commands write: types and names of
// fields by reflection, what they are from the comments in the source.
type generator struct {
	t        *testing.T
	comments map[string]string // by package.Type or package.Type.Field
	read     map[string]bool   // packages
}

func newGenerator(t *testing.T) *generator {
	return &generator{t: t, comments: map[string]string{}, read: map[string]bool{}}
}

// of is the schema of a value's type.
func (g *generator) of(v any) *jsonschema.Schema { return g.ofType(reflect.TypeOf(v)) }

func (g *generator) ofType(of reflect.Type) *jsonschema.Schema {
	g.t.Helper()
	special := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[[]byte]():          {Types: []string{"string", "null"}, ContentEncoding: "base64"},
		reflect.TypeFor[sample.RawName]():  {Types: []string{"string", "object"}, Description: "a name; where it is no UTF-8, an object with its bytes in \"base64\""},
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
	}
	if of != reflect.TypeFor[diagnose.Culprit]() && of != reflect.TypeFor[sample.Identity]() { // these it is made of
		special[reflect.TypeFor[diagnose.Culprit]()] = g.culprit()
	}
	s, err := jsonschema.ForType(of, &jsonschema.ForOptions{TypeSchemas: special})
	if err != nil {
		g.t.Fatal(err)
	}
	g.describe(s, of)
	return s
}

// culprit adds what Culprit.MarshalJSON does.
func (g *generator) culprit() *jsonschema.Schema {
	s := g.ofType(reflect.TypeFor[diagnose.Culprit]())
	more := g.ofType(reflect.TypeFor[sample.Identity]())
	for _, name := range more.PropertyOrder {
		s.Properties[name] = more.Properties[name]
		s.PropertyOrder = append(s.PropertyOrder, name)
	}
	s.Properties["raw"] = &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "string"}, Description: "names that are no UTF-8, by field, in base64"}
	s.PropertyOrder = append(s.PropertyOrder, "raw")
	return s
}

// describe puts comments of the source to a type and its fields.
func (g *generator) describe(s *jsonschema.Schema, of reflect.Type) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch of.Kind() {
	case reflect.Slice, reflect.Array:
		if s.Items != nil {
			g.describe(s.Items, of.Elem())
		}
		return
	case reflect.Map:
		if s.AdditionalProperties != nil {
			g.describe(s.AdditionalProperties, of.Elem())
		}
		return
	case reflect.Struct:
	default:
		return
	}
	if of.PkgPath() == "time" {
		return
	}
	g.readComments(of.PkgPath())
	s.Description = cmp.Or(s.Description, g.comments[of.PkgPath()+"."+of.Name()])
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		field := s.Properties[cmp.Or(name, f.Name)]
		if field == nil || f.Anonymous {
			continue
		}
		owner := of
		for _, i := range f.Index[:len(f.Index)-1] {
			if owner = owner.Field(i).Type; owner.Kind() == reflect.Pointer {
				owner = owner.Elem()
			}
		}
		g.readComments(owner.PkgPath())
		if said := g.comments[owner.PkgPath()+"."+owner.Name()+"."+f.Name]; said != "" {
			field.Description = said
		}
		g.describe(field, f.Type)
	}
}

// readComments reads those of a package of ours.
func (g *generator) readComments(pkg string) {
	dir, ours := strings.CutPrefix(pkg, "iocause/")
	if !ours || g.read[pkg] {
		return
	}
	g.read[pkg] = true
	names, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
	if err != nil || len(names) == 0 {
		g.t.Fatalf("no source of %s: %v", pkg, err)
	}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			g.t.Fatal(err)
		}
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.TYPE {
				continue
			}
			for _, spec := range decl.Specs {
				g.readType(pkg, spec.(*ast.TypeSpec), decl.Doc)
			}
		}
	}
}

func (g *generator) readType(pkg string, spec *ast.TypeSpec, doc *ast.CommentGroup) {
	at := pkg + "." + spec.Name.Name
	if spec.Doc != nil {
		doc = spec.Doc
	}
	g.comments[at] = oneLine(doc)
	of, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range of.Fields.List {
		said := oneLine(f.Comment)
		if said == "" {
			said = oneLine(f.Doc)
		}
		for _, name := range f.Names {
			g.comments[at+"."+name.Name] = said
		}
	}
}

func oneLine(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }

// withHost is the schema of a report: what it opaquely holds of the machine is the
// fingerprint.
func (g *generator) report() *jsonschema.Schema {
	s := g.of(diagnose.Report{})
	s.Properties["host"] = g.of(&host.Fingerprint{})
	return s
}

// object is a document of these fields.
func object(required []string, fields map[string]*jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Properties: fields, Required: required, PropertyOrder: slices.Sorted(maps.Keys(fields)), AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
}

// tables is a line that a command prints of each interval: several tables by key,
// each with the columns of all its forms.
func (g *generator) tables(forms ...[]table.Table) *jsonschema.Schema {
	fields := map[string]*jsonschema.Schema{
		"time":    {Type: "string", Format: "date-time", Description: "when the interval began"},
		"seconds": {Type: "number", Description: "its length"},
		"label":   {Type: "string", Description: "what stands above the tables in text"},
	}
	for _, tables := range forms {
		for i := range tables {
			t := &tables[i]
			if fields[t.Key] == nil {
				fields[t.Key] = g.table(t)
				continue
			}
			rows, more := fields[t.Key].Properties["rows"].Items, g.table(t).Properties["rows"].Items
			for _, key := range more.PropertyOrder { // not in the order of a map, which differs from run to run
				if rows.Properties[key] == nil {
					rows.Properties[key] = more.Properties[key]
					rows.PropertyOrder = append(rows.PropertyOrder, key)
				}
			}
		}
	}
	return object([]string{"time", "seconds"}, fields)
}

// table is a table as table.Object writes it.
func (g *generator) table(t *table.Table) *jsonschema.Schema {
	row := object(nil, map[string]*jsonschema.Schema{})
	for _, c := range t.Columns {
		column := &jsonschema.Schema{Types: []string{"string", "null"}, Description: c.Head}
		if c.Unit != "" {
			// A string is "?" alone: it should be there, but reading it failed.
			column = &jsonschema.Schema{Types: []string{"number", "string", "null"}, Pattern: `^\?$`, Description: strings.TrimPrefix(fmt.Sprintf("%s, in %s", c.Head, c.Unit), ", ")}
		}
		row.Properties[c.Key] = column
		row.PropertyOrder = append(row.PropertyOrder, c.Key)
		if c.Was != "" {
			old := column.CloneSchemas()
			old.Deprecated, old.Description = true, "what "+c.Key+" was called before"
			row.Properties[c.Was] = old
			row.PropertyOrder = append(row.PropertyOrder, c.Was)
		}
	}
	s := object([]string{"rows"}, map[string]*jsonschema.Schema{
		"rows":          {Type: "array", Items: row},
		"rows_left_out": {Type: "integer", Description: "rows that --top left out"},
		"notes":         {Type: "array", Items: &jsonschema.Schema{Type: "string"}, Description: "what a reader must know of the figures"},
	})
	if !strings.ContainsAny(t.Title, "0123456789") { // else it is of what there is
		s.Description = t.Title
	}
	return s
}

// anyOf is one of several.
func anyOf(title string, all ...*jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Title: title, AnyOf: all}
}

// open allows fields that a schema does not know: later versions have more.
func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil {
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		open(p)
	}
	for _, p := range s.AnyOf {
		open(p)
	}
	open(s.Items)
	open(s.AdditionalProperties)
}
