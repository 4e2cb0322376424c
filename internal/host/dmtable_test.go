package host

import (
	"encoding/binary"
	"slices"
	"testing"
)

// dmStatus is one target as DM_TABLE_STATUS answers.
func dmStatus(kind, text string) []byte {
	b := make([]byte, dmTarget, dmTarget+len(text)+1)
	binary.NativeEndian.PutUint32(b[20:], uint32(dmTarget+len(text)+1))
	copy(b[24:], kind)
	return append(append(b, text...), 0)
}

func TestMultipaths(t *testing.T) {
	// As of Linux 6.12: queue-length, two groups, the second path failed twice.
	status := dmStatus("multipath", "2 0 0 0 2 1 A 0 1 2 8:16 A 0 0 1 E 0 1 2 8:32 F 2 0 1 ")
	got := multipaths(status, 1)
	if want := []Path{{MakeDev(8, 16), false}, {MakeDev(8, 32), true}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, other := range [][]byte{nil, dmStatus("linear", "8:16 A"), status[:20], dmStatus("multipath", "")} {
		if got := multipaths(other, 1); len(got) > 0 {
			t.Errorf("%q has paths %v", other, got)
		}
	}
}
