package meminfo

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"testing"

	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/require"
	"iocause/internal/source/proc/proctest"
)

func sum(t *testing.T, m *procfile.Meminfo, b Beside) (int64, map[string]Part) {
	t.Helper()
	parts, ok := Parts(m, b)
	if !ok {
		t.Fatal("no parts")
	}
	all, by := int64(0), map[string]Part{}
	for _, p := range parts {
		all += p.Bytes
		if _, twice := by[p.Key]; twice {
			t.Errorf("%s is there twice", p.Key)
		}
		by[p.Key] = p
	}
	return all, by
}

// The parts are all of the memory, whatever could be read beside.
func TestPartsAddUp(t *testing.T) {
	m, err := procfile.ParseMeminfo(proctest.Fixture(t, "../../../../procfile/testdata/meminfo-6.18"))
	require.NoError(t, err)
	n, stacks := uint64(123<<12), uint64(1800<<10)
	for _, b := range []Beside{
		{},
		{PerCPU: &n, Stacks: &stacks, Zram: &n},
		{PerCPU: &n, Stacks: &stacks, Zram: &n, Files: &FilePages{Clean: 1 << 30, Mapped: 50 << 20, Dirty: 600 << 10, Pinned: 4096}},
	} {
		all, by := sum(t, &m, b)
		if all != int64(*m.Total) {
			t.Errorf("%+v: the parts are %d bytes, the memory %d", b, all, *m.Total)
		}
		if by["cache_mapped"].Known != (b.Files != nil) || by["free_percpu"].Known != (b.PerCPU != nil) {
			t.Errorf("%+v: %+v", b, by)
		}
		if b.Stacks != nil && by["vmalloc"].Bytes != int64(*m.VmallocUsed-stacks) {
			t.Errorf("vmalloc is %d", by["vmalloc"].Bytes)
		}
		if by[PartUnexplained].Bytes <= 0 {
			t.Errorf("nothing is unexplained: %+v", by[PartUnexplained])
		}
	}
	// counters that do not fit each other are shown, not hidden
	huge := *m.Total
	all, by := sum(t, &m, Beside{Zram: &huge})
	if all != int64(*m.Total) || by[PartUnexplained].Bytes >= 0 {
		t.Errorf("%d bytes are unexplained", by[PartUnexplained].Bytes)
	}
	if _, ok := Parts(&procfile.Meminfo{Total: m.Total}, Beside{}); ok {
		t.Error("parts of nothing")
	}
}

// MemAvailable, reckoned from its parts, is what the kernel says.
func TestEstimateIsMemAvailable(t *testing.T) {
	m, err := procfile.ParseMeminfo(proctest.Fixture(t, "available-6.18"))
	require.NoError(t, err)
	z, err := parseZones(proctest.Fixture(t, "zoneinfo-6.18"))
	if err != nil || z.PerCPU == 0 || z.Low == 0 || z.Reserve <= z.Low {
		t.Fatalf("%+v, %v", z, err)
	}
	e, ok := z.Estimate(&m, 4096)
	if off := e.Sum - int64(*m.Available); !ok || off < -1<<20 || off > 1<<20 {
		t.Errorf("%+v: %d bytes, the kernel says %d", e, e.Sum, *m.Available)
	}
	if _, ok := z.Estimate(&procfile.Meminfo{}, 4096); ok {
		t.Error("an estimate of nothing")
	}
}

func TestParseZones(t *testing.T) {
	z, err := parseZones([]byte("Node 0, zone DMA\n low 2\n high 5\n managed 100\n protection: (0, 30, 20)\n pagesets\n count: 7\n high: 400\n count: 1\nNode 0, zone Normal\n low 3\n high 50\n managed 40\n protection: (0)\n"))
	if want := (Zones{PerCPU: 8, Low: 5, Reserve: 35 + 40}); err != nil || z != want {
		t.Errorf("%+v, %v, want %+v", z, err, want)
	}
	_, err = parseZones([]byte("Node 0, zone DMA\n low x\n"))
	proctest.WantLine(t, err, 2)
	_, err = parseZones([]byte("protection: (1, y)"))
	proctest.WantLine(t, err, 1)
}

func TestKindsOfPages(t *testing.T) {
	const lru = flagLRU
	flags := []uint64{
		lru, lru | flagMapped, lru | flagDirty, lru | flagWriteback | flagDirty, lru | flagPinned | flagMapped,
		lru | flagAnon, lru | flagSwapBacked | flagMapped, 0, flagNoPage, flagDirty,
		// a folio of three pages as kernels before 6.9 show it, and as they do since
		lru | flagMapped | flagHead, flagTail, flagTail,
		lru | flagHead, lru | flagTail,
		flagHead, flagTail, // no page of the cache
	}
	var raw []byte
	for _, f := range flags {
		raw = binary.NativeEndian.AppendUint64(raw, f)
	}
	x := proctest.NewTree(t)
	x.Write("proc/kpageflags", string(raw))
	got, err := ReadFilePages(x.Host(), uint64(len(flags))*4096, 0)
	if want := (FilePages{Clean: 3 * 4096, Mapped: 4 * 4096, Dirty: 4096, Writeback: 4096, Pinned: 4096, Every: 1}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	// one block in ten of an even memory is a tenth of it
	raw = nil
	for range 10 * block * 10 {
		raw = binary.NativeEndian.AppendUint64(raw, lru)
	}
	x.Write("proc/kpageflags", string(raw))
	got, err = ReadFilePages(x.Host(), uint64(len(raw)/entry)*4096, len(raw)/entry/10)
	if err != nil || got.Every != 10 || got.Clean != uint64(len(raw)/entry)*4096 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ReadFilePages(host.Tree(t.TempDir(), nil), 1, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want not exist", err)
	}
}

// Blocks that begin inside of a folio know its flags.
func TestLargeFoliosInBlocks(t *testing.T) {
	const folio, folios = 512, 10
	for _, tail := range []uint64{flagTail, flagTail | flagLRU | flagDirty} { // before Linux 6.9, and since
		var raw []byte
		for i := range folio * folios {
			flags := tail
			if i%folio == 0 {
				flags = flagLRU | flagDirty | flagHead
			}
			raw = binary.NativeEndian.AppendUint64(raw, flags)
		}
		x := proctest.NewTree(t)
		x.Write("proc/kpageflags", string(raw))
		pages := uint64(len(raw) / entry)
		got, err := ReadFilePages(x.Host(), pages*uint64(os.Getpagesize()), int(pages/3)+1)
		looked := 3 * block * uint64((len(raw)/entry/block+2)/3)
		if err != nil || got.Every != 3 || got.Dirty != looked*uint64(os.Getpagesize()) || got.Sum() != got.Dirty {
			t.Errorf("%+v, %v, want %d dirty pages", got, err, looked)
		}
	}
}

func TestBeside(t *testing.T) {
	x := proctest.NewTree(t)
	x.Write("proc/vmallocinfo", "0x1-0x2   20480 kernel_clone+0x94/0x3e0 pages=4 vmalloc N0=4\n0x1-0x2 8192 bpf_prog_alloc+0x1/0x2 pages=1 vmalloc\n0x1-0x2 20480 dup_task_struct+0x5/0x2 pages=4 vmalloc\n\n")
	x.Write("sys/block/zram0/mm_stat", "  4096 100 12288 0 16384 0 0 0 0\n")
	x.Write("sys/block/zram1/mm_stat", "4096 100 4096 0\n")
	x.Write("proc/zoneinfo", "Node 0, zone DMA\n low 2\n high 5\n managed 100\n pagesets\n count: 7\n")
	x.Write("proc/kpageflags", "")
	total := uint64(1 << 20)
	b, unread := ReadBeside(x.Host(), &procfile.Meminfo{Total: &total}, 0)
	if len(unread) != 0 || *b.Stacks != 8*b.Page || *b.Zram != 16384 || *b.PerCPU != 7*b.Page {
		t.Errorf("%+v, %v", b, unread)
	}
	x.Write("sys/block/zram1/mm_stat", "?\n")
	for _, gone := range []string{"vmallocinfo", "zoneinfo", "kpageflags"} {
		require.NoError(t, os.Remove(x.Host().Proc(gone)))
	}
	if b, unread = ReadBeside(x.Host(), &procfile.Meminfo{Total: &total}, 0); len(unread) != 4 || b.Zram != nil {
		t.Errorf("%+v, %v", b, unread)
	}
}

func FuzzZones(f *testing.F) {
	proctest.Seeds(f)
	f.Fuzz(func(_ *testing.T, b []byte) { parseZones(b); parseStacks(b) })
}
