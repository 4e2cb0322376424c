package html

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/require"
	"iocause/internal/sample"
)

// The page by keyboard and by what a screen reader says of it: its script is
// run on a document as small as it may be.
func TestPageIsUsedByKeyboard(t *testing.T) {
	node, err := exec.LookPath("node")
	bpftest.Need(t, "node", err) // to run the script of the page
	frames := func(names ...string) (all []*sample.Frame) {
		for _, n := range names {
			all = append(all, &sample.Frame{Name: n})
		}
		return all
	}
	var b bytes.Buffer
	err = Write(&b, &sample.Profile{Title: "Where threads wait", Counts: "waits", States: []string{"disk", "mutex"}, Stacks: []sample.Stack{
		{Process: "dog", State: "disk", Frames: frames("start", "sleep"), Time: time.Second, Count: 1},
		{Process: "cat", State: "disk", Frames: frames("main", "write"), Time: time.Second, Count: 7},
		{Process: "cat", State: "disk", Frames: frames("main", "read"), Time: 4 * time.Second, Count: 2},
		{Process: "cat", State: "mutex", Frames: frames("main", "read", "reread"), Time: 2 * time.Second, Count: 1},
	}})
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(name, b.Bytes(), 0o600))
	var complaint strings.Builder
	c := exec.Command(node, "testdata/use.js", name)
	c.Stderr = &complaint
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, complaint.String())
	}
	var said []struct {
		What, Focus, Detail, Found string
		Order                      [][]any
		Labels                     map[string]string
		Tabs                       []string
	}
	require.NoError(t, json.Unmarshal(out, &said))
	// each before what it called, the widest first: name, level, place, of how many
	const whole = "[[all 1 1 1] [cat 2 1 2] [main 3 1 1] [read 4 1 2] [reread 5 1 1] [write 4 2 2] [dog 2 2 2] [start 3 1 1] [sleep 4 1 1]]"
	const zoomed = "[[all 1 1 1] [cat 2 1 1] [main 3 1 1] [read 4 1 1] [reread 5 1 1]]"
	for i, want := range []struct{ what, focus, order, detail string }{
		{"start", "", whole, "all: 8.00 s, 100 % of all, 11 waits"},
		{"ArrowDown", "cat", whole, "cat: 7.00 s, 87.5 % of all, 10 waits · disk 71.4 %, mutex 28.6 %"},
		{"ArrowDown", "main", whole, "main: 7.00 s"},
		{"ArrowDown", "read", whole, "read: 6.00 s, 75.0 % of all"},
		{"ArrowRight", "write", whole, "write: 1.00 s, 12.5 % of all, 7 waits · disk"},
		{"ArrowLeft", "read", whole, "read: 6.00 s"},
		{"Enter", "read", zoomed, "read: 6.00 s"},
		{"ArrowUp", "main", zoomed, "main: 7.00 s"},
		{"Escape", "all", whole, "all: 8.00 s"},
		{"/", "search", whole, ""},
		{"search", "search", whole, ""},
		{"hide disk 6.00 s 75.0 % pressed=false", "search", "[[all 1 1 1] [cat 2 1 1] [main 3 1 1] [read 4 1 1] [reread 5 1 1]]", ""},
	} {
		got := said[i]
		if got.What != want.what || got.Focus != want.focus || fmt.Sprint(got.Order) != want.order || !strings.HasPrefix(got.Detail, want.detail) {
			t.Errorf("step %d: %s: on %q, %q, %v\nwant %+v", i, got.What, got.Focus, got.Detail, got.Order, want)
		}
		if len(got.Tabs) != 1 || got.Focus != "search" && got.Focus != "" && got.Tabs[0] != got.Focus {
			t.Errorf("step %d: the Tab key leads to %q", i, got.Tabs)
		}
	}
	if got := said[10].Found; got != "75.0 %, 6.00 s in 1 name" { // one inside another counts once
		t.Errorf("found %q", got)
	}
	if got := said[11].Labels["read"]; !strings.HasPrefix(got, "read: 2.00 s, 100 % of all") {
		t.Errorf("without the disk: %q", got)
	}
}
