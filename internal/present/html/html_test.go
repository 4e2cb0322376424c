package html

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"iocause/internal/require"
	"iocause/internal/sample"
)

// hostile is a name that tries to get out of wherever it is put.
const hostile = "</script><script>alert(1)</script>\"'&<!--\u2028\x1b[31m\xff\u202e"

func some() *sample.Profile {
	frames := []*sample.Frame{{Name: "main"}, {Name: hostile}, {Name: "vfs_read", Kernel: true}, {Name: "[stack cut: too deep]", Note: true}}
	return &sample.Profile{
		Title: "Where " + hostile + " waits", Counts: "waits", Begin: time.Unix(1700000000, 0), Length: 3 * time.Second,
		States: []string{"disk", "mutex", hostile}, Notes: []string{"lost " + hostile},
		Stacks: []sample.Stack{
			{Process: "cat", State: "disk", Frames: frames, Time: 3 * time.Second, Count: 3},
			{Process: "cat", State: "mutex", Frames: frames[:2], Time: time.Second, Count: 1},
			{Process: hostile, State: hostile, Frames: frames[:1], Time: time.Second, Count: 1},
			{Process: "late", State: "idle", Time: time.Millisecond, Count: 1}, // a state that States lacks
		},
	}
}

// Times are written as people read them, however long or short.
func TestTimesOfFlames(t *testing.T) {
	p := &sample.Profile{Title: "waits", Counts: "waits", Begin: time.Unix(1700000000, 0), Length: 20 * time.Minute,
		Stacks: []sample.Stack{{Process: "cat", Time: 12346 * time.Second, Count: 1}}}
	var page, picture bytes.Buffer
	require.NoError(t, Write(&page, p))
	require.NoError(t, WriteSVG(&picture, p))
	if !strings.Contains(page.String(), "watched for 20 min") {
		t.Errorf("the page does not say for how long: %s", regexp.MustCompile(`watched[^<]*`).FindString(page.String()))
	}
	if !strings.Contains(picture.String(), "cat: 3.43 h, 100.0 %") {
		t.Errorf("tooltip %s", regexp.MustCompile(`cat: [^<]*`).FindString(picture.String()))
	}
	if got := amount(45000, ""); got != "45 us" {
		t.Errorf("45 us are %q", got)
	}
}

var dataBlock = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)

func read(t *testing.T, page string) document {
	t.Helper()
	m := dataBlock.FindStringSubmatch(page)
	if m == nil {
		t.Fatal("no data in the page")
	}
	var d document
	require.NoError(t, json.Unmarshal([]byte(m[1]), &d))
	return d
}

func TestPage(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Write(&b, some()))
	d := read(t, b.String())
	sums := map[string]float64{}
	byName := map[string]float64{}
	for i, n := range d.Nodes {
		parent, self := int(n[0].(float64)), n[3].([]any)
		if parent >= i {
			t.Fatalf("node %d comes before its parent %d", i, parent)
		}
		for k := 0; k < len(self); k += 3 {
			ns := self[k+1].(float64)
			sums[d.States[int(self[k].(float64))]] += ns
			for at := i; at >= 0; at = int(d.Nodes[at][0].(float64)) {
				byName[d.Names[int(d.Nodes[at][1].(float64))]] += ns
			}
		}
	}
	if sums["disk"] != 3e9 || sums["mutex"] != 1e9 || sums[plain(hostile)] != 1e9 || len(sums) != 4 || sums["idle"] != 1e6 {
		t.Errorf("states: %v", sums)
	}
	if byName["main"] != 5e9 || byName["vfs_read"] != 3e9 || byName["cat"] != 4e9 || byName["all"] != 5.001e9 {
		t.Errorf("names: %v", byName)
	}
	if len(d.Colors) != len(d.States) {
		t.Errorf("%d colours for %d states", len(d.Colors), len(d.States))
	}
}

// A page loads nothing, and no name is more than text in it.
func TestPageIsSelfContainedAndSafe(t *testing.T) {
	for name, write := range map[string]func(io.Writer) error{
		"page": func(w io.Writer) error { return Write(w, some()) },
		"diff": func(w io.Writer) error { return WriteDiff(w, some(), some()) },
		"svg":  func(w io.Writer) error { return WriteSVG(w, some()) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			require.NoError(t, write(&b))
			text := b.String()
			for _, bad := range []string{"alert(1)</script>", "<script>alert", "\x1b", "\u2028", "\u202e", "\xff", "<!--"} {
				if strings.Contains(text, bad) {
					t.Errorf("holds %q", bad)
				}
			}
			outside := regexp.MustCompile(`(?i)(src|href)\s*=|https?://|@import|url\(|fetch\(|XMLHttp|WebSocket|innerHTML|document\.write`)
			names := strings.NewReplacer(`xmlns="http://www.w3.org/2000/svg"`, "", `'http://www.w3.org/1999/xhtml'`, "") // of languages: nothing is fetched
			for _, m := range outside.FindAllString(names.Replace(text), -1) {
				t.Errorf("reaches outside, or makes code of text: %q", m)
			}
			if name == "svg" {
				if n := strings.Count(text, "<script"); n != 1 || strings.Count(text, "]]>") != 1 {
					t.Errorf("%d scripts, want 1 in one section", n)
				}
				return
			}
			if n := strings.Count(text, "<script"); n != 2 {
				t.Errorf("%d scripts, want 2", n)
			}
			for _, want := range []string{`default-src 'none'`, "prefers-color-scheme: dark", `role="tree"`, "aria-live", "aria-label", `lang="en"`, "ArrowDown", "Escape"} {
				if !strings.Contains(text, want) {
					t.Errorf("lacks %q", want)
				}
			}
		})
	}
}

func TestSVG(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteSVG(&b, some()))
	rects := 0
	d := xml.NewDecoder(&b)
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "rect" {
			rects++
		}
	}
	// of the tree: all, cat, main, hostile, vfs_read, cut, hostile, main, late; of the legend: 4
	if rects != 13 {
		t.Errorf("%d rectangles, want 13", rects)
	}
}

// A picture of its own draws what one can zoom to; in a page, where it is still, what
// is too narrow is counted.
func TestNarrowFunctions(t *testing.T) {
	p := &sample.Profile{States: []string{"disk"}, Stacks: []sample.Stack{
		{Process: "a", State: "disk", Time: 5000, Count: 1, Frames: []*sample.Frame{{Name: "wide"}}},
		{Process: "a", State: "disk", Time: 1, Count: 1, Frames: []*sample.Frame{{Name: "narrow_one"}}},
	}}
	var alone, within bytes.Buffer
	require.NoError(t, WriteSVG(&alone, p))
	drawFlames(&within, p, "t", svgLeast, "", "")
	if !strings.Contains(alone.String(), "narrow_one") || strings.Contains(alone.String(), "too narrow") {
		t.Error("alone, a function of 0.24 of 1200 units is not drawn")
	}
	if strings.Contains(within.String(), "narrow_one") || !strings.Contains(within.String(), ">1 functions are too narrow") || strings.Contains(within.String(), "<script") {
		t.Error("within a page, it is drawn, or not counted, or brings a script")
	}
}

func TestEmpty(t *testing.T) {
	for _, write := range []func(io.Writer, *sample.Profile) error{Write, WriteSVG} {
		if err := write(io.Discard, &sample.Profile{}); err != nil {
			t.Error(err)
		}
	}
}

// What is drawn together keeps its time.
func TestThin(t *testing.T) {
	p := &sample.Profile{States: []string{"disk"}}
	for i := range 5000 {
		p.Stacks = append(p.Stacks, sample.Stack{Process: "a", State: "disk", Time: time.Duration(i + 1), Count: 1,
			Frames: []*sample.Frame{{Name: fmt.Sprint("f", i)}, {Name: "g"}}})
	}
	root := treeOf(p, nil)
	whole := root.sum
	gone := root.thin(1000)
	var nodes int
	var sum, count int64
	root.each(func(n *node) {
		nodes++
		for _, v := range n.self {
			sum += v.ns
			count += v.count
		}
	})
	if sum != whole || count != 5000 || nodes > 1010 || nodes < 900 {
		t.Errorf("%d ns in %d waits and %d nodes, want %d in 5000", sum, count, nodes, whole)
	}
	if gone != 2+10000-nodes+1 {
		t.Errorf("%d put together, %d of 10002 left", gone, nodes)
	}
}

func TestDiff(t *testing.T) {
	before, after := some(), some()
	after.Stacks = after.Stacks[1:]
	var b bytes.Buffer
	require.NoError(t, WriteDiff(&b, after, before))
	d := read(t, b.String())
	var was, is float64
	for _, n := range d.Nodes {
		was += n[4].(float64)
		self := n[3].([]any)
		for k := 0; k < len(self); k += 3 {
			is += self[k+1].(float64)
		}
	}
	if !d.Diff || was != 5.001e9 || is != 2.001e9 {
		t.Errorf("%v before, %v after", was, is)
	}
}
