package cli

import (
	"testing"
	"time"
)

func TestWhen(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 29, 12, 30, 15, 0, berlin) // the clock went forward at 2:00
	for in, want := range map[string]string{
		"now":                  "2026-03-29T12:30:15+02:00",
		"10m ago":              "2026-03-29T12:20:15+02:00",
		"1h30m ago":            "2026-03-29T11:00:15+02:00",
		"2 days ago":           "2026-03-27T11:30:15+01:00",
		"1 week ago":           "2026-03-22T11:30:15+01:00",
		"90 min ago":           "2026-03-29T11:00:15+02:00",
		"11:00":                "2026-03-29T11:00:00+02:00",
		"14:00":                "2026-03-28T14:00:00+01:00",
		"today 14:00":          "2026-03-29T14:00:00+02:00",
		"yesterday 14:00":      "2026-03-28T14:00:00+01:00",
		"yesterday":            "2026-03-28T00:00:00+01:00",
		"2026-01-02 03:04":     "2026-01-02T03:04:00+01:00",
		"2026-01-02T03:04:05Z": "2026-01-02T03:04:05Z",
		"2026-07-02":           "2026-07-02T00:00:00+02:00",
		"@1700000000":          "2023-11-14T23:13:20+01:00",
	} {
		expect, err := time.Parse(time.RFC3339, want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := when(in, now); err != nil || !got.Equal(expect) {
			t.Errorf("%q: %v, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "soon", "-5m ago", "25:00", "ago", "@", "@1e300", "3 parsecs ago", "tomorrow"} {
		if got, err := when(in, now); err == nil {
			t.Errorf("%q is read as %v", in, got)
		}
	}
}
