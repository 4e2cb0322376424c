package html

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"iocause/internal/require"
)

func someReport() *Report {
	value := func(v float64) string { return fmt.Sprintf("%g u", v) }
	return &Report{Title: hostile, When: hostile, Notes: []string{hostile}, Sections: []Section{{
		Heading: hostile, Lines: []string{hostile},
		Tables: []Table{{Caption: hostile, Columns: []Column{{hostile, true}}, Rows: [][]string{{hostile}}}},
		Ranges: &Ranges{Title: hostile, Source: hostile, Rows: []Range{{hostile, 0.25, 0.3}}},
		Charts: []Chart{
			{Title: hostile, Source: hostile, Value: value, Time: value, Marks: []Mark{{3, hostile}},
				Lines: []Line{{hostile, []float64{0, 1, 2, 3, 4}, []float64{5, 10, math.NaN(), 20, 15}}}},
			{Title: "empty", Value: value, Time: value},
		},
	}}}
}

// A page loads nothing and runs nothing, and no name is more than text in it.
func TestReportIsSelfContainedAndSafe(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteReport(&b, someReport()))
	text := b.String()
	for _, bad := range []string{"<script", "\x1b", "\u2028", "\u202e", "\xff", "<!--"} {
		if strings.Contains(text, bad) {
			t.Errorf("holds %q", bad)
		}
	}
	outside := regexp.MustCompile(`(?i)(src)\s*=|href\s*=\s*"[^#]|https?://|@import|url\(`)
	for _, m := range outside.FindAllString(text, -1) {
		t.Errorf("reaches outside: %q", m)
	}
	for _, want := range []string{`default-src 'none'`, "prefers-color-scheme: dark", `lang="en"`, `href="#s0"`, `id="s0"`, ":focus-visible", `tabindex="0"`} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q", want)
		}
	}
	// Every label and every link leads to something.
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="(\w+)"`).FindAllStringSubmatch(text, -1) {
		if ids[m[1]] {
			t.Errorf("two are called %s", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`(?:aria-labelledby="|href="#)([\w ]+)"`).FindAllStringSubmatch(text, -1) {
		for id := range strings.FieldsSeq(m[1]) {
			if !ids[id] {
				t.Errorf("nothing is called %s", id)
			}
		}
	}
	// All that is opened is closed: as XML, but for the head's and the break's tags.
	body := text[strings.Index(text, "<body>"):strings.Index(text, "</html>")]
	d := xml.NewDecoder(strings.NewReader(strings.ReplaceAll(body, "<br>", "<br/>")))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestChartDrawsItsValues(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteReport(&b, someReport()))
	// From 0 to 4 across, from 0 to 20 up, a gap at 2.
	if want := `d="M72.0 113.0L191.5 78.0M430.5 8.0L550.0 43.0"`; !strings.Contains(b.String(), want) {
		t.Errorf("no path %s in %s", want, b.String())
	}
	if want := "least 5 u, median 15 u, most 20 u"; !strings.Contains(b.String(), want) {
		t.Errorf("does not say %q", want)
	}
}

// Of many values the extremes remain, and no more than two for each place.
func TestChartKeepsExtremes(t *testing.T) {
	l := Line{}
	for i := range 100000 {
		l.X, l.Y = append(l.X, float64(i)), append(l.Y, 1)
	}
	l.Y[70001] = 99
	path := l.path(func(x float64) float64 { return x }, func(y float64) float64 { return y })
	if n := strings.Count(path, "L"); n > 2*chartPoints || !strings.Contains(path, "70001.0 99.0") {
		t.Errorf("%d points; the peak is in it: %v", n, strings.Contains(path, "70001.0 99.0"))
	}
}
