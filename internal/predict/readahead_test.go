package predict

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"iocause/internal/bpf/bpftest"
)

// ahead is where a reader's read-ahead stands: file_ra_state.
type ahead struct{ start, size, async, next int }

// cachedFile is what is read of a file, and what the kernel reads ahead of it, page by page.
type cachedFile struct {
	pages, most int // of the file; that are read ahead at most
	has         func(page int) bool
	come        func(page int, marked bool)
}

// submit has those of a window come that are not there.
func (f *cachedFile) submit(a *ahead) {
	for page := a.start; page < min(f.pages, a.start+a.size); page++ {
		if !f.has(page) {
			f.come(page, page == a.start+a.size-a.async)
		}
	}
}

// miss is page_cache_sync_ra for one page.
func (f *cachedFile) miss(a *ahead, page int) {
	row := 0
	for row < f.most && page > row && f.has(page-1-row) {
		row++
	}
	switch {
	case page == 0 || page-a.next == 0 || page-a.next == 1:
		*a = ahead{page, 4, 3, a.next}
	case row <= 1:
		f.come(page, false)
		return
	default:
		*a = ahead{page, min(row+1, f.most), 1, a.next}
	}
	f.submit(a)
}

// use is page_cache_async_ra for a marked page.
func (f *cachedFile) use(a *ahead, page int) {
	start, size := page+1, a.size
	if page == a.start+a.size-a.async {
		start = a.start + a.size
	} else {
		for start < f.pages && start-page <= f.most && f.has(start) {
			start++
		}
		if start >= f.pages || start-page > f.most {
			return
		}
		size = start - page + 1
	}
	a.start, a.size = start, larger(size, f.most)
	a.async = a.size
	f.submit(a)
}

// residentOf is which pages of a file are cached and have been read (mincore).
func residentOf(t *testing.T, memory []byte) []byte {
	t.Helper()
	vec := make([]byte, len(memory)/PageSize)
	if _, _, errno := syscall.Syscall(syscall.SYS_MINCORE, uintptr(unsafe.Pointer(&memory[0])), uintptr(len(memory)), uintptr(unsafe.Pointer(&vec[0]))); errno != 0 {
		t.Fatal(errno)
	}
	for i := range vec {
		vec[i] &= 1
	}
	return vec
}

// advise is posix_fadvise of a whole file.
func advise(f *os.File, advice uintptr) error {
	if _, _, errno := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, advice, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// The kernel reads ahead what the model is made of: a file of which three pages in five are
// cached is read here and there, and what came is compared with what should, page by page.
func TestKernelReadsAhead(t *testing.T) {
	if os.Getpagesize() != PageSize {
		t.Skip("counts pages of 4 KiB")
	}
	const pages = 8192
	f, err := os.CreateTemp("/var/tmp", "iocause-")
	if err == nil {
		defer os.Remove(f.Name())
		defer f.Close()
		_, err = f.Write(make([]byte, pages*PageSize))
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = advise(f, 4) // POSIX_FADV_DONTNEED
	}
	if err == nil {
		err = advise(f, 1) // POSIX_FADV_RANDOM
	}
	if err != nil {
		t.Fatal(err)
	}
	memory, err := syscall.Mmap(int(f.Fd()), 0, pages*PageSize, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(memory)
	if slices.Contains(residentOf(t, memory), 1) {
		bpftest.Need(t, "bpf", errors.New("a disk below /var/tmp"))
	}
	r := rand.New(rand.NewPCG(1, 2))
	buf := make([]byte, PageSize)
	for page := range pages {
		if r.IntN(5) < 3 {
			if _, err := f.ReadAt(buf, int64(page)*PageSize); err != nil {
				t.Fatal(err)
			}
		}
	}
	reader, err := os.Open(f.Name()) // with read-ahead
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	most := mostAhead(t, f)
	var a ahead
	windows, chains := 0, 0
	var held []byte
	var want, late []int // late: what the read before may still bring
	mark := -1
	file := cachedFile{pages: pages, most: max(most, 32), has: func(p int) bool { return held[p] == 1 }, come: func(p int, marked bool) {
		want = append(want, p)
		if marked {
			mark = p
		}
	}}
	// read reads a page, for which rule says what comes, but for some at the end.
	read := func(page, but int, rule func(*ahead, int)) {
		t.Helper()
		held, want, mark = residentOf(t, memory), nil, -1
		rule(&a, page)
		if _, err := reader.ReadAt(buf, int64(page)*PageSize); err != nil {
			t.Fatal(err)
		}
		a.next = page + 1
		got := came(t, memory, held, want, late, but)
		if len(got) < len(want)-but || !slices.Equal(got, want[:min(len(got), len(want))]) {
			t.Fatalf("page %d: %v came, want %v", page, got, want)
		}
		late = want[len(got):]
		if len(want) > 1 {
			windows++
		}
	}
	missing := func(page int) int {
		for held = residentOf(t, memory); held[page] == 1; {
			page++
		}
		return page
	}
	for page := 300; page < pages-300; page += 150 {
		read(missing(page), 0, file.miss)
		if at := mark; at >= 0 && most > 0 {
			if chains%2 > 0 { // then it is not where the reader goes on
				read(missing(page+75), 0, file.miss)
			}
			read(at, 4, file.use) // since 6.16 such a window ends where a large folio does
			chains++
		}
	}
	if windows < 15 || most > 0 && chains < 5 {
		t.Errorf("%d windows, %d chains", windows, chains)
	}
}

// came is which pages of a file have come since they were looked at, except those that only
// the read before was to bring: as many as are wanted, or all but some, for which it waits.
func came(t *testing.T, memory, before []byte, want, late []int, but int) (got []int) {
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		got = nil
		for page, is := range residentOf(t, memory) {
			if is > before[page] && (!slices.Contains(late, page) || slices.Contains(want, page)) {
				got = append(got, page)
			}
		}
		switch since := time.Since(began); {
		case len(got) >= len(want), len(got) >= len(want)-but && since > 50*time.Millisecond, since > 10*time.Second:
			return got
		}
	}
}

// mostAhead is how many pages the kernel reads ahead of a file at most, 0 where its file
// system does not tell.
func mostAhead(t *testing.T, f *os.File) int {
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/sys/class/bdi/%d:%d/read_ahead_kb", "/sys/dev/block/%d:%d/../queue/read_ahead_kb"} {
		if b, err := os.ReadFile(fmt.Sprintf(path, st.Dev>>8&0xfff, st.Dev&0xff|st.Dev>>12&^0xff)); err == nil {
			n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
			return n * 1024 / PageSize
		}
	}
	return 0
}

// What comes on average where each page is cached or not whatever others are.
func TestReadAheadOnAverage(t *testing.T) {
	const pages, most, n = 1 << 16, 32, 100_000
	r := rand.New(rand.NewPCG(5, 6))
	a := (&Trace{Ahead: most}).aroundOf(0)
	for _, part := range []int{16, 32, 48, 60} {
		held := make([]bool, pages)
		for i := range held {
			held[i] = r.IntN(parts) < part
		}
		came, marks := 0, 0
		file := cachedFile{pages: pages, most: most, has: func(p int) bool { return held[p] }, come: func(_ int, marked bool) {
			came++
			if marked {
				marks++
			}
		}}
		for range n {
			page := most + r.IntN(pages-2*most)
			was := held[page]
			held[page] = false
			file.miss(&ahead{next: -9}, page)
			held[page] = was
		}
		missed, marked := float64(came)/n-1, float64(marks)/n
		came, marks = 0, 0
		for range n {
			file.use(&ahead{start: -9}, most+r.IntN(pages-8*most))
		}
		for what, x := range map[string][2]float64{"with a miss": {missed, a.missed[part]}, "marked": {marked, a.marks[part]}, "with a marked page": {float64(came) / n, a.used[part]}, "marked with one": {float64(marks) / n, a.chains[part]}} {
			if math.Abs(x[0]-x[1]) > 0.03*x[0]+0.003 {
				t.Errorf("%d of %d cached: %.3f pages come %s, the model has %.3f", part, parts, x[0], what, x[1])
			}
		}
	}
}

// rows are read at random, six to a page; many never are.
func rows(r *rand.Rand, _ int) int { return r.IntN(500) * r.IntN(500) / 6 }

// runAhead lets a whole cache of a size see reads of a file, and all that the kernel reads
// ahead for three readers.
func runAhead(next pattern, pages, room, n int) (t *Trace, act, hit, disk float64) {
	const most = 32
	r := rand.New(rand.NewPCG(3, 5))
	c := newTwoList(pages, room, 1, false)
	t = &Trace{Pages: pages, Scale: 1, Length: time.Minute, Ahead: most, Asked: []Total{{0, 0}, {60000, uint64(n)}}}
	for page := range pages {
		t.Places = append(t.Places, int64(page))
	}
	at, seen := uint32(0), false
	keep := func(page uint32, kind Kind) {
		if seen {
			t.Events = append(t.Events, Event{Page: page, At: at, Kind: kind, Asked: true})
		}
	}
	cold, came := 0, 0
	file := cachedFile{pages: pages, most: most, has: func(p int) bool { return c.has(uint32(p)) }, come: func(p int, is bool) {
		for c.full() {
			keep(c.evict(), Evicted)
		}
		c.insert(uint32(p), false)
		c.state[p] |= fresh
		if is {
			c.state[p] |= marked
		}
		if seen {
			came++
		}
		keep(uint32(p), Added)
	}}
	var readers [3]ahead
	for i := range 3 * n {
		if i == 2*n {
			seen, act = true, float64(c.lengths[activeList])/float64(room)
		}
		page, a := next(r, i), &readers[i%3]
		at = uint32(60000 * max(0, i-2*n) / n)
		if !file.has(page) {
			file.miss(a, page)
		}
		if c.state[page]&marked != 0 {
			c.state[page] &^= marked
			file.use(a, page)
		}
		if seen && c.state[page]&fresh != 0 {
			cold++
		}
		c.state[page] &^= fresh
		c.mark(uint32(page))
		a.next = page + 1
		keep(uint32(page), Read)
	}
	return t, act, 1 - float64(cold)/float64(n), float64(came) / float64(n)
}

// What a sample of what one cache sees says of others of which more or less is read ahead.
func TestReadAheadOfOtherSizes(t *testing.T) {
	if testing.Short() {
		t.Skip("compares figures")
	}
	const n, table, file = 400_000, 500*500/6 + 1, 32_000
	for _, c := range []struct {
		next        pattern
		pages, room int
		others      []int
	}{
		{rows, table, 15_000, []int{8_000, 15_000, 19_000, 23_000, 27_000}},
		{rows, table, 23_000, []int{8_000, 15_000, 19_000, 23_000, 27_000}},
		{uniform(file), file, 16_000, []int{8_000, 20_000, 24_000, 31_700}},
	} {
		trace, act, _, _ := runAhead(c.next, c.pages, c.room, n)
		memory := func(pages int) int64 { return int64(pages) * PageSize }
		var sizes []int64
		for _, room := range c.others {
			sizes = append(sizes, memory(room))
		}
		curve, err := Work(sampled(trace, 8), Setting{Memory: memory(c.room), Cache: memory(c.room), Room: memory(c.room), Active: act}, sizes)
		if err != nil {
			t.Fatal(err)
		}
		if !curve.ReadsAhead() {
			t.Errorf("%d pages: what is read ahead is not simulated", c.room)
		}
		for i, room := range c.others {
			x := &curve.Points[i]
			_, _, hit, disk := runAhead(c.next, c.pages, room, n)
			if math.Abs(x.Hit-hit) > 0.015 || math.Abs(x.Disk/curve.Asked-disk) > 0.05 || hit < x.Low || hit > x.High {
				t.Errorf("from %d of %d pages to %d: %.3f (%.3f to %.3f) are hits, really %.3f; %.3f from disk, really %.3f", c.room, c.pages, room, x.Hit, x.Low, x.High, hit, x.Disk/curve.Asked, disk)
			}
		}
	}
}
