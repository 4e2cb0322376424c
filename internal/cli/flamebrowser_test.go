//go:build browser

package cli

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"iocause/internal/present/html"
	"iocause/internal/sample"
)

// still opens a picture as a document of its own.
func (b *browser) still(name string, width, height int) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.call("Page.navigate", map[string]any{"url": "file://" + name}, nil)
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(10 * time.Millisecond) {
		if b.isTrue("document.readyState === 'complete' && document.documentElement.localName === 'svg'") {
			return
		}
	}
	b.t.Fatalf("%s is not shown after 20 s", name)
}

// A flame graph as a picture: zoom by mouse and by keyboard, all of it again, search.
func TestFlamesInABrowser(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.svg")
	if code, _, stderr := runApp(t.Context(), nil, "offcpu", "--recording", goldenIncident, "-o", name); code != exitWell {
		t.Fatalf("code %d: %s", code, stderr)
	}
	b := newBrowser(t)
	b.still(name, 1280, 900)
	const groups = "[...document.querySelectorAll('svg > g')]"
	shown := func() float64 { return b.figure(groups + ".filter(g => g.style.display !== 'none').length") }
	widths := func() string { return b.text(groups + ".map(g => g.children[1].getAttribute('width')).join()") }
	all, before := shown(), widths()
	// one that calls others, and is not as wide as all
	chosen := groups + ".find((g, i, a) => i > 0 && i + 1 < a.length && before[i] < 600 && Number(a[i + 1].children[1].getAttribute('y')) > Number(g.children[1].getAttribute('y')))"
	b.eval("window.before = "+groups+".map(g => Number(g.children[1].getAttribute('width')))", nil)
	if all < 10 || !b.isTrue("Boolean("+chosen+")") {
		t.Fatalf("%g functions, and none to look at", all)
	}
	b.eval(chosen+".children[1].dispatchEvent(new MouseEvent('click', {bubbles: true}))", nil)
	if wide := b.figure("Number(" + chosen + ".children[1].getAttribute('width'))"); wide != 1200 || shown() >= all {
		t.Errorf("zoomed it is %g wide, %g of %g functions are shown", wide, shown(), all)
	}
	b.press("Escape")
	if widths() != before || shown() != all {
		t.Error("Esc does not show all of it as before")
	}
	b.press("ArrowDown")
	b.press("ArrowDown")
	b.press("Enter")
	if b.figure("document.querySelectorAll('.now').length") != 1 || b.text("document.querySelector('.now').children[1].getAttribute('width')") != "1200.00" {
		t.Error("arrow keys and Enter do not zoom")
	}
	b.press("Escape")
	b.press("/")
	for _, letter := range "read" {
		b.press(string(letter))
	}
	if hits := b.figure("document.querySelectorAll('.hit').length"); hits == 0 || !b.isTrue("/\\d % in \\d+ names?/.test(document.documentElement.textContent)") {
		t.Errorf("a search finds %g functions", hits)
	}
	if dir := os.Getenv("IOCAUSE_SCREENSHOTS"); dir != "" {
		b.picture(filepath.Join(dir, "flames.png"))
	}
	b.well()

	const hostile = "]]></script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x1b[31m\u202e\n"
	f, err := os.Create(name)
	if err == nil {
		err = html.WriteSVG(f, &sample.Profile{Title: hostile, States: []string{hostile}, Stacks: []sample.Stack{{Process: hostile, State: hostile, Time: time.Second, Count: 1, Frames: []*sample.Frame{{Name: hostile}}}}})
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	b.still(name, 1280, 900)
	b.eval(groups+"[2].dispatchEvent(new MouseEvent('click', {bubbles: true}))", nil)
	if n := b.figure("document.querySelectorAll('script, img').length"); n != 1 {
		t.Errorf("%g scripts and images, want the one script", n)
	}
	if b.isTrue(`/[\u0000-\u0008\u000b-\u001f\u202a-\u202e]/.test(document.documentElement.textContent.replace(document.querySelector('script').textContent, ''))`) {
		t.Error("a character that acts is shown")
	}
	b.well()
}
