package text

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

func drawn(t *testing.T, c *Chart, s Style) []string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteChart(&b, c, s); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

func TestChart(t *testing.T) {
	nan := math.NaN()
	c := &Chart{Title: "a\x1bb", Unit: "ratio", Bars: []Bar{
		{Label: "0", Lo: 0, Hi: 0.5, Value: 0}, {Lo: 0.25, Hi: 0.5, Value: 1, Outside: true},
		{Label: "2", Lo: nan, Hi: nan, Value: nan}, {Lo: 0.1, Hi: 0.1, Value: nan},
	}}
	got := strings.Join(drawn(t, c, Style{Width: 80}), "\n")
	want := strings.Join([]string{
		`a\x1bb`,
		"100 %     ⡏⠉⠉⠉",
		"          ⡇",
		"          ⡇",
		" 75 %     ⡇",
		"          ⡇",
		"          ⡇",
		" 50 % ░░░░⡇░░░",
		"      ░░░░⡇░░░",
		"      ░░░░⡇░░░",
		" 25 % ░░░░⡇",
		"      ░░░░⡇       ░░░░",
		"  0 % ⣀⣀⣀⣀⡇",
		"      0       2",
	}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if lines := drawn(t, &Chart{Bars: []Bar{{Value: nan, Lo: nan, Hi: nan}}}, Style{}); len(lines) != 1 {
		t.Errorf("%q", lines)
	}
}

func TestChartKeepsItsWidth(t *testing.T) {
	c := &Chart{Title: strings.Repeat("long ", 40), Unit: "bytes/s"}
	for i := range 25 {
		c.Bars = append(c.Bars, Bar{Label: "23", Lo: 1e9, Hi: 5e9, Value: float64(i) * 1e9, Outside: i > 5})
	}
	for _, width := range []int{0, 40, 57, 80, 200} {
		for _, line := range drawn(t, c, Style{Width: width}) {
			if most := max(width, 40); Width(line) > most && width > 0 || Width(line) > 80 && width == 0 {
				t.Errorf("at %d columns: %q is %d wide", width, line, Width(line))
			}
		}
	}
}
