package bpf

import (
	"fmt"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"

	"iocause/internal/bpf/bpftest"
)

// value is as large as the rows of probes are.
type value struct {
	N    uint64
	Pad  [30]uint64
	Half uint32
	_    [4]byte
}

// filled is a map with n entries, of keys that begin at 1.
func filled(t testing.TB, n, room int) *ebpf.Map {
	t.Helper()
	bpftest.Need(t, "bpf", rlimit.RemoveMemlock()) // before Linux 5.11 maps count as locked memory
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Hash, KeySize: 4, ValueSize: 256, MaxEntries: uint32(room)})
	bpftest.Need(t, "bpf", err)
	t.Cleanup(func() { m.Close() })
	for i := range uint32(n) {
		if err := m.Put(i+1, value{N: uint64(i) * 3, Half: i}); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// Every entry is told once, with its value, however many there are: none, fewer
// than a batch, one more than several batches, as many as there is room for.
func TestEach(t *testing.T) {
	for _, c := range []struct{ entries, room int }{{0, 1}, {1, 1}, {31, 32}, {firstBatch, 4096}, {97, 97}, {10007, 65536}, {4096, 4096}} {
		for name, each := range map[string]func(*ebpf.Map, func(uint32, value)) error{
			"together": Each[uint32, value], "singly": eachSingly[uint32, value],
		} {
			told := map[uint32]int{}
			err := each(filled(t, c.entries, c.room), func(k uint32, v value) {
				told[k]++
				if i := k - 1; v.N != uint64(i)*3 || v.Half != i {
					t.Errorf("%s: entry %d has %+v", name, k, v)
				}
			})
			if err != nil || len(told) != c.entries {
				t.Errorf("%s: %d of %d entries were told: %v", name, len(told), c.entries, err)
			}
			for k, n := range told {
				if n != 1 || k < 1 || int(k) > c.entries {
					t.Errorf("%s: entry %d was told %d times", name, k, n)
				}
			}
		}
	}
}

func BenchmarkEach(b *testing.B) {
	for _, n := range []int{100, 4000} {
		m := filled(b, n, 16384)
		for name, each := range map[string]func(*ebpf.Map, func(uint32, value)) error{
			"together": Each[uint32, value], "singly": eachSingly[uint32, value],
		} {
			b.Run(fmt.Sprint(n, "/", name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := each(m, func(uint32, value) {}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
