package meminfo

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"iocause/internal/host"
	"iocause/internal/procfile"
)

// Beside is what /proc/meminfo does not say; nil is what could not be read.
type Beside struct {
	PerCPU *uint64    // bytes free in the lists of single processors
	Stacks *uint64    // bytes of kernel stacks that VmallocUsed counts too
	Zram   *uint64    // bytes that compressed swap in memory takes
	Files  *FilePages // the kinds of pages in the cache
	Page   uint64     // the machine's page size
	Zones  *Zones
}

// ReadBeside reads what belongs to Parts beside /proc/meminfo. It looks at the
// flags of most pages at most, 0 for all. unread says why something is nil.
func ReadBeside(h *host.Host, m *procfile.Meminfo, most int) (b Beside, unread []error) {
	b = Beside{Page: uint64(os.Getpagesize())}
	if z, err := ReadZones(h); err != nil {
		unread = append(unread, err)
	} else {
		free := z.PerCPU * b.Page
		b.Zones, b.PerCPU = &z, &free
	}
	if n, err := stacksIn(h); err != nil {
		unread = append(unread, err)
	} else {
		b.Stacks = &n
	}
	if n, err := zram(h); err != nil {
		unread = append(unread, err)
	} else {
		b.Zram = &n
	}
	if m.Total != nil {
		if f, err := ReadFilePages(h, *m.Total, most); err != nil {
			unread = append(unread, err)
		} else {
			b.Files = &f
		}
	}
	return b, unread
}

// stacksIn adds up the kernel stacks in /proc/vmallocinfo (CONFIG_VMAP_STACK),
// those that wait for the next process included. The line of each names the
// function that made the process, or that of the stack.
func stacksIn(h *host.Host) (uint64, error) {
	b, err := host.Read(h.Proc("vmallocinfo"), nil)
	if err != nil {
		return 0, fmt.Errorf("reading which of the kernel's mappings are stacks: %w", err)
	}
	return parseStacks(b) * uint64(os.Getpagesize()), nil
}

func parseStacks(b []byte) (pages uint64) {
	for len(b) > 0 {
		var line []byte
		line, b = host.Line(b)
		_, rest := host.Field(line) // addresses
		_, rest = host.Field(rest)  // bytes, with the guard page
		who, rest := host.Field(rest)
		name, _, _ := bytes.Cut(who, []byte("+"))
		switch string(name) {
		case "kernel_clone", "copy_process", "dup_task_struct", "alloc_thread_stack_node", "_do_fork":
		default:
			continue
		}
		for f, rest := host.Field(rest); len(f) > 0; f, rest = host.Field(rest) {
			if n, ok := bytes.CutPrefix(f, []byte("pages=")); ok {
				v, _ := host.Uint(n)
				pages += v
			}
		}
	}
	return pages
}

// zram adds up the third figure of /sys/block/zram*/mm_stat, mem_used_total:
// Documentation/admin-guide/blockdev/zram.rst.
func zram(h *host.Host) (uint64, error) {
	found, err := filepath.Glob(h.Sys("block", "zram*", "mm_stat"))
	if err != nil {
		return 0, fmt.Errorf("looking for compressed swap in memory: %w", err)
	}
	sum := uint64(0)
	for _, path := range found {
		b, err := host.Read(path, nil)
		if err != nil {
			return 0, fmt.Errorf("reading the use of compressed swap in memory: %w", err)
		}
		fields := strings.Fields(string(b))
		if len(fields) < 3 {
			return 0, fmt.Errorf("reading %s: %.60q is not the use of memory", path, b)
		}
		v, ok := host.Uint([]byte(fields[2]))
		if !ok {
			return 0, fmt.Errorf("reading %s: %.60q is not the use of memory", path, b)
		}
		sum += v
	}
	return sum, nil
}

// Part is a part of the memory. No page is in two of them.
type Part struct {
	Key, Name string
	Bytes     int64 // below zero only of a remainder
	Known     bool
	Source    string
}

// The keys that others ask for.
const (
	PartUnexplained = "unexplained"
	PartClean       = "cache_clean"
)

// Parts divides MemTotal. What the kernel does not count, such as pages that
// drivers took for themselves, remains as the last part; it is below zero when
// counters that are read one after the other do not fit each other. ok is
// false without the figures that everything else is measured by.
func Parts(m *procfile.Meminfo, b Beside) (parts []Part, ok bool) {
	if m.Total == nil || m.Free == nil || m.Anon == nil || m.Cached == nil || m.Buffers == nil || m.Shmem == nil {
		return nil, false
	}
	const meminfo = "/proc/meminfo"
	rest := int64(*m.Total)
	add := func(key, name string, v *uint64, source string) {
		p := Part{Key: key, Name: name, Known: v != nil, Source: source}
		if v != nil {
			p.Bytes = int64(*v)
			rest -= p.Bytes
		}
		parts = append(parts, p)
	}
	add("free", "free", m.Free, meminfo+" MemFree")
	add("free_percpu", "free, in lists of single processors", b.PerCPU, "/proc/zoneinfo count")
	add("anonymous", "memory of processes (anonymous)", m.Anon, meminfo+" AnonPages")
	add("shmem", "shared memory and tmpfs", m.Shmem, meminfo+" Shmem")
	parts = append(parts, cacheParts(m, b.Files)...)
	rest -= int64(*m.Cached) - int64(*m.Shmem)
	add("buffers", "cache of block devices (buffers)", m.Buffers, meminfo+" Buffers")
	add("slab_reclaimable", "kernel objects, reclaimable", m.SReclaimable, meminfo+" SReclaimable")
	add("kernel_reclaimable", "kernel's other reclaimable pages", minus(m.KReclaimable, m.SReclaimable), meminfo+" KReclaimable - SReclaimable")
	add("slab_unreclaimable", "kernel objects, not reclaimable", m.SUnreclaim, meminfo+" SUnreclaim")
	add("page_tables", "page tables", plus(m.PageTables, m.SecPageTables), meminfo+" PageTables + SecPageTables")
	add("kernel_stacks", "kernel stacks", m.KernelStack, meminfo+" KernelStack")
	vmalloc, how := vmallocPart(m, b)
	add("vmalloc", "vmalloc (modules, BPF, tables)", vmalloc, how)
	add("percpu", "per-processor data", m.Percpu, meminfo+" Percpu")
	add("huge_pages", "reserved as huge pages (hugetlb)", m.Hugetlb, meminfo+" Hugetlb")
	add("zram", "compressed swap (zram)", b.Zram, "/sys/block/zram*/mm_stat")
	add("zswap", "compressed pages before swap (zswap)", m.Zswap, meminfo+" Zswap")
	add("bounce", "copies for devices and FUSE", plus(m.Bounce, m.WritebackTmp), meminfo+" Bounce + WritebackTmp")
	parts = append(parts, Part{PartUnexplained, "unexplained (drivers, firmware, hypervisor)", rest, true, "MemTotal less all above"})
	return parts, true
}

// cacheParts divide Cached - Shmem. The clean part is what the others leave.
func cacheParts(m *procfile.Meminfo, f *FilePages) []Part {
	const flags = "/proc/kpageflags"
	files := int64(*m.Cached) - int64(*m.Shmem)
	part := func(key, name string, v uint64) Part {
		return Part{key, "file cache, " + name, int64(v), true, flags}
	}
	if f != nil {
		clean := files - int64(f.Mapped) - int64(f.Dirty) - int64(f.Writeback) - int64(f.Pinned)
		return []Part{
			part("cache_mapped", "mapped by processes", f.Mapped), part("cache_dirty", "dirty", f.Dirty),
			part("cache_writeback", "being written", f.Writeback), part("cache_pinned", "pinned (mlock, ramfs)", f.Pinned),
			{PartClean, "file cache, clean", clean, true, "/proc/meminfo Cached - Shmem, less the four above"},
		}
	}
	dirty, writing := m.Dirty, m.Writeback
	parts := []Part{{Key: "cache_mapped", Name: "file cache, mapped by processes", Source: flags}}
	for _, x := range []struct {
		key, name string
		v         *uint64
	}{{"cache_dirty", "dirty", dirty}, {"cache_writeback", "being written", writing}} {
		p := Part{Key: x.key, Name: "file cache, " + x.name, Known: x.v != nil, Source: "/proc/meminfo"}
		if x.v != nil {
			p.Bytes = int64(*x.v)
			files -= p.Bytes
		}
		parts = append(parts, p)
	}
	return append(parts, Part{Key: "cache_pinned", Name: "file cache, pinned (mlock, ramfs)", Source: flags},
		Part{PartClean, "file cache, clean, mapped or pinned", files, true, "/proc/meminfo Cached - Shmem - Dirty - Writeback"})
}

// vmallocPart is VmallocUsed without the kernel stacks, that it counts too
// where they are mapped (CONFIG_VMAP_STACK, the default since 4.14 on x86-64).
func vmallocPart(m *procfile.Meminfo, b Beside) (*uint64, string) {
	if m.VmallocUsed == nil {
		return nil, "/proc/meminfo VmallocUsed"
	}
	if b.Stacks != nil {
		return minus(m.VmallocUsed, b.Stacks), "/proc/meminfo VmallocUsed, less stacks of /proc/vmallocinfo"
	}
	if m.KernelStack == nil || *m.VmallocUsed < *m.KernelStack { // 0 before 5.3: not counted
		return m.VmallocUsed, "/proc/meminfo VmallocUsed"
	}
	return minus(m.VmallocUsed, m.KernelStack), "/proc/meminfo VmallocUsed - KernelStack"
}

// minus is a - b, nil when one is not known, 0 when counters that are read one
// after the other do not fit.
func minus(a, b *uint64) *uint64 {
	if a == nil || b == nil {
		return nil
	}
	v := *a - min(*a, *b)
	return &v
}

// plus is a + b; one that the kernel does not count is nothing.
func plus(a, b *uint64) *uint64 {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	v := *a + *b
	return &v
}
