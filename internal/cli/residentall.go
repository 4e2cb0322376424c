package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"

	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/sample"
	"iocause/internal/source/probe/cachewalk"
	"iocause/internal/source/residency"
	"iocause/internal/table"
)

// wholeCache is the page cache by file, as one look found it.
type wholeCache struct {
	files []cachedFile
	// cache is Cached + Buffers of /proc/meminfo, bytes: the mean of before and
	// after the walk.
	cache, moved float64
	sums         []cacheSum
	rest         string // what the remainder may be
	notes        []string
}

// cachedFile is one file of it, wherever it was found.
type cachedFile struct {
	id       fileKey
	path     string // "" until it is asked for
	size     int64
	cached   float64 // bytes
	kind     string
	state    string
	pid      int
	walked   *cachewalk.File // nil without kernel programs
	measured *residency.Pages
	kept     *keptFile // evidence of an incident
}

type fileKey struct {
	dev host.DevNumber
	ino uint64
}

type cacheSum struct {
	kind  string
	files int // -1: not known
	bytes float64
}

// residentAll is resident --all.
func (a *app) residentAll(ctx context.Context, o *residentOptions, rest []string) error {
	w, refused := cachewalk.Open(a.host)
	if refused == nil {
		defer w.Close()
	} else {
		fmt.Fprintf(a.stderr, "iocause: %v; so only files that processes hold are listed, and closed ones are one sum\n", refused)
	}
	take := func(ctx context.Context) (*wholeCache, error) {
		if w == nil {
			return a.heldCache(refused)
		}
		return a.walkCache(ctx, w)
	}
	show := func(p *printer, now *wholeCache, before **wholeCache) ([]table.Table, error) {
		var old *wholeCache
		if before != nil {
			old = *before
		}
		return a.cacheTables(p, o, w, now, old)
	}
	return looks(ctx, a, &o.intervals, rest, take, show)
}

// cacheOf reads Cached + Buffers.
func cacheOf(h *host.Host) (procfile.Meminfo, float64, error) {
	m, err := procfile.ReadMeminfo(h)
	if err != nil {
		return m, 0, err
	}
	if m.Cached == nil || m.Buffers == nil {
		return m, 0, fmt.Errorf("reading the size of the page cache: /proc/meminfo lacks Cached or Buffers")
	}
	return m, float64(*m.Cached + *m.Buffers), nil
}

// walkCache asks the kernel's lists of inodes.
func (a *app) walkCache(ctx context.Context, w *cachewalk.Walker) (*wholeCache, error) {
	line := a.newCounting("inodes looked at")
	defer line.Erase()
	_, before, err := cacheOf(a.host)
	if err != nil {
		return nil, err
	}
	r, err := w.Walk(ctx, func(n uint64) { line.update(int(n)) })
	if err != nil {
		return nil, err
	}
	_, after, err := cacheOf(a.host)
	if err != nil {
		return nil, err
	}
	c := &wholeCache{cache: (before + after) / 2, moved: after - before,
		rest: "not in any list of inodes (rings of asynchronous I/O, secret and guest memory), or counted by a processor and not yet added up"}
	kinds := []cachewalk.Kind{cachewalk.Regular, cachewalk.Memory, cachewalk.Block, cachewalk.Other}
	names := []string{"files", "shmem, tmpfs and memfd", "block devices (buffers)", "directories and file systems' own"}
	sums := make([]cacheSum, len(kinds))
	for i := range r.Files {
		f := &r.Files[i]
		at := slices.Index(kinds, f.Kind)
		if at < 0 { // huge pages are not in Cached
			continue
		}
		bytes := float64(f.Pages) * float64(os.Getpagesize())
		sums[at].files++
		sums[at].bytes += bytes
		c.files = append(c.files, cachedFile{id: fileKey{f.Dev, f.Ino}, size: int64(f.Size), cached: bytes,
			kind: f.Kind.String(), state: stateOf(f), pid: f.PID, walked: f})
	}
	for i := range sums {
		sums[i].kind = names[i]
		c.sums = append(c.sums, sums[i])
	}
	c.notes = append(c.notes, fmt.Sprintf("looked at %s of %s in %s, at most %s at a time; by BPF, without a lock",
		sample.Counted(r.Inodes, "inode"), sample.Counted(r.Supers, "file system"), table.Duration(r.Took.Seconds()), table.Duration(r.Longest.Seconds())))
	if r.Restarts > 0 {
		c.notes = append(c.notes, fmt.Sprintf("%s what the walk stood on was freed, and a file system was begun again", sample.Counted(r.Restarts, "time")))
	}
	if r.Incomplete != "" {
		c.notes = append(c.notes, r.Incomplete)
	}
	if lost, err := w.Unopened(); err != nil || lost > 0 {
		c.notes = append(c.notes, sample.Counted(lost, "open file")+" could not be noted, and shown as closed")
	}
	return c, nil
}

// stateOf says who keeps a file.
func stateOf(f *cachewalk.File) string {
	state := "closed"
	switch {
	case f.PID != 0 && f.Mapped:
		state = "open,mapped"
	case f.PID != 0:
		state = "open"
	case f.Mapped:
		state = "mapped"
	}
	if f.Links == 0 && f.Kind != cachewalk.Block && f.Kind != cachewalk.Other {
		state += ",deleted"
	}
	return state
}

// heldCache is what can be known without kernel programs: the files that
// processes have open or mapped.
func (a *app) heldCache(refused error) (*wholeCache, error) {
	line := a.newCounting("files measured")
	defer line.Erase()
	entries, err := os.ReadDir(a.host.Proc())
	if err != nil {
		return nil, fmt.Errorf("listing the processes: %w", err)
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != a.host.Self {
			pids = append(pids, pid)
		}
	}
	m, before, err := cacheOf(a.host)
	if err != nil {
		return nil, err
	}
	found := residency.OfProcesses(a.host, pids, line.update)
	_, after, err := cacheOf(a.host)
	if err != nil {
		return nil, err
	}
	c := &wholeCache{cache: (before + after) / 2, moved: after - before,
		rest: "files that no process holds, or none that may be looked into: their names need kernel programs"}
	held := cacheSum{kind: "files that processes hold"}
	for i := range found.Files {
		f := &found.Files[i]
		if f.Err != nil {
			continue
		}
		x := cachedFile{id: fileKey{ino: f.ID.Ino, dev: statDev(f.ID.Dev)}, path: f.Path, size: f.Size, kind: "file",
			cached: float64(f.Pages.Cached) * float64(os.Getpagesize()), state: heldAs(f), pid: f.PID, measured: &f.Pages}
		if f.Memory {
			x.kind = "tmpfs"
		} else {
			held.files++
			held.bytes += x.cached
		}
		c.files = append(c.files, x)
	}
	c.sums = []cacheSum{held, {"block devices (buffers)", -1, float64(*m.Buffers)}}
	if m.Shmem != nil {
		c.sums = append(c.sums, cacheSum{"shmem, tmpfs and memfd", -1, float64(*m.Shmem)})
	}
	c.notes = append([]string{"closed files are one sum: " + refused.Error()}, foundNotes(found)...)
	return c, nil
}

// cacheTables are the tables of resident --all.
func (a *app) cacheTables(p *printer, o *residentOptions, w *cachewalk.Walker, now, old *wholeCache) ([]table.Table, error) {
	files := table.Table{Key: "files", Columns: []table.Column{
		{Key: "cached_bytes", Head: "CACHED", Unit: "bytes"},
		{Key: "cache_share", Head: "OF ALL", Unit: "ratio", Drop: 5},
		{Key: "cached_share", Head: "IN", Unit: "ratio"},
		{Key: "size_bytes", Head: "SIZE", Unit: "bytes", Drop: 4},
	}}
	was := map[fileKey]float64{}
	if old != nil {
		files.Columns = append(files.Columns, table.Column{Key: "change_bytes", Head: "CHANGE", Unit: "bytes"})
		for _, f := range old.files {
			was[f.id] += f.cached
		}
	}
	files.Columns = append(files.Columns,
		table.Column{Key: "dirty_bytes", Head: "DIRTY", Unit: "bytes", Drop: 6},
		table.Column{Key: "kind", Head: "KIND", Drop: 8},
		table.Column{Key: "state", Head: "STATE"},
		table.Column{Key: "by", Head: "OPENED BY", Drop: 7},
		table.Column{Key: "file", Head: "FILE", Flex: true})
	chosen, note, err := a.chooseCached(w, o.files, now.files)
	if err != nil {
		return nil, err
	}
	files.Notes = append(files.Notes, note...)
	shown := preselect(chosen, was, o)
	files.Left = len(chosen) - len(shown)
	if err := a.nameAll(w, shown); err != nil {
		return nil, err
	}
	line := a.newCounting("files looked up")
	defer line.Erase()
	for i, f := range shown {
		line.update(i)
		row := []table.Cell{
			table.Num(f.cached), table.Maybe(f.cached/now.cache, now.cache > 0),
			table.Maybe(f.cached/float64(f.size), f.size > 0 && f.kind != "block device"),
			table.Maybe(float64(f.size), f.size > 0),
		}
		if old != nil {
			row = append(row, table.Num(f.cached-was[f.id]))
		}
		by := table.None()
		if who := a.openedBy(f); who != "" {
			by = table.Str(who)
		}
		files.Rows = append(files.Rows, append(row, table.Maybe(dirtyOf(f)), table.Str(f.kind), table.Str(f.state), by, table.Str(f.path)))
	}
	tables := []table.Table{files, sumsTable(now, old)}
	if o.format == "text" {
		withoutZeros(tables[:1], "dirty_bytes")
		if p.style.Width < roomy {
			tables[0].Without("cache_share", "kind", "by")
		}
	}
	return tables, nil
}

// chooseCached leaves out files that are not asked for, and says how much the
// others are. Asking by name needs the names of all.
func (a *app) chooseCached(w *cachewalk.Walker, f *fileFilter, all []cachedFile) (some []cachedFile, note []string, err error) {
	if !f.narrow() {
		return all, nil, nil
	}
	var on []*cachedFile
	for i := range all {
		if x := &all[i]; f.on(x.id.dev) || x.walked != nil && x.walked.Kind == cachewalk.Block {
			on = append(on, x)
		}
	}
	if err := a.nameAll(w, on); err != nil {
		return nil, nil, err
	}
	bytes := 0.0
	for _, x := range on {
		if x.walked != nil && x.walked.Kind == cachewalk.Block && f.device != "" {
			if disk, err := diskOf(a.host, x.path); err != nil || disk != f.device {
				continue
			}
		}
		if f.named(x.path) {
			some = append(some, *x)
			bytes += x.cached
		}
	}
	return some, []string{fmt.Sprintf("%d of %s asked for, with %s of the cache", len(some), sample.Counted(len(all), "file"), table.Value(bytes, "bytes"))}, nil
}

// preselect leaves out what --top would leave out anyway, where that can be
// told before files have names: finding names and dirty pages takes longer
// than the walk.
func preselect(all []cachedFile, was map[fileKey]float64, o *residentOptions) []*cachedFile {
	shown := make([]*cachedFile, len(all))
	for i := range all {
		shown[i] = &all[i]
	}
	by := map[string]func(f *cachedFile) float64{
		"cached_bytes": func(f *cachedFile) float64 { return f.cached },
		"cache_share":  func(f *cachedFile) float64 { return f.cached },
		"size_bytes":   func(f *cachedFile) float64 { return float64(f.size) },
		"change_bytes": func(f *cachedFile) float64 { return f.cached - was[f.id] },
	}[o.sort]
	if by == nil || o.top == 0 || len(shown) <= o.top {
		return shown
	}
	slices.SortFunc(shown, func(a, b *cachedFile) int { return cmp.Compare(by(b), by(a)) })
	return shown[:o.top]
}

// nameAll finds the paths of files.
func (a *app) nameAll(w *cachewalk.Walker, files []*cachedFile) error {
	if w == nil {
		return nil
	}
	var walked []*cachewalk.File
	for _, f := range files {
		walked = append(walked, f.walked)
	}
	if err := w.Names(walked); err != nil {
		return err
	}
	for _, f := range files {
		if f.path = f.walked.Path; f.path == "" {
			f.path = w.Place(f.walked)
		}
	}
	return nil
}

// dirtyOf asks for the dirty bytes of a file that can be opened.
func dirtyOf(f *cachedFile) (bytes float64, known bool) {
	if f.kept != nil {
		if f.kept.Dirty == nil {
			return 0, false
		}
		return *f.kept.Dirty, true
	}
	p := f.measured
	if p == nil {
		if f.walked.Kind != cachewalk.Regular && f.walked.Kind != cachewalk.Memory || f.walked.Partial || f.walked.Links == 0 || f.walked.Path == "" {
			return 0, false
		}
		now, err := residency.OfSame(f.path, f.id.ino)
		if err != nil { // gone or hidden meanwhile: it was not promised
			return 0, false
		}
		p = &now
	}
	return float64(p.Dirty) * float64(os.Getpagesize()), p.Dirty >= 0
}

// sumsTable adds up to what /proc/meminfo says.
func sumsTable(now, old *wholeCache) table.Table {
	t := table.Table{Key: "cache", Whole: true, Columns: []table.Column{
		{Key: "bytes", Head: "CACHED", Unit: "bytes"}, {Key: "share", Head: "OF ALL", Unit: "ratio"}}}
	if old != nil {
		t.Columns = append(t.Columns, table.Column{Key: "change_bytes", Head: "CHANGE", Unit: "bytes"})
	}
	t.Columns = append(t.Columns, table.Column{Key: "files", Head: "FILES", Unit: "count"}, table.Column{Key: "kind", Head: "KIND", Flex: true})
	row := func(kind string, files int, bytes, was float64) {
		cells := []table.Cell{table.Num(bytes), table.Maybe(bytes/now.cache, now.cache > 0)}
		if old != nil {
			cells = append(cells, table.Num(bytes-was))
		}
		t.Rows = append(t.Rows, append(cells, table.Maybe(float64(files), files >= 0), table.Str(kind)))
	}
	for i, s := range now.sums {
		was := 0.0
		if old != nil && i < len(old.sums) {
			was = old.sums[i].bytes
		}
		row(s.kind, s.files, s.bytes, was)
	}
	was := 0.0
	if old != nil {
		was = old.remainder()
	}
	row("remainder", -1, now.remainder(), was)
	if old != nil {
		was = old.cache
	}
	row("Cached + Buffers of /proc/meminfo", -1, now.cache, was)
	t.Notes = append(t.Notes, "remainder: "+now.rest)
	if now.moved != 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("the cache changed by %s during the look; its mean is taken", table.Value(now.moved, "bytes")))
	}
	t.Notes = append(t.Notes, now.notes...)
	return t
}

// remainder is what no file was found for; less than nothing when files were
// counted that have gone since.
func (c *wholeCache) remainder() float64 {
	rest := c.cache
	for _, s := range c.sums {
		rest -= s.bytes
	}
	return rest
}
