package feed

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"iocause/internal/diagnose"
	"iocause/internal/live"
	"iocause/internal/present/text"
	"iocause/internal/replay"
	"iocause/internal/require"
)

var update = flag.Bool("update", false, "write the golden screens anew")

const golden = "../../cli/testdata/golden"

// screen is a live screen that is driven by messages, without a terminal.
type screen struct {
	t    *testing.T
	m    *live.Model
	w, h int
}

// past is a screen of the recording that all golden outputs are of.
func past(t *testing.T, w, h int, o live.Options) *screen {
	t.Helper()
	zone := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = zone })
	opener := &replay.Opener{Now: time.Now, Note: func(err error) { t.Log(err) }}
	from, err := opener.File(filepath.Join(golden, "host.iocause"), &replay.Interval{})
	require.NoError(t, err)
	t.Cleanup(func() { from.Close() })
	f, err := NewKept(from, diagnose.Target{})
	require.NoError(t, err)
	o.Past, o.Verdict, o.Every = "host.iocause", true, time.Second
	s := &screen{t, live.New(f, o), w, h}
	s.send(tea.WindowSizeMsg{Width: w, Height: h})
	require.NoError(t, f.Run(t.Context(), func(all []live.Interval) { s.send(live.IntervalsMsg(all)) }))
	s.send(live.EndMsg{})
	return s
}

// send gives the model a message, and what follows from that, until nothing
// does.
func (s *screen) send(msg tea.Msg) {
	s.t.Helper()
	_, cmd := s.m.Update(msg)
	s.check()
	if cmd == nil {
		return
	}
	switch next := cmd().(type) {
	case nil, tea.QuitMsg:
	case tea.BatchMsg:
		for _, c := range next {
			if c != nil {
				s.send(c())
			}
		}
	default:
		s.send(next)
	}
}

var looks = regexp.MustCompile("\x1b\\[[0-9;]*m")

// check holds the screen against its size: whatever is shown, it fits.
func (s *screen) check() {
	s.t.Helper()
	lines := s.m.Lines()
	if len(lines) > s.h {
		s.t.Fatalf("%d lines on a screen of %d", len(lines), s.h)
	}
	for i, l := range lines {
		l = looks.ReplaceAllString(l, "")
		if strings.ContainsAny(l, "\x1b\n\r\t") || text.Width(l) > s.w {
			s.t.Fatalf("line %d of %dx%d: %d columns: %q", i+1, s.w, s.h, text.Width(l), l)
		}
	}
}

// keys presses keys: names as Bubble Tea has them, or a text.
func (s *screen) keys(all ...string) {
	s.t.Helper()
	special := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "left": tea.KeyLeft, "right": tea.KeyRight,
		"up": tea.KeyUp, "down": tea.KeyDown, "tab": tea.KeyTab, "backspace": tea.KeyBackspace, "pgdown": tea.KeyPgDown, "space": tea.KeySpace}
	for _, k := range all {
		if code, ok := special[k]; ok {
			s.send(tea.KeyPressMsg{Code: code})
			continue
		}
		for _, r := range k {
			s.send(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
}

// text is what is seen, without colours.
func (s *screen) text() string {
	var b strings.Builder
	for _, l := range s.m.Lines() {
		b.WriteString(strings.TrimRight(looks.ReplaceAllString(l, ""), " ") + "\n")
	}
	return b.String()
}

// step is a screen, and the keys that lead to it from the one before.
type step struct {
	said string
	keys []string
}

func steps() []step {
	return []step{
		{"as it begins", nil}, {"files", []string{"2"}}, {"devices", []string{"3"}}, {"cgroups", []string{"4"}}, {"cache", []string{"5"}},
		{"evictions", []string{"6"}}, {"writeback", []string{"7"}}, {"a process", []string{"1", "enter"}}, {"its file", []string{"enter"}},
		{"back", []string{"esc", "esc"}}, {"two intervals back", []string{"left", "left"}}, {"filtered", []string{"/", "dd", "enter"}},
		{"no filter, by CPU", []string{"esc", ">", ">", ">", ">", ">"}}, {"turned round", []string{"r"}}, {"a device", []string{"3", "enter"}},
		{"the verdict", []string{"esc", "d"}}, {"keys", []string{"esc", "?"}}, {"without the heat map", []string{"esc", "h", "1"}},
	}
}

// Every screen of the recording says what it said before, at three sizes. The same
// with colours is written to the folder that IOCAUSE_SCREENSHOTS names, for 'make
// screenshots' to draw.
func TestGoldenScreens(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 50}} {
		name := fmt.Sprintf("live-%dx%d", size[0], size[1])
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			s := past(t, size[0], size[1], live.Options{})
			for _, step := range steps() {
				s.keys(step.keys...)
				fmt.Fprintf(&got, ">>> %s\n%s\n", step.said, s.text())
			}
			compare(t, filepath.Join(golden, "out", name+".txt"), got.Bytes())

			dir := os.Getenv("IOCAUSE_SCREENSHOTS")
			if dir == "" {
				return
			}
			s = past(t, size[0], size[1], live.Options{Color: true})
			for _, step := range steps() {
				s.keys(step.keys...)
				file := filepath.Join(dir, name+"-"+strings.ReplaceAll(step.said, " ", "-")+".ansi")
				require.NoError(t, os.WriteFile(file, []byte(strings.Join(s.m.Lines(), "\n")), 0o600))
			}
		})
	}
}

// The picture in the document is the screen.
func TestPictureInTheDocument(t *testing.T) {
	const name, from, to = "../../../docs/live.md", "<!-- screen -->\n```text\n", "```\n<!-- /screen -->"
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	before, rest, ok1 := strings.Cut(string(b), from)
	was, after, ok2 := strings.Cut(rest, to)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the picture", name)
	}
	is := past(t, 80, 24, live.Options{}).text()
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(before+from+is+to+after), 0o644))
	} else if was != is {
		t.Errorf("%s has another picture than what is seen:\n%s", name, is)
	}
}

func compare(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(name, got, 0o644))
		return
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	if !bytes.Equal(got, want) {
		was, is := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
		for i := range min(len(was), len(is)) {
			if was[i] != is[i] {
				t.Fatalf("line %d was\n%s\nand is\n%s", i+1, was[i], is[i])
			}
		}
		t.Fatalf("%d lines, were %d", len(is), len(was))
	}
}

// The figures are those that the commands print of the same interval.
func TestFiguresAreThoseOfTheCommands(t *testing.T) {
	s := past(t, 200, 50, live.Options{})
	for _, x := range []struct {
		command, pane, row string
		names              int // columns that stand before the figures
	}{
		{"disk", "3", "vda", 1}, {"cache", "5", "24465", 2},
	} {
		s.keys(x.pane)
		printed := intervalsOf(t, x.command, x.row)
		for k := len(printed) - 1; k >= 0; k-- {
			figures := figuresOf(printed[k])[x.names:]
			shown := strings.Join(figuresOf(lineOf(t, s.text(), x.row)), " ")
			for _, f := range figures {
				if !strings.Contains(shown, f) {
					t.Errorf("interval %d of %s: %q is not in\n%s\nthe command printed\n%s", k+1, x.command, f, shown, printed[k])
				}
			}
			s.keys("left")
		}
		s.keys("}")
	}
}

// intervalsOf are the first row of a name in every interval that a command
// printed of the recording: what 'go test -run TestGolden' holds it to.
func intervalsOf(t *testing.T, command, row string) (lines []string) {
	t.Helper()
	f, err := os.Open(filepath.Join(golden, "out", command+".txt.gz"))
	require.NoError(t, err)
	defer f.Close()
	r, err := gzip.NewReader(f)
	require.NoError(t, err)
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	_, said, ok := strings.Cut(string(b), ">>> iocause "+command+" 0.5 --recording host.iocause --top 3\n")
	if !ok {
		t.Fatalf("'iocause %s 0.5 --recording host.iocause' is not among the golden outputs", command)
	}
	said, _, _ = strings.Cut(said, "\n>>> ")
	said, _, _ = strings.Cut(said, "\nin all, ")
	for l := range strings.Lines(said) {
		if strings.HasPrefix(l, row+" ") {
			lines = append(lines, strings.TrimSpace(l))
		}
	}
	if len(lines) < 5 {
		t.Fatalf("%d intervals of %s have %s", len(lines), command, row)
	}
	return lines
}

func lineOf(t *testing.T, screen, row string) string {
	t.Helper()
	for l := range strings.Lines(screen) {
		if strings.HasPrefix(l, "> "+row+" ") || strings.HasPrefix(l, "  "+row+" ") {
			return l[2:]
		}
	}
	t.Fatalf("no row of %s in\n%s", row, screen)
	return ""
}

// figuresOf are figures with their units: "1.25 MiB" is one.
func figuresOf(line string) (all []string) {
	for _, f := range strings.Fields(line) {
		if n := len(all); n > 0 && !strings.ContainsAny(f, "0123456789-/") && strings.ContainsAny(all[n-1], "0123456789") {
			all[n-1] += " " + f
			continue
		}
		all = append(all, f)
	}
	return all
}
