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

	"iocause/internal/require"
)

// screenshotsOfLive draws the screens that the tests of the live screen left in the
// folder: on a dark ground, and the smallest ones on a light one, too.
func screenshotsOfLive(t *testing.T, b *browser, dir string) {
	screens, err := filepath.Glob(filepath.Join(dir, "live-*.ansi"))
	require.NoError(t, err)
	for _, screen := range screens {
		var width, height int
		if _, err := fmt.Sscanf(filepath.Base(screen), "live-%dx%d-", &width, &height); err != nil {
			t.Fatalf("%s: %v", screen, err)
		}
		text, err := os.ReadFile(screen)
		require.NoError(t, err)
		name, lines := strings.TrimSuffix(screen, ".ansi"), strings.Split(string(text), "\n")
		terminalPicture(t, b, name+".png", lines, width, height, "dark")
		if width == 80 {
			terminalPicture(t, b, name+"-light.png", lines, width, height, "light")
		}
	}
}

var sgr = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// terminalPicture draws lines as a terminal does.
func terminalPicture(t *testing.T, b *browser, name string, lines []string, width, height int, scheme string) {
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
	require.NoError(t, os.WriteFile(file, []byte(page.String()), 0o600))
	b.open(file, width*843/100+16, height*17+16, 1, scheme)
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
