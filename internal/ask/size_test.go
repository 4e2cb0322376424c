package ask

import "testing"

func TestSize(t *testing.T) {
	for text, want := range map[string]Size{"0": 0, "1000": 1000, "8k": 8192, "8KiB": 8192, "1.5G": 3 << 29, "2T": 2 << 40, "256M": 256 << 20, "7B": 7} {
		var s Size
		if err := s.Set(text); err != nil || s != want {
			t.Errorf("%s: %d, %v", text, s, err)
		}
		var back Size
		if err := back.Set(s.String()); err != nil || back != s {
			t.Errorf("%s spells as %s, which reads as %d (%v)", text, s.String(), back, err)
		}
	}
	for _, text := range []string{"", "k", "-1", "1x", "NaN", "9e99"} {
		if err := new(Size).Set(text); err == nil {
			t.Errorf("%q was taken for a size", text)
		}
	}
}
