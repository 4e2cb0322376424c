package resident

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/sample"
	"iocause/internal/source/probe/cachewalk"
	"iocause/internal/source/residency"
	"iocause/internal/table"
)

// Observer looks at the whole page cache. A nil Observer shows what was kept.
// It is used by one goroutine.
type Observer struct {
	// Refused says why kernel programs do not run, nil where they do: then only
	// files that processes hold are known, and closed ones are one sum.
	Refused error

	host   *host.Host
	walker *cachewalk.Walker
}

// Open loads the kernel programs.
func Open(h *host.Host) *Observer {
	o := &Observer{host: h}
	o.walker, o.Refused = cachewalk.Open(h)
	return o
}

// Close unloads them.
func (o *Observer) Close() error {
	if o.walker == nil {
		return nil
	}
	return o.walker.Close()
}

// Snapshot takes the cache by file. progress is told how many inodes or files were
// looked at.
func (o *Observer) Snapshot(ctx context.Context, progress func(n int)) (*Cache, error) {
	c := &Cache{Version: version, At: o.host.Now()}
	if o.walker != nil {
		return c, o.walk(ctx, c, progress)
	}
	return c, o.held(ctx, c, progress)
}

// between takes the size of the cache before and after a snapshot.
func (o *Observer) between(c *Cache, read func() error) (procfile.Meminfo, error) {
	m, before, err := cacheOf(o.host)
	if err != nil {
		return m, err
	}
	if err := read(); err != nil {
		return m, err
	}
	_, after, err := cacheOf(o.host)
	c.Bytes, c.Moved = (before+after)/2, after-before
	return m, err
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

// walk asks the kernel's lists of inodes.
func (o *Observer) walk(ctx context.Context, c *Cache, progress func(n int)) error {
	var r *cachewalk.Result
	_, err := o.between(c, func() (err error) {
		r, err = o.walker.Walk(ctx, func(n uint64) { progress(int(n)) })
		return err
	})
	if err != nil {
		return err
	}
	c.Rest = "not in any list of inodes (asynchronous I/O rings, secret and guest memory), or in per-CPU counters"
	kinds := []cachewalk.Kind{cachewalk.Regular, cachewalk.Memory, cachewalk.Block, cachewalk.Other}
	names := []string{"files", "shmem, tmpfs and memfd", "block devices (buffers)", "directories and file systems' own"}
	sums := make([]Sum, len(kinds))
	for i := range r.Files {
		f := &r.Files[i]
		at := slices.Index(kinds, f.Kind)
		if at < 0 { // huge pages are not in Cached
			continue
		}
		bytes := float64(f.Pages) * float64(os.Getpagesize())
		sums[at].Files++
		sums[at].Bytes += bytes
		c.Files = append(c.Files, File{Size: int64(f.Size), Cached: bytes, Kind: f.Kind.String(), State: stateOf(f),
			id: fileID{f.Dev, f.Ino}, pid: f.PID, walked: f})
	}
	for i := range sums {
		sums[i].Kind = names[i]
		c.Sums = append(c.Sums, sums[i])
	}
	c.Notes = append(c.Notes, fmt.Sprintf("looked at %s of %s in %s, at most %s at a time; by BPF, without a lock",
		sample.Counted(r.Inodes, "inode"), sample.Counted(r.Supers, "file system"), table.Duration(r.Took.Seconds()), table.Duration(r.Longest.Seconds())))
	if r.Restarts > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%s a file system was walked again, because an inode was freed meanwhile", sample.Counted(r.Restarts, "time")))
	}
	if r.Incomplete != "" {
		c.Notes = append(c.Notes, r.Incomplete)
	}
	if lost, err := o.walker.Unopened(); err != nil || lost > 0 {
		c.Notes = append(c.Notes, sample.Counted(lost, "open file")+" could not be recorded, and are shown as closed")
	}
	return nil
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

// held is what can be known without kernel programs: the files that processes
// have open or mapped.
func (o *Observer) held(ctx context.Context, c *Cache, progress func(n int)) error {
	entries, err := os.ReadDir(o.host.Proc())
	if err != nil {
		return fmt.Errorf("listing the processes: %w", err)
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != o.host.Self {
			pids = append(pids, pid)
		}
	}
	var found *residency.Found
	m, err := o.between(c, func() error {
		found = residency.OfProcesses(ctx, o.host, pids, progress)
		return nil
	})
	if err != nil {
		return err
	}
	c.Rest = "files that no process has open, or that may not be examined: their names need BPF programs"
	held := Sum{Kind: "files that processes hold"}
	for i := range found.Files {
		f := &found.Files[i]
		if f.Err != nil {
			continue
		}
		x := File{Path: sample.RawName(f.Path), Size: f.Size, Kind: "file", Cached: float64(f.Pages.Cached) * float64(os.Getpagesize()), State: heldAs(f),
			id: fileID{f.ID.Number(), f.ID.Ino}, pid: f.PID, measured: &f.Pages}
		if f.Memory {
			x.Kind = "tmpfs"
		} else {
			held.Files++
			held.Bytes += x.Cached
		}
		c.Files = append(c.Files, x)
	}
	c.Sums = []Sum{held, {"block devices (buffers)", -1, float64(*m.Buffers)}}
	if m.Shmem != nil {
		c.Sums = append(c.Sums, Sum{"shmem, tmpfs and memfd", -1, float64(*m.Shmem)})
	}
	c.Notes = append([]string{"closed files are one sum: " + o.Refused.Error()}, foundNotes(found)...)
	return nil
}

// Describe fills in of files what costs more than the snapshot: their paths, who
// has them open, and how much is dirty, for which they are opened. progress may
// be nil.
func (o *Observer) Describe(files []*File, progress func(n int)) error {
	if o == nil {
		return nil
	}
	if err := o.name(files); err != nil {
		return err
	}
	for i, f := range files {
		if progress != nil {
			progress(i)
		}
		if f.pid != 0 {
			f.By = sample.RawName(processName(o.host, f.pid))
		}
		f.Dirty = f.dirty()
	}
	return nil
}

// kept is how many files an incident keeps: the rest is in the sums.
const kept = 1000

// Keep leaves the files with most, with their names. It opens none: that could
// wait for the very disk that hangs.
func (o *Observer) Keep(c *Cache) error {
	slices.SortFunc(c.Files, func(x, y File) int { return cmp.Compare(y.Cached, x.Cached) })
	all := len(c.Files)
	c.Files = c.Files[:min(all, kept)]
	c.Left = all - len(c.Files)
	files := make([]*File, len(c.Files))
	for i := range c.Files {
		files[i] = &c.Files[i]
	}
	if err := o.name(files); err != nil {
		return err
	}
	for _, f := range files {
		if f.pid != 0 {
			f.By = sample.RawName(processName(o.host, f.pid))
		}
		if f.measured != nil {
			f.Dirty = f.dirty()
		}
	}
	return nil
}

// name finds the paths of files.
func (o *Observer) name(files []*File) error {
	if o == nil || o.walker == nil {
		return nil
	}
	var walked []*cachewalk.File
	for _, f := range files {
		walked = append(walked, f.walked)
	}
	if err := o.walker.Names(walked); err != nil {
		return err
	}
	for _, f := range files {
		if f.Path = sample.RawName(f.walked.Path); f.Path == "" {
			f.Path = sample.RawName(o.walker.Place(f.walked))
		}
	}
	return nil
}

// dirtyPatience is how long one file may take: of the largest each page is asked for.
const dirtyPatience = time.Second

// dirty asks for the dirty bytes of a file that can be opened, nil where that
// is not known.
func (f *File) dirty() *float64 {
	p := f.measured
	if p == nil {
		if f.walked.Kind != cachewalk.Regular && f.walked.Kind != cachewalk.Memory || f.walked.Partial || f.walked.Links == 0 || f.walked.Path == "" {
			return nil
		}
		ctx, stop := context.WithTimeout(context.Background(), dirtyPatience)
		defer stop()
		now, err := residency.OfSame(ctx, string(f.Path), f.id.ino)
		if err != nil { // gone or hidden meanwhile, or too large: it was not promised
			return nil
		}
		p = &now
	}
	if p.Dirty < 0 {
		return nil
	}
	bytes := float64(p.Dirty) * float64(os.Getpagesize())
	return &bytes
}

// processName is a process for a table: its name and number, the number alone
// when it has ended.
func processName(h *host.Host, pid int) string {
	comm, err := h.CommOf(pid)
	if err != nil {
		return fmt.Sprintf("(%d)", pid)
	}
	return fmt.Sprintf("%s (%d)", comm, pid)
}
