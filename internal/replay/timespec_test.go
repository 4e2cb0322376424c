package replay

import (
	"testing"
	"time"
	_ "time/tzdata" // for machines without time zones

	"iocause/internal/require"
)

func TestInstant(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
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
		require.NoError(t, err)
		if got, err := Instant(in, now); err != nil || !got.Equal(expect) {
			t.Errorf("%q: %v, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "soon", "-5m ago", "25:00", "ago", "@", "@1e300", "3 parsecs ago", "tomorrow"} {
		if got, err := Instant(in, now); err == nil {
			t.Errorf("%q is read as %v", in, got)
		}
	}
}

func TestInstantIn(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	now := time.Date(2026, 3, 29, 12, 0, 0, 0, zone) // summer time began that night
	begin := time.Date(2026, 3, 28, 22, 30, 20, 5, zone)
	for in, want := range map[string]time.Time{
		"2026-03-28T23:00:00Z":      time.Date(2026, 3, 28, 23, 0, 0, 0, time.UTC),
		"2026-03-28T23:00:00+05:00": time.Date(2026, 3, 28, 18, 0, 0, 0, time.UTC),
		"2026-03-28 23:00":          time.Date(2026, 3, 28, 23, 0, 0, 0, zone),
		"2026-03-28 23:00:07":       time.Date(2026, 3, 28, 23, 0, 7, 0, zone),
		"2026-03-29":                time.Date(2026, 3, 29, 0, 0, 0, 0, zone),
		"10m ago":                   now.Add(-10 * time.Minute),
		"1h 30m ago":                now.Add(-90 * time.Minute),
		"+30s":                      begin.Add(30 * time.Second),
		"22:30":                     time.Date(2026, 3, 28, 22, 30, 0, 0, zone),
		"23:15:10":                  time.Date(2026, 3, 28, 23, 15, 10, 0, zone),
		"04:00":                     time.Date(2026, 3, 29, 4, 0, 0, 0, zone), // past midnight, 4.5 h later
		"yesterday 23:00":           time.Date(2026, 3, 28, 23, 0, 0, 0, zone),
		"today 01:00":               time.Date(2026, 3, 29, 1, 0, 0, 0, zone),
		"now":                       now,
	} {
		if got, err := InstantIn(in, now, begin); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v, want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "25:00", "ten", "-5m ago", "+x", "tomorrow 10:00", "yesterday noon", "2026-13-01", "14:00 ago"} {
		if got, err := InstantIn(in, now, begin); err == nil {
			t.Errorf("%q: %v, want an error", in, got)
		}
	}
}
