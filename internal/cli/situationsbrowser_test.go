//go:build browser

package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// What somebody must read who sees no more than the first screen of the report, of a
// laptop and of a phone: the text itself is looked for in what is visible.
func TestSituationsInABrowser(t *testing.T) {
	b := newBrowser(t)
	page := filepath.Join(t.TempDir(), "x.html")
	for _, s := range situations() {
		if code, _, stderr := runApp(t.Context(), nil, append(s.args("report"), "-o", page)...); code != exitWell {
			t.Errorf("%s: code %d: %s", s.name, code, stderr)
			continue
		}
		for _, screen := range [][2]int{{1280, 800}, {390, 844}} {
			b.open(page, screen[0], screen[1], 1, "light")
			visible := b.text(`(() => { const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange(); let text = '';
				for (let n; n = walker.nextNode();) for (const word of n.textContent.matchAll(/\S+/g)) {
					range.setStart(n, word.index); range.setEnd(n, word.index + word[0].length);
					const r = range.getBoundingClientRect();
					if (r.width > 0 && r.top >= 0 && r.left >= 0 && r.bottom <= innerHeight && r.right <= innerWidth) text += word[0] + ' ';
				} return text; })()`)
			for _, want := range []string{s.cause, s.culprit, s.figure, s.advice} {
				if !strings.Contains(strings.ToLower(visible), strings.ToLower(want)) {
					t.Errorf("%s on %d x %d: %q is not on the first screen, which says\n%s", s.name, screen[0], screen[1], want, visible)
				}
			}
		}
	}
	b.well()
}

// screenshotsOfSituations are the first screens of those that the tutorial is about.
func screenshotsOfSituations(t *testing.T, b *browser, dir string) {
	for _, s := range situations() {
		if s.name != "sync-writes" && s.name != "cgroup-cache-limit" && s.name != "noisy-neighbour" {
			continue
		}
		page := filepath.Join(t.TempDir(), "x.html")
		if code, _, stderr := runApp(t.Context(), nil, append(s.args("report"), "-o", page)...); code != exitWell {
			t.Fatalf("%s: code %d: %s", s.name, code, stderr)
		}
		b.open(page, 1280, 800, 1, "light")
		b.picture(filepath.Join(dir, "situation-"+s.name+".png"))
		b.eval("document.querySelector('.heat, .charts').scrollIntoView()", nil)
		b.picture(filepath.Join(dir, "situation-"+s.name+"-drawings.png"))
	}
}
