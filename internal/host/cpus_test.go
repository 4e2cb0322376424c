package host

import (
	"slices"
	"testing"
)

func TestParseCPUs(t *testing.T) {
	for text, want := range map[string][]int{
		"0\n":       {0},
		"0-2\n":     {0, 1, 2},
		"0-1,4,6-7": {0, 1, 4, 6, 7},
	} {
		if got, err := ParseCPUs(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "x", "1-", "3-1", "0-99999999"} {
		if got, err := ParseCPUs(text); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}
