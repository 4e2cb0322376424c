package host

import (
	"slices"
	"testing"
)

func TestDifferences(t *testing.T) {
	few, many := uint64(4096), uint64(131072)
	a := Fingerprint{Kernel: "6.1", Devices: []BlockDevice{{Name: "vda", Queue: Queue{ReadAheadBytes: &few}}}}
	b := Fingerprint{Kernel: "6.1", Devices: []BlockDevice{{Name: "vda", Queue: Queue{ReadAheadBytes: &many}}}}
	got, err := Differences(&a, &b)
	if err != nil || len(got) != 1 || got[0] != (Difference{"devices[vda].read_ahead_bytes", "4096", "131072"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := Differences(&a, &a); err != nil || len(got) != 0 {
		t.Errorf("one with itself: %+v, %v", got, err)
	}
}

// A limit of dirty pages is one setting, whether it is set in bytes or per cent:
// setting one zeroes the other.
func TestDifferencesOfPairs(t *testing.T) {
	ratios := map[string]uint64{"dirty_bytes": 0, "dirty_ratio": 20, "dirty_background_bytes": 0, "dirty_background_ratio": 10, "swappiness": 60}
	limit := Difference{"vm.dirty_{bytes,ratio}", "vm.dirty_ratio=20", "vm.dirty_bytes=67108864"}
	background := Difference{"vm.dirty_background_{bytes,ratio}", "vm.dirty_background_ratio=10", "vm.dirty_background_bytes=16777216"}
	for name, c := range map[string]struct {
		other map[string]uint64
		want  []Difference
	}{
		"both set in bytes": {map[string]uint64{"dirty_bytes": 64 << 20, "dirty_ratio": 0, "dirty_background_bytes": 16 << 20, "dirty_background_ratio": 0, "swappiness": 60},
			[]Difference{background, limit}},
		"one of them": {map[string]uint64{"dirty_bytes": 64 << 20, "dirty_ratio": 0, "dirty_background_bytes": 0, "dirty_background_ratio": 10, "swappiness": 60},
			[]Difference{limit}},
		"another ratio": {map[string]uint64{"dirty_bytes": 0, "dirty_ratio": 5, "dirty_background_bytes": 0, "dirty_background_ratio": 10, "swappiness": 60},
			[]Difference{{"vm.dirty_{bytes,ratio}", "vm.dirty_ratio=20", "vm.dirty_ratio=5"}}},
		"nothing may be dirty": {map[string]uint64{"dirty_bytes": 0, "dirty_ratio": 20, "dirty_background_bytes": 0, "dirty_background_ratio": 0, "swappiness": 60},
			[]Difference{{"vm.dirty_background_{bytes,ratio}", "vm.dirty_background_ratio=10", "vm.dirty_background_ratio=0"}}},
		"half of a pair is known": {map[string]uint64{"dirty_ratio": 20, "dirty_background_bytes": 0, "swappiness": 60},
			[]Difference{{"vm.dirty_background_{bytes,ratio}", "vm.dirty_background_ratio=10", ""}}},
		"and something else": {map[string]uint64{"dirty_bytes": 0, "dirty_ratio": 20, "dirty_background_bytes": 0, "dirty_background_ratio": 10, "swappiness": 0},
			[]Difference{{"vm.swappiness", "60", "0"}}},
		"nothing": {ratios, nil},
	} {
		got, err := Differences(&Fingerprint{VM: ratios}, &Fingerprint{VM: c.other})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
}
