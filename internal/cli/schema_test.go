package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/host"
	"iocause/internal/incident/present"
	"iocause/internal/lab"
	"iocause/internal/lab/load"
	"iocause/internal/lab/result"
	"iocause/internal/lab/space"
	"iocause/internal/parse"
	"iocause/internal/picture"
	"iocause/internal/replay"
	"iocause/internal/sample"
	"iocause/internal/show"
	"iocause/internal/source/residency"
	"iocause/internal/table"
	"iocause/internal/tool/baseline"
	"iocause/internal/tool/burst"
	"iocause/internal/tool/check"
	"iocause/internal/tool/diff"
	"iocause/internal/tool/fleet"
	"iocause/internal/tool/latency"
	"iocause/internal/tool/mem"
	"iocause/internal/tool/predict"
	"iocause/internal/tool/profile"
	"iocause/internal/tool/query"
	"iocause/internal/tool/read"
	"iocause/internal/tool/resident"
	"iocause/internal/tool/threads"
	"iocause/internal/tool/top"
	"iocause/internal/tool/trace"
	"iocause/internal/tool/verify"
	"iocause/internal/version"
	"iocause/internal/view"
)

var updateSchemas = flag.Bool("update", false, "write docs/schema anew")

// contract is the JSON that a command prints: one document, or lines.
type contract struct {
	command string
	title   string
	schema  *jsonschema.Schema
	lines   []string // command lines whose output is held against it
}

// contracts are those of all commands with --format json.
func contracts(t *testing.T) []contract {
	g := newGenerator(t)
	lists := func(key string, of any) *jsonschema.Schema {
		return object([]string{"version", key}, map[string]*jsonschema.Schema{"version": {Type: "integer"}, key: g.of(of)})
	}
	const incident, agent, recorded = " --recording agent/incidents/000001.iocause", " --dir agent", " --recording host.iocause"
	all := []contract{
		{"diagnose", "The finding of a diagnosis", g.report(), []string{"diagnose" + recorded, "diagnose --recording b.iocause --against a.iocause", "diagnose --recording 1" + agent}},
		{"check", "What can be observed here, and which verdicts that allows", g.of(check.Found{}), nil},
		{"predict", "What other sizes of memory would do for reads; with --writes, when writers are paused", anyOf("", g.of(predict.Prediction{}), g.of(predict.Writes{})), nil},
		{"report", "The cells of latency heat maps", g.tables([]table.Table{picture.Cells(nil)}), []string{"report host.iocause"}},
		{"verify", "What came of a fix", g.of(verify.Outcome{}), []string{"verify a.iocause b.iocause"}},
		{"diff", "What differs between two recordings; of two texts, their findings", anyOf("", g.of(diff.Difference{}), g.document()), []string{"diff a.iocause b.iocause", "diff a.iocause b.iocause --all"}},
		{"advice", "What was advised, what was predicted of it, and what came of it", lists("advice", []show.Advised{}), []string{"advice --dir ledger"}},
		{"incidents", "The incidents that the agent keeps", lists("incidents", []present.Listed{}), []string{"incidents" + agent}},
		{"incident", "An incident with its finding and evidence", g.of(present.Document{}), []string{"incident 1" + agent}},
		{"baseline", "What is normal, hour by hour", lists("hours", []baseline.Hour{}), []string{"baseline" + agent, "baseline" + agent + " disk.busy --day 2026-11-04"}},
		{"query", "The result of a PromQL expression; with --list, the series", anyOf("", g.result(), object([]string{"names"}, map[string]*jsonschema.Schema{"names": g.table(query.NamesTable(nil, nil))})),
			[]string{"query" + agent + " iocause_cpus", "query" + agent + " 0/0", "query" + agent + " --list"}},
		{"read", "What texts of other tools show, and their causes; with --series, a line for each value", anyOf("", g.document(), g.of(parse.Value{})), []string{"read texts/fio-runs.txt", "read texts/upload.txt --list", "read texts/upload.txt --series"}},
		{"trace", "A line for each I/O; with --summary, tables of each interval", anyOf("", g.of(trace.IO{}), g.tables(trace.Tables())), []string{"trace" + incident, "trace --summary" + incident}},
		{"burst", "A line for each burst, and tables of each interval", anyOf("", g.burst(), g.tables((&burst.Interval{}).Tables())), []string{"burst" + incident}},
		{"version", "From which revision and with which Go the program was built", g.of(version.Build()), []string{"version"}},
		{"top", "The busiest processes and cgroups of a time", g.tables((&top.Busiest{}).Tables()), []string{"top" + incident}},
		{"offcpu", "Where threads wait", g.tables([]table.Table{profile.Table(&sample.Profile{Counts: "waits"}, 0)}), []string{"offcpu" + incident}},
		{"oncpu", "Where threads run", g.tables([]table.Table{profile.Table(&sample.Profile{Counts: "samples"}, 0)}), []string{"oncpu" + incident}},
		{"threads", "Which share of its time each thread spends in which state", g.tables(g.threads()...), []string{"threads" + incident, "threads --by cgroup" + incident}},
		{"latency", "What the time of system calls is made of", g.tables(g.formOf((&latency.Calls{}).Tables(&latency.Layout{Sort: "wall_s", Parts: true, Slow: true}))), []string{"latency" + incident}},
		{"mem", "Where the memory is", g.tables(mem.Tables(someMemory(), someMemory(), mem.Form{})), []string{"mem" + incident}},
		{"resident", "Which files are in the page cache", g.tables(g.resident()...), []string{"resident" + incident}},
		{"fleet", "Hosts by cause", g.tables((&fleet.Fleet{}).Tables()), nil},
		{"fleet common", "What hosts with a cause have in common", g.tables([]table.Table{(&fleet.Common{}).Table()}), nil},
		{"fleet hosts", "Hosts with a cause", g.tables([]table.Table{(&fleet.Fleet{}).HostTable("")}), nil},
		{"fleet diff", "Two hosts or groups of hosts side by side", g.tables((&fleet.Comparison{}).Tables()), nil},
		{"fleet latency", "How long requests of all disks took", g.tables((&fleet.Latency{}).Tables()), nil},
		{"fleet disks", "Disks that are slower than their like", g.tables([]table.Table{(&fleet.Disks{}).Table()}), nil},
		{"lab load", "The account of a load", g.of(load.Result{}), []string{"lab load read --path x --size 64k --bs 4k --passes 1"}},
		{"lab score", "How often diagnose was right", g.of(lab.Score{}), nil},
		{"lab prove", "A situation that was drawn, and its cause as interventions show it", g.of(space.Proof{}), nil},
		{"lab verify", "What was advised in a situation of the lab, and what its remedy gave", lists("advice", []show.Advised{}), nil},
		{"lab compare", "What differs between two runs of an experiment", g.of(result.Comparison{}), nil},
		{"lab probe", "What a directory or a block device can do", object([]string{"path", "size_bytes", "step_seconds", "steps"}, map[string]*jsonschema.Schema{
			"path": {Type: "string"}, "size_bytes": {Type: "integer"}, "step_seconds": {Type: "number"}, "steps": g.table(load.ProbeTable("", 0, 0))}), nil},
		{"lab eat", "How much memory was taken", g.of(lab.Eaten{}), nil},
		{"lab fio", "What jobs of fio did, and the finding beside them", object([]string{"fio_version", "jobs"}, map[string]*jsonschema.Schema{
			"fio_version": {Type: "string"}, "jobs": {Type: "object"}, "diagnosis": g.report()}), nil},
	}
	for _, tool := range view.List() {
		var forms [][]table.Table
		for _, by := range append([]string{""}, tool.By...) {
			for _, w := range g.windows() {
				forms = append(forms, tool.View(w, &view.Query{By: by}))
			}
		}
		lines := []string{tool.Name + recorded, tool.Name + " 1" + recorded}
		for _, by := range tool.By {
			lines = append(lines, tool.Name+" --by "+by+recorded)
		}
		all = append(all, contract{tool.Name, tool.What, g.tables(forms...), lines})
	}
	for i := range all {
		all[i].schema.Schema, all[i].schema.Title = "https://json-schema.org/draft/2020-12/schema", all[i].title
	}
	return all
}

// someMemory has every figure of /proc/meminfo, at 0.
func someMemory() *mem.Memory {
	m := &mem.Memory{}
	info := reflect.ValueOf(&m.Info).Elem()
	for i := range info.NumField() {
		if info.Field(i).Type() == reflect.TypeFor[*uint64]() && info.Field(i).CanSet() {
			info.Field(i).Set(reflect.ValueOf(new(uint64)))
		}
	}
	return m
}

func (g *generator) formOf(tables []table.Table, err error) []table.Table {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
	return tables
}

func (g *generator) threads() (forms [][]table.Table) {
	for _, by := range threads.Groupings() {
		forms = append(forms, g.formOf((&threads.Threads{}).Tables(&threads.Layout{By: by, Sort: "busy_threads", Waits: true})))
	}
	return forms
}

// resident has other tables for the whole cache and for files that were named, and
// columns for what changed.
func (g *generator) resident() (forms [][]table.Table) {
	for _, held := range []bool{false, true} {
		forms = append(forms, g.formOf(resident.FileTables(nil, &residency.Found{}, &residency.Found{}, resident.Files{Form: resident.Form{Sort: "cached_bytes"}, Held: held})),
			g.formOf(resident.CacheTables(nil, &resident.Cache{}, &resident.Cache{}, resident.Choice{}, resident.Form{Sort: "cached_bytes"}, nil)))
	}
	return forms
}

// windows are an empty one and one that was recorded: some tables are there only
// where there is something to show.
func (g *generator) windows() []*sample.Window {
	all := []*sample.Window{{}}
	for _, name := range []string{"host.iocause", "b.iocause"} {
		from, err := newOpener(&env{streams: streams{stderr: io.Discard}, host: host.Live()}, "").File("testdata/golden/"+name, &replay.Interval{})
		if err != nil {
			g.t.Fatal(err)
		}
		var whole replay.Join
		if err := errors.Join(from.Each(whole.Add), from.Close()); err != nil {
			g.t.Fatal(err)
		}
		all = append(all, whole.Window())
	}
	return all
}

func (g *generator) document() *jsonschema.Schema {
	s := g.of(read.Document{})
	s.Properties["cases"].Items.Properties["report"] = g.report()
	return s
}

// result is what query.Object makes.
func (g *generator) result() *jsonschema.Schema {
	point := object([]string{"time", "value"}, map[string]*jsonschema.Schema{"time": {Type: "string", Format: "date-time"},
		"value": {Types: []string{"number", "null"}, Description: "null where it is no number"}})
	line := object([]string{"labels", "points"}, map[string]*jsonschema.Schema{"name": {Type: "string"}, "labels": {Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "string"}}, "points": {Type: "array", Items: point}})
	return object([]string{"type", "series", "warnings"}, map[string]*jsonschema.Schema{"type": {Type: "string", Description: "of PromQL: scalar, vector, matrix or string"},
		"series": {Type: "array", Items: line}, "warnings": {Type: "array", Items: &jsonschema.Schema{Type: "string"}}, "text": {Type: "string"}})
}

// burst is what burst.Burst.Object makes.
func (g *generator) burst() *jsonschema.Schema {
	number := &jsonschema.Schema{Type: "number"}
	owner := object([]string{"comm", "pid", "cgroup", "ios"}, map[string]*jsonschema.Schema{"comm": {Type: "string"}, "pid": {Type: "integer"}, "cgroup": {Type: "string"}, "ios": number})
	return object([]string{"burst"}, map[string]*jsonschema.Schema{"burst": object([]string{"time", "disk", "seconds"}, map[string]*jsonschema.Schema{
		"time": {Type: "string", Format: "date-time"}, "disk": {Type: "string"}, "seconds": number, "ios": number, "bytes": number,
		"peak_1ms_ios": number, "peak_1ms_bytes": number, "owners": {Type: "array", Items: owner}, "completed": number, "mean_latency_seconds": {Types: []string{"number", "null"}}})})
}

// Every command that prints JSON has a schema, which is what its types say, and
// prints what its schema says: no field that is not in it, none missing.
func TestSchemas(t *testing.T) {
	all := contracts(t)
	dir, err := filepath.Abs("../../docs/schema")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range all {
		names = append(names, c.command)
	}
	slices.Sort(names)
	if want := jsonCommands(Root()); !slices.Equal(names, want) {
		t.Errorf("there are contracts of %q, and commands with --format json are %q", names, want)
	}
	strict := map[string]*jsonschema.Resolved{}
	for _, c := range all {
		r, err := c.schema.CloneSchemas().Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", c.command, err)
		}
		strict[c.command] = r
		open(c.schema)
		text, err := json.MarshalIndent(c.schema, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, '\n')
		name := filepath.Join(dir, strings.ReplaceAll(c.command, " ", "-")+".json")
		if *updateSchemas {
			if err := os.WriteFile(name, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if is, err := os.ReadFile(name); err != nil || !bytes.Equal(is, text) {
			t.Errorf("%s is not what the types say (%v): go test ./internal/cli -run TestSchemas -update", name, err)
		}
	}
	inGolden(t)
	for _, c := range all {
		for _, line := range c.lines {
			code, out, stderr := runApp(t.Context(), nil, append(strings.Fields(line), "--format", "json")...)
			if code != exitWell {
				t.Errorf("%s: code %d: %s", line, code, stderr)
				continue
			}
			documents := 0
			for d := json.NewDecoder(strings.NewReader(out)); ; documents++ {
				var v any
				if err := d.Decode(&v); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				if err := strict[c.command].Validate(v); err != nil {
					t.Errorf("%s: %v", line, err)
					break
				}
			}
			if documents == 0 {
				t.Errorf("%s prints nothing", line)
			}
		}
	}
}

// inGolden goes to a folder with what was recorded: readers of series make files
// beside them.
func inGolden(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.CopyFS(dir, os.DirFS("testdata/golden")), os.CopyFS(filepath.Join(dir, "texts"), os.DirFS("testdata/read"))); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
}

// jsonCommands are the commands with --format json.
func jsonCommands(c *cobra.Command) (all []string) {
	if f := c.Flags().Lookup("format"); f != nil && c.HasParent() && !c.Hidden {
		if words, ok := f.Value.(ask.Choice); ok && slices.Contains(words.All, "json") {
			all = append(all, strings.TrimPrefix(c.CommandPath(), "iocause "))
		}
	}
	for _, sub := range c.Commands() {
		all = append(all, jsonCommands(sub)...)
	}
	slices.Sort(all)
	return all
}

// A schema refuses what breaks the contract.
func TestSchemasRefuse(t *testing.T) {
	text, err := schemaOf("diagnose")
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, good, _ := runApp(t.Context(), nil, "diagnose", "--recording", goldenRecording, "--format", "json")
	for name, change := range map[string]func(map[string]any){
		"":                       func(map[string]any) {},
		"a field of a later one": func(m map[string]any) { m["later"] = 1 },
		"no primary":             func(m map[string]any) { delete(m, "primary") },
		"words for a number":     func(m map[string]any) { m["version"] = "one" },
		"an odd finding":         func(m map[string]any) { m["findings"] = []any{map[string]any{"cause": 7}} },
	} {
		var m map[string]any
		if err := json.Unmarshal([]byte(good), &m); err != nil {
			t.Fatal(err)
		}
		change(m)
		if err := r.Validate(m); (err == nil) != (name == "" || strings.HasPrefix(name, "a field")) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestSchemaCommand(t *testing.T) {
	if code, out, stderr := runApp(t.Context(), nil, "schema", "lab", "score"); code != exitWell || !strings.HasPrefix(out, "{\n") || stderr != "" {
		t.Errorf("code %d: %.80s%s", code, out, stderr)
	}
	if code, out, _ := runApp(t.Context(), nil, "schema"); code != exitWell || !strings.Contains(out, "\nlab score ") || !strings.Contains(out, "\ndiagnose ") {
		t.Errorf("code %d:\n%s", code, out)
	}
	if code, _, stderr := runApp(t.Context(), nil, "schema", "../x"); code != exitUsage || !strings.Contains(stderr, "'iocause schema' lists") {
		t.Errorf("code %d: %s", code, stderr)
	}
}
