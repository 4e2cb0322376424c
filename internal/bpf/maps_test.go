package bpf

import (
	"fmt"
	"maps"
	"math/bits"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
)

// mapsDoc has what the maps take at most.
const mapsDoc = "../../docs/maps.md"

const (
	hashRow    = 48 + 8 // what the kernel keeps beside key and value, and a pointer of its allocator
	hashBucket = 16
	perCPURow  = 8
)

// most is how many bytes a map takes when it is full: at all events, and for each processor.
func most(t *testing.T, m *ebpf.MapSpec) (all, each int) {
	t.Helper()
	key, value, rows := (int(m.KeySize)+7)&^7, (int(m.ValueSize)+7)&^7, int(m.MaxEntries)
	buckets := hashBucket << bits.Len(uint(max(rows-1, 0)))
	switch m.Type {
	case ebpf.Hash, ebpf.LRUHash:
		return rows*(hashRow+key+value) + buckets, 0
	case ebpf.PerCPUHash, ebpf.LRUCPUHash:
		return rows*(hashRow+key+perCPURow) + buckets, rows * value
	case ebpf.Array:
		return rows * value, 0
	case ebpf.PerCPUArray:
		return rows * perCPURow, rows * value
	case ebpf.RingBuf:
		return rows + 4*os.Getpagesize(), 0
	case ebpf.StackTrace:
		return rows*(24+value) + buckets, 0
	case ebpf.TaskStorage, ebpf.InodeStorage:
		return 0, 0 // see the document: a row of each thread
	}
	t.Fatalf("how much does %s, a %s, take?", m.Name, m.Type)
	return 0, 0
}

// TestMapsAreBounded keeps the document of what the maps of each probe take when they are
// full, as their objects have them (-update writes it anew).
func TestMapsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Memory of BPF maps

What the maps of each probe take in the kernel when they are full, from the committed objects (a test keeps this table). Where it says "as it fills", a row is allocated when it is used; the others are allocated when the probe is loaded. Rows of ended processes leave ([architecture.md](architecture.md#inside-the-kernel)), so a map seldom fills up. What finds no room in a full map is counted and reported as lost. A probe is loaded by the commands that need it.

- Maps of one row for each thread that was seen (task storage) have no upper bound of their own: a row goes when the thread ends.
- The kernel rounds rows up to its allocator's sizes; a part of a kilobyte a map and processor comes on top.
- A few maps are made smaller, or as large as an option says (` + "`trace --buffer`" + `), before they are loaded.

| probe | map | kind | rows | bytes of key and value | KiB when full | and for each processor |
|---|---|---|---|---|---|---|
`)
	all := objects(t)
	for _, object := range slices.Sorted(maps.Keys(all)) {
		total, totalEach := 0, 0
		for _, name := range slices.Sorted(maps.Keys(all[object].Maps)) {
			m := all[object].Maps[name]
			bytes, each := most(t, m)
			total, totalEach = total+bytes, totalEach+each
			rows, full := fmt.Sprint(m.MaxEntries), kib(bytes)
			switch grows := m.Flags&unix.BPF_F_NO_PREALLOC != 0; {
			case m.Type == ebpf.TaskStorage:
				rows, full = "threads", fmt.Sprintf("%d bytes a thread", m.ValueSize)
			case grows:
				full += ", as it fills"
			}
			if strings.HasPrefix(name, ".") {
				continue // variables and constants: of a page or two, in the sum
			}
			fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %d + %d | %s | %s |\n", object, name, m.Type, rows, m.KeySize, m.ValueSize, full, kib(each))
		}
		fmt.Fprintf(&b, "| **%s** | all | | | | **%s** | **%s** |\n", object, kib(total), kib(totalEach))
	}
	if *update {
		if err := os.WriteFile(mapsDoc, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if is, err := os.ReadFile(mapsDoc); err != nil || string(is) != b.String() {
		t.Errorf("%s is not what the objects have: write it anew with -update (%v)", mapsDoc, err)
	}
}

func kib(n int) string {
	return fmt.Sprint((n + 1023) / 1024)
}

// TestMostIsEnough fills maps and demands that the kernel accounts no more memory for them
// than is said.
func TestMostIsEnough(t *testing.T) {
	if _, err := prepared(); err != nil {
		bpftest.Need(t, "bpf", err)
	}
	for _, spec := range []*ebpf.MapSpec{
		{Name: "grows", Type: ebpf.Hash, KeySize: 16, ValueSize: 104, MaxEntries: 5000, Flags: unix.BPF_F_NO_PREALLOC},
		{Name: "fixed", Type: ebpf.Hash, KeySize: 4, ValueSize: 8, MaxEntries: 5000},
		{Name: "recent", Type: ebpf.LRUHash, KeySize: 24, ValueSize: 40, MaxEntries: 5000},
	} {
		m, err := ebpf.NewMap(spec)
		if err != nil {
			bpftest.Need(t, "bpf", err)
		}
		defer m.Close()
		value := make([]byte, spec.ValueSize)
		for i := range spec.MaxEntries {
			key := make([]byte, spec.KeySize)
			key[0], key[1] = byte(i), byte(i>>8)
			if err := m.Put(key, value); err != nil {
				t.Fatal(err)
			}
		}
		info, err := m.Info()
		if err != nil {
			t.Fatal(err)
		}
		is, ok := info.Memlock()
		if !ok {
			t.Skip("this kernel does not tell what a map takes")
		}
		rows := uint64((spec.KeySize+spec.ValueSize+7)&^7) * uint64(spec.MaxEntries)
		if page := uint64(os.Getpagesize()); is == (rows+page-1)&^(page-1) {
			t.Skip("this kernel tells what keys and values take, and no more (before 6.4)")
		}
		const beside = 64 << 10 // of the map itself, whatever its size
		if said, _ := most(t, spec); is > uint64(said+beside) || is < uint64(said)/2 {
			t.Errorf("%s takes %d bytes, %d is said", spec.Name, is, said)
		}
	}
}
