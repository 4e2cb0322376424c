package sample

import "testing"

func TestIOClass(t *testing.T) {
	for text, want := range map[string]IOClass{
		"read 4096 8":     {"read", 4096, 8},
		"write 1048576 1": {"write", 1 << 20, 1},
		"other 0":         {"other", 0, 0},
	} {
		got, ok := ParseIOClass(text)
		if !ok || got != want || got.String() != text {
			t.Errorf("%q: %+v, %v, %q", text, got, ok, got)
		}
	}
	for _, bad := range []string{"", "read", "read x", "read 4096 x", "read 4096 0", "read 4096 8 1", "read -1 8"} {
		if got, ok := ParseIOClass(bad); ok {
			t.Errorf("%q is taken for %+v", bad, got)
		}
	}
}
