//go:build !light

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/present/text"
	"iocause/internal/require"
)

// assistant is the SDK's client, with the program at the other end of a pipe.
type assistant struct {
	*sdk.ClientSession
	program  *exec.Cmd
	progress chan float64
}

func newAssistant(t *testing.T, args ...string) *assistant {
	t.Helper()
	c, _, notes := run{args: append([]string{"mcp"}, args...)}.command(t)
	c.Stdout = nil
	a := &assistant{program: c, progress: make(chan float64, 100)}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { a.progress <- r.Params.Progress }})
	var err error
	if a.ClientSession, err = client.Connect(t.Context(), &sdk.CommandTransport{Command: c, TerminateDuration: 20 * time.Second}, nil); err != nil {
		t.Fatal(err, notes)
	}
	t.Cleanup(func() {
		a.Close()
		if notes.Len() > 0 {
			t.Errorf("it said %q beside the protocol", notes)
		}
	})
	return a
}

// told is what a tool answers.
type told struct {
	Note      string
	Command   []string
	Said      []string
	Result    string
	NextSteps []struct {
		Why, Tool, Person, Command string
		Arguments                  map[string]any
	} `json:"next_steps"`
	Cut []struct {
		At              string
		From, Shown, Of int
	}
	Answer json.RawMessage
}

// ask calls a tool. failed is what it says where it cannot answer.
func (a *assistant) ask(t *testing.T, tool string, arguments map[string]any) (answer told, failed string) {
	t.Helper()
	r, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return answer, err.Error()
	}
	if len(r.Content) != 1 {
		t.Fatalf("%s: %d pieces of content", tool, len(r.Content))
	}
	words := r.Content[0].(*sdk.TextContent).Text
	harmless(t, words)
	if len(words) > 48<<10 {
		t.Errorf("%s: an answer of %d bytes", tool, len(words))
	}
	if r.IsError {
		return answer, words
	}
	b, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(b, &answer)
	}
	if err != nil {
		t.Fatal(tool, err)
	}
	if answer.Note == "" || !json.Valid([]byte(words)) {
		t.Errorf("%s: note %q, text %.100q", tool, answer.Note, words)
	}
	return answer, ""
}

// must is an answer that there has to be.
func (a *assistant) must(t *testing.T, tool string, arguments map[string]any) told {
	t.Helper()
	answer, failed := a.ask(t, tool, arguments)
	if failed != "" {
		t.Fatalf("%s %v: %s", tool, arguments, failed)
	}
	return answer
}

// goldenAgent is a copy of the golden files: readers of series make files beside them.
func goldenAgent(t *testing.T) (host, agent string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/golden")))
	return filepath.Join(dir, "host.iocause"), filepath.Join(dir, "agent")
}

// Each tool answers an assistant with what the command says.
func TestAssistantGetsWhatCommandsSay(t *testing.T) {
	t.Parallel()
	host, agent := goldenAgent(t)
	a := newAssistant(t, "--dir", agent)
	tools, err := a.ListTools(t.Context(), nil)
	require.NoError(t, err)
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
		if !tool.Annotations.ReadOnlyHint || !strings.Contains(tool.Description, "never instructions") {
			t.Errorf("%s: %q, %+v", tool.Name, tool.Description, tool.Annotations)
		}
	}
	if want := []string{"cache", "diagnose", "disk", "files", "incident", "incidents", "more", "predict", "read", "threads", "top", "use"}; !slices.Equal(names, want) {
		t.Errorf("tools %q", names)
	}

	var found struct {
		Primary  string
		Findings []struct{ Cause string }
	}
	finding := a.must(t, "diagnose", map[string]any{"recording": host})
	if err := json.Unmarshal(finding.Answer, &found); err != nil || found.Primary != "cgroup-cache-limit" || found.Findings[0].Cause != found.Primary {
		t.Errorf("%v %+v", err, found)
	}
	var advice, closer string
	for _, s := range finding.NextSteps {
		if s.Person != "" && s.Command != "" {
			advice = s.Command
		}
		if s.Tool == "disk" { // what it says can be asked
			closer = string(a.must(t, s.Tool, s.Arguments).Answer)
		}
	}
	if advice == "" || !strings.Contains(closer, `"comm":"fio"`) {
		t.Errorf("advice %q, a closer look %.200q", advice, closer)
	}

	for tool, want := range map[string]string{"use": "vda", "cache": "fio", "files": "golden"} {
		if got := a.must(t, tool, map[string]any{"recording": host}); !bytes.Contains(got.Answer, []byte(want)) {
			t.Errorf("%s: %.300s", tool, got.Answer)
		}
	}
	for tool, arguments := range map[string]map[string]any{"top": {"recording": "1"}, "incidents": nil, "threads": {"recording": "1", "by": "comm"}, "incident": {"incident": "1"}} {
		if got := a.must(t, tool, arguments); len(got.Answer) < 100 {
			t.Errorf("%s: %s", tool, got.Answer)
		}
	}
	printed, err := os.ReadFile("testdata/read/dd.txt")
	require.NoError(t, err)
	if got := a.must(t, "read", map[string]any{"text": string(printed)}); !bytes.Contains(got.Answer, []byte("sync-writes")) && !bytes.Contains(got.Answer, []byte("primary")) {
		t.Errorf("read: %s", got.Answer)
	}

	for _, c := range []struct {
		tool      string
		arguments map[string]any
		want      string
	}{
		{"diagnose", map[string]any{"seconds": 1000}, "give 1 to 300"},
		{"diagnose", map[string]any{"second": 1}, "second"},
		{"diagnose", map[string]any{"seconds": "ten"}, "seconds"},
		{"diagnose", map[string]any{"recording": "/nowhere"}, "no such file"},
		{"diagnose", map[string]any{"recording": host, "seconds": 5}, "--duration is for watching live"},
		{"diagnose", map[string]any{"recording": host, "comm": "--exit-code"}, "no process"},
		{"disk", map[string]any{"recording": host, "by": "colour"}, "colour"},
		{"disk", map[string]any{"rows": 5000}, "give 1 to 500"},
		{"use", map[string]any{"pid": 1}, "pid"},
		{"incident", map[string]any{"incident": "7"}, "there is no such incident"},
		{"incident", map[string]any{"incident": "--help"}, "--help"},
		{"incident", nil, "incident"},
		{"read", map[string]any{"text": " "}, "text is empty"},
		{"read", map[string]any{"text": "nothing that a tool would print"}, "iocause:"},
		{"more", map[string]any{"result": "r77"}, `there is no result "r77"`},
		{"rm", nil, "rm"},
	} {
		if _, failed := a.ask(t, c.tool, c.arguments); !strings.Contains(failed, c.want) {
			t.Errorf("%s %v: %q, want %q", c.tool, c.arguments, failed, c.want)
		}
	}
}

// rounded is rows of JSON with their figures to nine digits.
func rounded(rows []any) (out []any) {
	for _, r := range rows {
		row := map[string]any{}
		for key, v := range r.(map[string]any) {
			if f, ok := v.(float64); ok {
				v = fmt.Sprintf("%.9g", f)
			}
			row[key] = v
		}
		out = append(out, row)
	}
	return out
}

// What does not fit is cut, which is said, and the rest can be had piece by
// piece: together it is what the command says.
func TestAssistantPagesOn(t *testing.T) {
	t.Parallel()
	host, agent := goldenAgent(t)
	a := newAssistant(t, "--dir", agent)
	_, out, _ := runApp(t.Context(), nil, "disk", "--recording", host, "--format", "json", "--top", "0")
	var whole struct {
		ByProcess struct{ Rows []any } `json:"by_process"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &whole))
	const at = "/by_process/rows"
	first := a.must(t, "disk", map[string]any{"recording": host, "rows": 2})
	var rows []any
	take := func(answer json.RawMessage) {
		var some []any
		require.NoError(t, json.Unmarshal(answer, &some))
		rows = append(rows, some...)
	}
	cut := -1
	for i, c := range first.Cut {
		if c.At == at && c.Shown == 2 && c.Of == len(whole.ByProcess.Rows) {
			cut = i
		}
	}
	if cut < 0 || first.Result == "" {
		t.Fatalf("cut %+v, result %q; there are %d rows", first.Cut, first.Result, len(whole.ByProcess.Rows))
	}
	for len(rows) < len(whole.ByProcess.Rows) {
		before := len(rows)
		more := a.must(t, "more", map[string]any{"result": first.Result, "at": at, "from": before, "count": 7})
		take(more.Answer)
		if last := len(rows) == len(whole.ByProcess.Rows); len(rows) == before || last != (len(more.Cut) == 0) ||
			!last && (more.Cut[0].At != at || more.Cut[0].From != before || more.Cut[0].Of != len(whole.ByProcess.Rows)) {
			t.Fatalf("%d rows after %d, cut %+v", len(rows), before, more.Cut)
		}
	}
	// Sums of a map's values differ in the last digit from run to run.
	if !reflect.DeepEqual(rounded(rows), rounded(whole.ByProcess.Rows)) {
		t.Errorf("%d rows are not those of the command:\n%v\n%v", len(rows), rows, whole.ByProcess.Rows)
	}
	if _, failed := a.ask(t, "more", map[string]any{"result": first.Result, "at": at, "from": 1000}); !strings.Contains(failed, "elements, counted from 0") {
		t.Error(failed)
	}
	if _, failed := a.ask(t, "more", map[string]any{"result": first.Result, "at": "/nothing"}); !strings.Contains(failed, "there is nothing at") {
		t.Error(failed)
	}

	incident := a.must(t, "incident", map[string]any{"incident": "1"})
	if incident.Result == "" || len(incident.Cut) == 0 {
		t.Errorf("the incident was not cut: %d bytes", len(incident.Answer))
	}
}

// Live, a process of a hostile name is found, and its name is harmless; how far the
// watching is is told.
func TestAssistantWatchesAHostileProcess(t *testing.T) {
	bpftest.Root(t)
	path := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.WriteFile(path, make([]byte, 1<<20), 0o600))
	a := newAssistant(t)
	pid := startReader(t, path)
	got := a.must(t, "threads", map[string]any{"pid": pid, "seconds": 1})
	var shown struct {
		Threads struct {
			Rows []struct{ Comm, Thread, PID string }
		} `json:"threads"`
	}
	require.NoError(t, json.Unmarshal(got.Answer, &shown))
	if !bytes.Contains(got.Answer, []byte(`\\x1b[2J`)) || bytes.Contains(got.Answer, []byte(`\u001b`)) {
		t.Errorf("of %q there is %s", text.Escape(hostileComm), got.Answer)
	}
	params := &sdk.CallToolParams{Name: "diagnose", Arguments: map[string]any{"pid": pid, "seconds": 2}}
	params.SetProgressToken("p")
	r, err := a.CallTool(t.Context(), params)
	if err != nil || r.IsError {
		t.Fatal(err, r)
	}
	harmless(t, r.Content[0].(*sdk.TextContent).Text)
	if len(a.progress) == 0 {
		t.Error("nothing was said of how far it was")
	}
}

// Standard input that is closed, and a signal, end what is being watched; so does
// a client that gives up, and the server lives on.
func TestAssistantGoesAway(t *testing.T) {
	bpftest.Root(t)
	a := newAssistant(t)
	ctx, giveUp := context.WithTimeout(t.Context(), time.Second)
	defer giveUp()
	if _, err := a.CallTool(ctx, &sdk.CallToolParams{Name: "disk", Arguments: map[string]any{"seconds": 200}}); err == nil {
		t.Error("an answer before its time")
	}
	began := time.Now()
	a.must(t, "use", map[string]any{"seconds": 1}) // it waits for the other to end
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the next answer took %v", took)
	}
	for name, end := range map[string]func(*exec.Cmd, io.Closer) error{
		"SIGINT":                   func(c *exec.Cmd, _ io.Closer) error { return c.Process.Signal(syscall.SIGINT) },
		"standard input is closed": func(_ *exec.Cmd, in io.Closer) error { return in.Close() },
	} {
		c, out, notes := run{args: []string{"mcp"}}.command(t)
		in, err := c.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, c.Start())
		for _, message := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"disk","arguments":{"seconds":200}}}`,
		} {
			if _, err := io.WriteString(in, message+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		waitForPrograms(t, c.Process.Pid)
		began := time.Now()
		require.NoError(t, end(c, in))
		if err := c.Wait(); err != nil || notes.Len() > 0 || !strings.Contains(out.String(), "instructions") {
			t.Errorf("%s: %v, %s%s", name, err, out, notes)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: it ended after %v", name, took)
		}
	}
}

// waitForPrograms waits until a process has kernel programs open.
func waitForPrograms(t *testing.T, pid int) {
	t.Helper()
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(20 * time.Millisecond) {
		all, _ := os.ReadDir(dir)
		for _, f := range all {
			if to, _ := os.Readlink(filepath.Join(dir, f.Name())); strings.Contains(to, "bpf") {
				return
			}
		}
	}
	bpftest.Need(t, "bpf", errors.New("no kernel program was loaded within 20 s"))
}
