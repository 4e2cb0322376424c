//go:build browser

// Tests of pages in a real browser: 'make browser'. They need Chromium, which is
// 400 MB and no part of what CI installs; docs/report.md has what they said.

package cli

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/require"
)

// browser is Chromium, spoken to over a pair of pipes (--remote-debugging-pipe).
type browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	number  int
	session string
	base    string   // of an agent that may be asked, "" for none
	wrong   []string // errors, refusals of the policy, dialogs, requests to anywhere
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	name, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("%v: install chromium", err)
	}
	toRead, toWrite, err := os.Pipe()
	require.NoError(t, err)
	fromRead, fromWrite, err := os.Pipe()
	require.NoError(t, err)
	c := exec.Command(name, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir())
	c.ExtraFiles = []*os.File{toRead, fromWrite} // 3 and 4
	require.NoError(t, c.Start())
	toRead.Close()
	fromWrite.Close()
	b := &browser{t: t, to: toWrite, from: bufio.NewReader(fromRead)}
	t.Cleanup(func() {
		b.session = ""
		b.call("Browser.close", nil, nil)
		toWrite.Close()
		fromRead.Close()
		_ = c.Wait()
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// call asks for something and waits for the answer; what else is told meanwhile is
// looked through for what is wrong.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.number++
	ask := map[string]any{"id": b.number, "method": method}
	if params != nil {
		ask["params"] = params
	}
	if b.session != "" {
		ask["sessionId"] = b.session
	}
	text, err := json.Marshal(ask)
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}
	for err == nil {
		text, err = b.from.ReadBytes(0)
		if err != nil {
			break
		}
		var got struct {
			ID     int
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err = json.Unmarshal(text[:len(text)-1], &got); err != nil {
			break
		}
		if got.ID != b.number {
			b.told(got.Method, got.Params)
			continue
		}
		if got.Error != nil {
			err = errors.New(got.Error.Message)
		} else if result != nil {
			err = json.Unmarshal(got.Result, result)
		}
		if err == nil {
			return
		}
	}
	b.t.Fatalf("%s: %v", method, err)
}

func (b *browser) told(method string, params json.RawMessage) {
	switch method {
	case "Runtime.exceptionThrown", "Page.javascriptDialogOpening":
		b.wrong = append(b.wrong, fmt.Sprintf("%s: %.300s", method, params))
	case "Log.entryAdded":
		if strings.Contains(string(params), `"level":"error"`) {
			b.wrong = append(b.wrong, fmt.Sprintf("%s: %.300s", method, params))
		}
	case "Network.requestWillBeSent":
		var x struct{ Request struct{ URL string } }
		if json.Unmarshal(params, &x) == nil && !strings.HasPrefix(x.Request.URL, "file:///") && x.Request.URL != "about:blank" && (b.base == "" || !strings.HasPrefix(x.Request.URL, b.base)) && !strings.HasPrefix(x.Request.URL, "blob:") {
			b.wrong = append(b.wrong, "a request to "+x.Request.URL)
		}
	}
}

// open shows a file, or a page of the agent, on a screen of that size, and waits until all is drawn. It
// returns how long that took from the start of loading.
func (b *browser) open(name string, width, height, density int, scheme string) time.Duration {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": density, "mobile": false}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	b.eval("document.documentElement.dataset.drawn = 'earlier'", nil)
	if strings.HasPrefix(name, "http") {
		b.call("Page.navigate", map[string]any{"url": "about:blank"}, nil) // another #part alone loads nothing anew
	} else {
		name = "file://" + name
	}
	b.call("Page.navigate", map[string]any{"url": name}, nil)
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(10 * time.Millisecond) {
		if drawn := b.text("document.documentElement?.dataset.drawn || ''"); drawn == "yes" {
			return time.Duration(b.figure("Number(document.documentElement.dataset.took)") * float64(time.Millisecond))
		} else if drawn == "no" {
			b.t.Fatalf("nothing is drawn: %s", b.text("document.querySelector('[data-set]').textContent"))
		}
	}
	b.t.Fatalf("%s is not drawn after 20 s: %q", name, b.wrong)
	return 0
}

func (b *browser) eval(expression string, to any) {
	b.t.Helper()
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &got)
	if got.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, got.ExceptionDetails)
	}
	if to != nil {
		if err := json.Unmarshal(got.Result.Value, to); err != nil {
			b.t.Fatalf("%s: %v: %s", expression, err, got.Result.Value)
		}
	}
}

func (b *browser) text(expression string) (s string) { b.eval(expression, &s); return s }

func (b *browser) figure(expression string) (v float64) { b.eval(expression, &v); return v }

func (b *browser) isTrue(expression string) (v bool) { b.eval(expression, &v); return v }

func (b *browser) press(key string) {
	code := map[string]int{"Enter": 13, "Escape": 27, "ArrowRight": 39, "ArrowLeft": 37, "ArrowUp": 38, "ArrowDown": 40, "Tab": 9}[key]
	typed := map[string]string{"Enter": "\r"}[key]
	if len(key) == 1 {
		typed = key
	}
	for _, kind := range []string{"keyDown", "keyUp"} {
		b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "windowsVirtualKeyCode": code, "text": typed}, nil)
	}
}

func (b *browser) mouse(kind string, x, y float64) {
	b.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}, nil)
}

// place is where an element is on the screen, scrolled to.
func (b *browser) place(selector string) (box struct{ X, Y, Width, Height float64 }) {
	b.eval(`(() => { const e = document.querySelector(`+"`"+selector+"`"+`); e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); return {X: r.x, Y: r.y, Width: r.width, Height: r.height}; })()`, &box)
	return box
}

// picture writes what the screen shows.
func (b *browser) picture(name string) {
	b.t.Helper()
	var got struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &got)
	data, err := base64.StdEncoding.DecodeString(got.Data)
	if err == nil {
		err = os.WriteFile(name, data, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// well fails where anything was wrong on the way.
func (b *browser) well() {
	b.t.Helper()
	for _, w := range b.wrong {
		b.t.Error(w)
	}
	b.wrong = nil
}

// pageOf is the page of a recording or an incident.
func pageOf(t *testing.T, of string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.html")
	if code, _, stderr := runApp(t.Context(), nil, "report", of, "-o", name); code != exitWell {
		t.Fatalf("code %d: %s", code, stderr)
	}
	return name
}
