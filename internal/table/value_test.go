package table

import "testing"

func TestValue(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{0, "bytes", "0 B"},
		{4096, "bytes", "4 KiB"},
		{1023.7 * 1024, "bytes", "1 MiB"},
		{125e6, "bytes/s", "119 MiB/s"},
		{0.12, "ratio", "12 %"},
		{0.00345, "ratio", "0.345 %"},
		{1, "ratio", "100 %"},
		{0.000000001, "ratio", "< 0.001 %"},
		{0.0000042, "seconds", "4.2 us"},
		{0.0015, "seconds", "1.5 ms"},
		{0.9999, "seconds", "1 s"},
		{9.98, "seconds", "9.98 s"},
		{1200, "seconds", "20 min"},
		{1.5, "seconds/s", "1.5 s/s"},
		{3, "count", "3"},
		{12345, "count", "12.3 k"},
		{999999, "count/s", "1 M/s"},
		{2.5e6, "count/s", "2.5 M/s"},
		{262144, "pages", "262 k pages"},
		{-4096, "bytes", "-4 KiB"},
		{7, "furlong\x1b", `7 furlong\x1b`},
	} {
		if got := Value(c.v, c.unit); got != c.want {
			t.Errorf("Value(%v, %q) = %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}
