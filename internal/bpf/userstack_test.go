package bpf

import "testing"

func TestCopied(t *testing.T) {
	content := make([]byte, 24)
	content[8], content[23] = 1, 2
	read := Copied(0x1000, content)
	for at, want := range map[uint64]uint64{0x1008: 1, 0x1010: 2 << 56} {
		if got, ok := read(at); !ok || got != want {
			t.Errorf("%#x: %#x, %v; want %#x", at, got, ok, want)
		}
	}
	for _, at := range []uint64{0, 0xfff, 0x1011, 0x1018, 1<<64 - 1} {
		if got, ok := read(at); ok {
			t.Errorf("%#x: %#x, and it was not copied", at, got)
		}
	}
	for _, short := range [][]byte{nil, content[:7]} {
		if _, ok := Copied(0x1000, short)(0x1000); ok {
			t.Errorf("%d bytes hold eight", len(short))
		}
	}
}
