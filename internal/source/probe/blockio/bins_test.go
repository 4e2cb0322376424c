package blockio

import (
	"math"
	"testing"
	"time"
	"unsafe"
)

// Bins are counted since the boot. Those of 10 ms began anew after 497 days in 32 bits,
// and then the I/O of two times was in one bin.
func TestBinsOfALongUptime(t *testing.T) {
	var k blockioBinKey
	var near blockioNearBin
	for what, size := range map[string]uintptr{"key of the bins": unsafe.Sizeof(k.Bin), "near bins": unsafe.Sizeof(near.Id)} {
		if size != 8 {
			t.Errorf("%s: %d bits for the number of a bin, want 64", what, 8*size)
		}
	}
	k.Bin = uint64(500 * 24 * time.Hour / (10 * time.Millisecond))
	if k.Bin <= math.MaxUint32 {
		t.Errorf("500 days are %d bins of 10 ms, and 32 bits hold them", k.Bin)
	}
}
