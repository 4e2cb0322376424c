//go:build browser

package cli

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"iocause/internal/diagnose"
	"iocause/internal/live"
	"iocause/internal/live/feed"
	"iocause/internal/replay"
)

// screenshotsOfLive are the panes of the live screen, as terminals of three sizes show
// them, and without colours and on a light ground.
func screenshotsOfLive(t *testing.T, b *browser, dir string) {
	panes := map[string][]string{"processes": {"1"}, "files": {"2"}, "devices": {"3"}, "cgroups": {"4"}, "cache": {"5"}, "evicted": {"6"}, "dirty": {"7"},
		"process": {"1", "enter"}, "file": {"2", "enter"}, "device": {"3", "enter"}, "verdict": {"d"}, "keys": {"?"}}
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 50}} {
		for name, keys := range panes {
			lines := liveScreen(t, size[0], size[1], true, keys...)
			terminalPicture(t, b, filepath.Join(dir, fmt.Sprintf("live-%s-%dx%d.png", name, size[0], size[1])), lines, size, "dark")
		}
	}
	size := [2]int{80, 24}
	terminalPicture(t, b, filepath.Join(dir, "live-processes-light.png"), liveScreen(t, 80, 24, true), size, "light")
	terminalPicture(t, b, filepath.Join(dir, "live-processes-without-colour.png"), liveScreen(t, 80, 24, false), size, "dark")
}

// liveScreen is the screen of the recording that all golden outputs are of, after keys.
func liveScreen(t *testing.T, w, h int, colours bool, keys ...string) []string {
	t.Helper()
	opener := &replay.Opener{Now: time.Now, Note: func(err error) { t.Log(err) }}
	from, err := opener.File(goldenRecording, &replay.Interval{})
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	f, err := feed.NewKept(from, diagnose.Target{})
	if err != nil {
		t.Fatal(err)
	}
	m := live.New(f, live.Options{Past: "host.iocause", Every: time.Second, Color: colours, Verdict: true})
	var send func(tea.Msg)
	send = func(msg tea.Msg) {
		if _, cmd := m.Update(msg); cmd != nil {
			switch next := cmd().(type) {
			case tea.BatchMsg:
				for _, c := range next {
					if c != nil {
						send(c())
					}
				}
			case nil:
			default:
				send(next)
			}
		}
	}
	send(tea.WindowSizeMsg{Width: w, Height: h})
	if err := f.Run(t.Context(), func(all []live.Interval) { send(live.IntervalsMsg(all)) }); err != nil {
		t.Fatal(err)
	}
	send(live.EndMsg{})
	for _, k := range keys {
		m.Lines() // a key goes to what was drawn
		if k == "enter" {
			send(tea.KeyPressMsg{Code: tea.KeyEnter})
		} else {
			send(tea.KeyPressMsg{Code: rune(k[0]), Text: k})
		}
	}
	return m.Lines()
}

var sgr = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// terminalPicture draws lines as a terminal does.
func terminalPicture(t *testing.T, b *browser, name string, lines []string, size [2]int, scheme string) {
	t.Helper()
	ground, ink := "#101418", "#d8dee6"
	if scheme == "light" {
		ground, ink = "#ffffff", "#20242a"
	}
	var page strings.Builder
	fmt.Fprintf(&page, `<!doctype html><html data-drawn="yes" data-took="0"><meta charset="utf-8"><style>body{margin:8px;background:%s;color:%s}pre{margin:0;font:14px/17px "DejaVu Sans Mono",monospace}</style><pre>`, ground, ink)
	for _, l := range lines {
		at, open := 0, false
		for _, m := range sgr.FindAllStringSubmatchIndex(l, -1) {
			page.WriteString(html.EscapeString(l[at:m[0]]))
			at = m[1]
			if open {
				page.WriteString("</span>")
			}
			style := styleOf(l[m[2]:m[3]], ground, ink)
			if open = style != ""; open {
				fmt.Fprintf(&page, `<span style="%s">`, style)
			}
		}
		page.WriteString(html.EscapeString(l[at:]) + "\n")
	}
	file := filepath.Join(t.TempDir(), "terminal.html")
	if err := os.WriteFile(file, []byte(page.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	b.open(file, size[0]*8+size[0]*43/100+16, size[1]*17+16, 1, scheme)
	b.picture(name)
}

// styleOf is a look (parameters of SGR, ECMA-48) in CSS.
func styleOf(params, ground, ink string) string {
	css := ""
	all := strings.Split(params, ";")
	for i := 0; i < len(all); i++ {
		switch all[i] {
		case "1":
			css += "font-weight:bold;"
		case "4":
			css += "text-decoration:underline;"
		case "7":
			css += "color:" + ground + ";background:" + ink + ";"
		case "38":
			if i+2 < len(all) {
				n, _ := strconv.Atoi(all[i+2])
				css += "color:" + colour256(n) + ";"
				i += 2
			}
		}
	}
	return css
}

// colour256 is a colour of the cube or of the greys, as xterm has them.
func colour256(n int) string {
	if n >= 232 {
		v := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", v, v, v)
	}
	level := func(k int) int {
		if k == 0 {
			return 0
		}
		return 55 + 40*k
	}
	n -= 16
	return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6))
}
