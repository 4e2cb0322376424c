//go:build browser

package cli

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/picture"
	"iocause/internal/present/html"
	"iocause/internal/require"
	"iocause/internal/sample"
)

// What a person must see first is on the first screen, of a laptop and of a phone,
// and nothing is wider than the screen, not at twice the size either.
func TestFirstScreen(t *testing.T) {
	b := newBrowser(t)
	for _, of := range []string{goldenRecording, "testdata/golden/b.iocause", goldenIncident} {
		name := pageOf(t, of)
		for _, screen := range [][3]int{{1280, 720, 1}, {390, 844, 3}, {1920, 1080, 1}} {
			b.open(name, screen[0], screen[1], screen[2], "light")
			for _, selector := range []string{".badge", "#title", ".facts", ".who", ".card .figures > div:nth-child(3)", "#fix", ".card .command"} {
				if bottom := b.figure("document.querySelector('" + selector + "').getBoundingClientRect().bottom"); bottom > float64(screen[1]) || bottom <= 0 {
					t.Errorf("%s on %d x %d: %s ends at %.0f", of, screen[0], screen[1], selector, bottom)
				}
			}
		}
		for _, width := range []int{320, 390, 640, 1280, 1920} {
			b.open(name, width, 800, 1, "dark")
			if wide := b.figure("document.documentElement.scrollWidth"); wide > float64(width) {
				t.Errorf("%s on a screen of %d: the page is %.0f wide", of, width, wide)
			}
		}
	}
	b.well()
}

// By mouse: point, press a cell, zoom all drawings, all of it again, sort, download.
func TestByMouse(t *testing.T) {
	b := newBrowser(t)
	took := b.open(pageOf(t, goldenRecording), 1280, 900, 1, "light")
	t.Logf("drawn after %v", took)
	cells := func() float64 { return b.figure("Number(document.querySelector('.heat .uplot').dataset.cells)") }
	all := cells()
	over := b.place(".heat .u-over")
	b.mouse("mouseMoved", over.X+over.Width/2, over.Y+over.Height*.7)
	if line := b.text("document.querySelector('.cellline').textContent"); !strings.Contains(line, "reads") || !strings.Contains(line, " us") {
		t.Errorf("pointing at a cell says %q", line)
	}
	if other := b.text("document.querySelector('.chart .keys output').textContent"); strings.HasPrefix(other, "mean") {
		t.Errorf("a chart does not show that instant: %q", other)
	}
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.mouse(kind, over.X+over.Width/2, over.Y+over.Height*.7)
	}
	if told := b.text("document.querySelector('.cell').textContent"); !strings.Contains(told, "Who used the device then") || !strings.Contains(told, "fio (24465)") || !strings.Contains(told, "/var/tmp/golden/data") {
		t.Errorf("pressing a cell tells %q", told)
	}
	over = b.place(".heat .u-over")
	b.mouse("mousePressed", over.X+over.Width*.4, over.Y+over.Height/2)
	for i := range 5 {
		b.mouse("mouseMoved", over.X+over.Width*(.4+.04*float64(i)), over.Y+over.Height/2)
	}
	b.mouse("mouseReleased", over.X+over.Width*.56, over.Y+over.Height/2)
	if zoomed := cells(); zoomed >= all || zoomed == 0 {
		t.Errorf("%g cells before and %g after a part was chosen", all, zoomed)
	}
	b.eval("document.querySelector('[data-tools] button').click()", nil)
	if again := cells(); again != all {
		t.Errorf("%g cells at first, %g when all of it is shown again", all, again)
	}
	b.eval(`document.querySelector('table.sort th:nth-child(5) button').click()`, nil)
	order := `[...document.querySelector('table.sort').tBodies[0].rows].map(r => Number(r.cells[4].dataset.v))`
	if !b.isTrue(order + `.every((v, i, a) => i === 0 || a[i-1] >= v)`) {
		t.Errorf("sorted by a column: %s", b.text(order+".join()"))
	}
	b.eval(`document.querySelector('#download').click()`, nil)
	b.eval(`document.querySelector('.keys button').click()`, nil)
	if b.text(`document.querySelector('.keys button').getAttribute('aria-pressed')`) != "false" {
		t.Error("a line cannot be hidden")
	}
	b.well()
}

// Drawings are saved as pictures of what is shown, with title, keys and source.
func TestSavedPictures(t *testing.T) {
	b := newBrowser(t)
	for _, scheme := range []string{"light", "dark"} {
		b.open(pageOf(t, goldenRecording), 1280, 900, 2, scheme)
		for _, of := range []string{".heat", ".chart"} {
			drawn := b.figure("document.querySelector('" + of + " canvas').width")
			encoded := b.text(`new Promise(done => {
				const was = URL.createObjectURL;
				URL.createObjectURL = blob => {
					URL.createObjectURL = was;
					blob.arrayBuffer().then(a => done(btoa(String.fromCharCode(...new Uint8Array(a)))));
					return was(blob);
				};
				document.querySelector('` + of + ` .save').click();
			})`)
			file, err := base64.StdEncoding.DecodeString(encoded)
			require.NoError(t, err)
			img, err := png.Decode(bytes.NewReader(file))
			require.NoError(t, err)
			size := img.Bounds().Size()
			if float64(size.X) != drawn+48 || size.Y < 400 {
				t.Errorf("%s, %s: a picture of %v, of a drawing %g wide", of, scheme, size, drawn)
			}
			light := color.GrayModel.Convert(img.At(3, 3)).(color.Gray).Y > 128
			if light != (scheme == "light") {
				t.Errorf("%s, %s: the picture's ground is %v", of, scheme, img.At(3, 3))
			}
			if dir := os.Getenv("IOCAUSE_SCREENSHOTS"); dir != "" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, "saved"+of+"-"+scheme+".png"), file, 0o600))
			}
		}
	}
	b.well()
}

// By keyboard alone, and what a screen reader is told.
func TestByKeyboard(t *testing.T) {
	b := newBrowser(t)
	b.open(pageOf(t, goldenRecording), 1280, 900, 1, "light")
	for n := 0; !b.isTrue("document.activeElement.matches('.heat .plot')"); n++ {
		if b.press("Tab"); n > 60 {
			t.Fatal("60 presses of Tab do not lead to the heat map")
		}
	}
	said := func() string { return b.text("document.querySelector('#said').textContent") }
	b.press("ArrowRight")
	first := said()
	b.press("ArrowUp")
	if second := said(); first == "" || second == first {
		t.Errorf("arrow keys: %q, then %q", first, second)
	}
	b.press("Enter")
	if told := b.text("document.querySelector('.cell').textContent"); !strings.Contains(told, "Who used the device then") {
		t.Errorf("Enter tells %q", told)
	}
	cells := func() float64 { return b.figure("Number(document.querySelector('.heat .uplot').dataset.cells)") }
	all := cells()
	b.press("+")
	b.press("+")
	if zoomed := cells(); zoomed >= all {
		t.Errorf("+ shows %g cells of %g", zoomed, all)
	}
	b.press("Escape")
	if again := cells(); again != all {
		t.Errorf("Escape shows %g cells of %g", again, all)
	}
	b.eval("document.querySelector('.chart .plot').focus()", nil)
	b.press("ArrowRight")
	if told := said(); !strings.Contains(told, "data of files") {
		t.Errorf("a chart says %q", told)
	}
	// the table is made when the browser tells that it was opened, which is later
	rows := b.figure(`new Promise(done => { const d = document.querySelector('.chart details');
		d.addEventListener('toggle', () => done(d.querySelector('tbody').rows.length), {once: true}); d.open = true; })`)
	if rows != 6 {
		t.Errorf("the figures as a table have %g rows, want 6", rows)
	}
	if unnamed := b.text(`[...document.querySelectorAll('button, [tabindex="0"], a')].filter(e => !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.textContent.trim())).map(e => e.outerHTML).join()`); unnamed != "" {
		t.Errorf("without a name: %s", unnamed)
	}
	b.well()
}

// A hundred thousand cells are drawn and moved without a pause.
func TestManyCells(t *testing.T) {
	var ios []sample.IO
	for i := range 380_000 {
		latency := math.Exp(math.Mod(float64(i)*0.6180339887, 1)*29.4) * 2 // ns, at every quarter of 42 powers of two
		ios = append(ios, sample.IO{Start: time.Duration(i)*26*time.Microsecond - time.Duration(latency), Queue: -1, Device: time.Duration(latency), Disk: "nvme0n1", PID: 1 + i%3, Comm: "db", Bytes: 4096})
	}
	set := picture.Traced("Every I/O", "made", time.Unix(1700000000, 0), ios)
	cells := 0
	for _, c := range set.Heats[0].Cells {
		for k, n := range c {
			if k > 0 && n > 0 {
				cells++
			}
		}
	}
	name := filepath.Join(t.TempDir(), "x.html")
	writeTestPage(t, name, &picture.Page{Sets: []*picture.Set{set}})
	b := newBrowser(t)
	took := b.open(name, 1920, 1080, 1, "dark")
	drawn := b.figure("Number(document.querySelector('.heat .uplot').dataset.cells)")
	frame := b.figure(`new Promise(done => { const p = document.querySelector('.heat .plot'), all = []; let n = 0;
		const next = () => { if (n++ === 20) return done(all.sort((a, b) => a - b)[10]); const t = performance.now();
			p.dispatchEvent(new KeyboardEvent('keydown', {key: n % 2 ? '+' : '-', bubbles: true}));
			requestAnimationFrame(() => { all.push(performance.now() - t); next(); }); };
		next(); })`)
	info, err := os.Stat(name)
	require.NoError(t, err)
	t.Logf("%d cells, %g drawn, page of %d bytes: drawn after %v, a zoom takes %.1f ms (median of 20)", cells, drawn, info.Size(), took, frame)
	if cells < 100_000 || drawn != float64(cells) || took > 3*time.Second || frame > 100 {
		t.Errorf("%d cells, %g drawn, after %v, %.1f ms a zoom", cells, drawn, took, frame)
	}
	b.well()
}

// Hostile names do nothing in a browser either.
func TestHostileNamesInABrowser(t *testing.T) {
	const name = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x1b[31m\u202e\n"
	who := diagnose.Culprit{PID: 7, Comm: name, Cgroup: name, File: name, Device: name}
	r := &diagnose.Report{Primary: "cache-busting", Title: name, Victim: who, Gaps: []string{name}, Host: map[string]string{name: name}, Findings: []diagnose.Finding{{Cause: "cache-busting", Title: name, Culprit: who,
		Advice: []diagnose.Advice{{Do: name}}, Evidence: []diagnose.Evidence{{Name: name, Unit: "count", Source: name}}}}}
	set := &picture.Set{Title: name, Begin: picture.Figures{0, 1}, End: picture.Figures{1, 2}, Marks: []picture.Mark{{To: 1, Name: name}}, Names: []string{name},
		Charts: []picture.Chart{{Group: name, Title: name, Unit: "count", Source: name, Lines: []picture.Line{{Name: name, Values: picture.Figures{1, 2}}}}},
		Heats:  []picture.Heat{{Device: name, Op: "read", Part: "device", Source: name, PerOctave: 1, Count: 3, Cells: [][]uint64{{3, 1, 2}, {4, 1}}}},
		Uses:   map[string]*picture.Use{name: {Processes: [][]float64{{0, 0, 3, 12}, {0, 0, 1, 1}}, Files: [][]float64{{0, 0, 4096}, nil}}}}
	file := filepath.Join(t.TempDir(), "x.html")
	writeTestPage(t, file, &picture.Page{Of: name, Host: name, Report: r, Sets: []*picture.Set{set}, Notes: []string{name}})
	b := newBrowser(t)
	b.open(file, 1280, 900, 1, "light")
	b.eval("document.querySelector('.heat .plot').focus()", nil)
	b.press("ArrowRight")
	b.press("Enter")
	b.eval("document.querySelectorAll('details').forEach(d => { d.open = true; })", nil)
	if n := b.figure("document.scripts.length"); n != 4 {
		t.Errorf("%g scripts, want two and two pieces of data", n)
	}
	if n := b.figure("document.querySelectorAll('img, iframe, object, embed, link, base, form').length"); n != 0 {
		t.Errorf("%g elements that a name made", n)
	}
	if told := b.text("document.querySelector('.cell').textContent"); !strings.Contains(told, "<script>alert(1)") {
		t.Errorf("the name is not shown: %q", told)
	}
	if b.isTrue(`/[\u0000-\u0008\u000b-\u001f\u202a-\u202e]/.test(document.body.innerText)`) {
		t.Error("a character that acts is shown")
	}
	b.well()
}

func writeTestPage(t *testing.T, name string, page *picture.Page) {
	t.Helper()
	f, err := os.Create(name)
	if err == nil {
		err = html.WriteDossier(f, page)
	}
	if err == nil {
		err = f.Close()
	}
	require.NoError(t, err)
}

// TestScreenshots makes pictures of pages, to be looked at, in the folder that
// IOCAUSE_SCREENSHOTS names; those of the documents are among them.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("IOCAUSE_SCREENSHOTS")
	if dir == "" {
		dir = t.TempDir()
	}
	b := newBrowser(t)
	for of, name := range map[string]string{goldenRecording: "recording", goldenIncident: "incident"} {
		page := pageOf(t, of)
		for _, screen := range [][2]int{{390, 844}, {1280, 720}, {1920, 1080}} {
			for _, scheme := range []string{"light", "dark"} {
				b.open(page, screen[0], screen[1], 1, scheme)
				b.picture(filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", name, screen[0], scheme)))
				b.eval("document.querySelector('.heat, .charts').scrollIntoView()", nil)
				b.picture(filepath.Join(dir, fmt.Sprintf("%s-%d-%s-drawings.png", name, screen[0], scheme)))
			}
		}
	}
	screenshotsOfSituations(t, b, dir)
	screenshotsOfTheAgent(t, b, dir)
	screenshotsOfLive(t, b, dir)
	b.well()
}
