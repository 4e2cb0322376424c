package host

import "testing"

func TestHeir(t *testing.T) {
	ended := map[int]int{10: 5, 11: 10, 12: 11, 20: 0, 30: 31, 31: 30}
	for pid, want := range map[int]int{10: 5, 12: 5, 20: 0, 30: 0} {
		if got := Heir(ended, pid); got != want {
			t.Errorf("the heir of %d is %d, not %d", pid, got, want)
		}
	}
}
