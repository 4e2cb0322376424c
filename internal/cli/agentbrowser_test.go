//go:build browser

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/replay"
	"iocause/internal/require"
	"iocause/internal/store/incidents"
)

// goldenTime is when the agent of the fixtures recorded, for the page's address.
const goldenTime = "#from=1795399590&to=1795399608"

// agentInABrowser is an agent that goes on with the fixtures' folder, with a second
// incident all of whose names are hostile, in a browser that knows the key.
func agentInABrowser(t *testing.T, b *browser) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "agent")
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/golden/agent")))
	x, err := incidents.Load(filepath.Join(dir, replay.IncidentsIn), 1)
	require.NoError(t, err)
	const name = "</summary><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\u202e"
	x.Meta.Number, x.Meta.Title, x.Meta.Notes = 2, name, []string{name}
	x.Meta.Culprit = &incidents.Culprit{Kind: "process", Name: name}
	x.Meta.What.Start, x.Meta.What.End = x.Meta.What.Start.Add(-time.Hour), x.Meta.What.End.Add(-time.Hour)
	require.NoError(t, incidents.Save(filepath.Join(dir, replay.IncidentsIn), x))
	base, key := pageAgent(t, dir, noPrograms)
	b.enter(base, key)
}

// enter gives the browser the key of an agent's page, and waits for its first
// figures.
func (b *browser) enter(base, key string) {
	b.t.Helper()
	b.base = base
	b.call("Page.navigate", map[string]any{"url": strings.Replace(base, "://", "://any:"+key+"@", 1) + "/page/now"}, nil)
	b.until("the first figures", `document.body?.textContent.includes('of the last minute')`)
	b.wrong = nil // the key is in the address this once
}

// until waits for what an expression says.
func (b *browser) until(what, expression string) {
	b.t.Helper()
	for began := time.Now(); !b.isTrue("!!(" + expression + ")"); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			b.t.Fatalf("waited in vain for %s", what)
		}
		if strings.HasPrefix(what, "the first") {
			b.call("Page.reload", nil, nil)
			time.Sleep(500 * time.Millisecond)
		}
	}
}

// The agent's page: drag over a time, look closer, open an incident and its report,
// with the mouse and by keyboard; hostile names do nothing.
func TestAgentsPageInABrowser(t *testing.T) {
	b := newBrowser(t)
	agentInABrowser(t, b)
	took := b.open(b.base+"/"+goldenTime, 1280, 900, 1, "light")
	t.Logf("drawn after %v", took)
	if n := b.figure("document.querySelectorAll('#drawings .chart').length"); n < 10 {
		t.Errorf("%g charts", n)
	}
	shown := func() string { return b.text("document.querySelector('#shown').textContent") }
	if got := shown(); !strings.HasPrefix(got, "Shown: ") {
		t.Errorf("the time is %q", got)
	}
	over := b.place("#drawings .chart .u-over")
	b.mouse("mousePressed", over.X+over.Width*.3, over.Y+over.Height/2)
	for i := range 6 {
		b.mouse("mouseMoved", over.X+over.Width*(.3+.06*float64(i)), over.Y+over.Height/2)
	}
	b.mouse("mouseReleased", over.X+over.Width*.6, over.Y+over.Height/2)
	chosen := shown()
	if !strings.HasPrefix(chosen, "Chosen: ") || b.isTrue("document.querySelector('#span [data-of=chosen]').disabled") {
		t.Errorf("after a drag it is %q", chosen)
	}
	b.eval("[...document.querySelectorAll('#span button')].find(b => b.textContent === 'Look closer').click()", nil)
	b.until("the drawings of a part", "document.querySelector('#shown').textContent.startsWith('Shown') && location.hash.startsWith('#from=')")
	if got := b.text("location.hash"); got == goldenTime {
		t.Error("looking closer shows the same")
	}
	b.open(b.base+"/"+goldenTime, 1280, 900, 1, "dark")
	b.eval("document.querySelector('#drawings .chart .plot').focus()", nil)
	b.press("ArrowRight")
	b.press("ArrowRight")
	b.press("+")
	if got := shown(); !strings.HasPrefix(got, "Chosen: ") {
		t.Errorf("+ chooses %q", got)
	}
	b.press("Escape")
	if got := shown(); !strings.HasPrefix(got, "Shown: ") {
		t.Errorf("Escape: %q", got)
	}
	b.eval("document.querySelector('#incident-1 summary').focus()", nil)
	b.press("Enter")
	if !b.isTrue("document.querySelector('#incident-1').open") {
		t.Error("Enter opens no incident")
	}
	b.eval("document.querySelector('#incident-1 a.report').focus()", nil)
	b.press("Enter")
	b.until("the report", "document.querySelector('#report').open && document.querySelector('#report-wait').textContent === '' && document.querySelector('#report iframe')")
	b.eval("document.querySelector('#report-close').click()", nil)
	b.until("the report to close", "!document.querySelector('#report').open && !document.querySelector('#report iframe')")
	if n := b.figure("document.querySelectorAll('img, object, embed, base, form, script:not([src])').length"); n != 0 {
		t.Errorf("%g elements that a name made", n)
	}
	if !strings.Contains(b.text("document.querySelector('#incident-2').textContent"), "<script>alert(1)") || b.isTrue(`/[\u0000-\u0008\u000b-\u001f\u202a-\u202e]/.test(document.body.innerText)`) {
		t.Error("a hostile name is not shown as text")
	}
	if unnamed := b.text(`[...document.querySelectorAll('button, [tabindex="0"], a')].filter(e => !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.textContent.trim())).map(e => e.outerHTML).join()`); unnamed != "" {
		t.Errorf("without a name: %s", unnamed)
	}
	for _, width := range []int{320, 390, 640, 1280, 1920} {
		b.open(b.base+"/"+goldenTime, width, 800, 1, "dark")
		if wide := b.figure("document.documentElement.scrollWidth"); wide > float64(width) {
			t.Errorf("on a screen of %d the page is %.0f wide", width, wide)
		}
	}
	b.open(b.base+"/page/report?incident=1", 1280, 900, 1, "light") // another document, in a sandbox
	b.well()
}

// screenshotsOfTheAgent are pictures of its page.
func screenshotsOfTheAgent(t *testing.T, b *browser, dir string) {
	agentInABrowser(t, b)
	for _, screen := range [][2]int{{390, 844}, {1280, 720}, {1920, 1080}} {
		for _, scheme := range []string{"light", "dark"} {
			b.open(b.base+"/"+goldenTime, screen[0], screen[1], 1, scheme)
			picture := func(part string) {
				b.picture(filepath.Join(dir, fmt.Sprintf("agent-%d-%s%s.png", screen[0], scheme, part)))
			}
			picture("")
			b.eval("document.querySelector('#h-drawings').scrollIntoView()", nil)
			picture("-drawings")
			b.eval("document.querySelector('#incident-1').open = true; document.querySelector('#h-incidents').scrollIntoView()", nil)
			picture("-incidents")
			b.eval("document.querySelector('#incident-1 a.report').click()", nil)
			b.until("the report", "document.querySelector('#report-wait').textContent === ''")
			time.Sleep(2 * time.Second) // it draws
			picture("-report")
		}
	}
}
