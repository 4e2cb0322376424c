package cli

import (
	"testing"
	"time"
)

func TestWhenIn(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("needs time zones (tzdata)")
	}
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
		if got, err := whenIn(in, now, begin); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v, want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "25:00", "ten", "-5m ago", "+x", "tomorrow 10:00", "yesterday noon", "2026-13-01", "14:00 ago"} {
		if got, err := whenIn(in, now, begin); err == nil {
			t.Errorf("%q: %v, want an error", in, got)
		}
	}
}
