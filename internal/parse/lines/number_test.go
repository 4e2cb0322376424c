package lines

import "testing"

func TestThousands(t *testing.T) {
	for in, want := range map[string]float64{
		"1,234,567": 1234567, "1.234.567": 1234567, "1,234.5": 1234.5, "1.234,5": 1234.5, "1,5": 1.5, "1.5": 1.5, "12": 12, "1,234,567.8": 1234567.8,
	} {
		if got, ok := Number(in); !ok || got != want {
			t.Errorf("%s is read as %g, %v", in, got, ok)
		}
	}
}
