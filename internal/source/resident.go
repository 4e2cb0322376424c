package source

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source/probe/cachewalk"
	"iocause/internal/source/residency"
)

// resident tells how much of the busiest files of a window is in the cache. A
// file that may be opened is asked itself; others, as to a service that has few
// capabilities, are found by a walk of the kernel's inodes. The programs for
// that are loaded when they are first needed. Used by one goroutine.
type resident struct {
	share  int // walks take one part of so many of a processor; 0 is walkShare
	walker *cachewalk.Walker
	next   time.Time // no walk before then
	why    error     // that there is none, ever
}

const (
	walkSource = "inode.i_data.nrpages"
	// walkShare is how much of a processor walks may take by default: the next one
	// waits so many times as long as the last one took. A machine may have millions
	// of inodes.
	walkShare = 20
	// walkPatience is how long one walk may take.
	walkPatience = 3 * time.Second
	// openPatience is how long the files that may be opened take together: where each page
	// is asked for, a file of 1 TiB takes ten seconds. A walk looks at what it holds alone.
	openPatience = 2 * time.Second
)

// see emits cache.resident, and says of which files it cannot.
func (r *resident) see(h *host.Host, w *sample.Window, into sample.Sink) {
	mounts, err := h.Mounts()
	if err != nil { // whether a file's server would have to answer is not known
		w.Gaps = append(w.Gaps, sample.Gap{Source: "residency", Why: fmt.Sprintf("what is cached of the busiest files is not known: %v", err)})
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), openPatience)
	left := residency.Busiest(ctx, mounts, w, into)
	stop()
	if len(left) == 0 || time.Now().Before(r.next) {
		return
	}
	if err := r.walk(h, left, into); err != nil {
		g := sample.Gap{Source: "residency", Why: fmt.Sprintf("%s cannot be opened to see what is cached: %v", sample.Counted(len(left), "busy file"), err)}
		if w.Source(sample.CacheResident) == "" {
			g.Metrics = []sample.Metric{sample.CacheResident}
		}
		w.Gaps = append(w.Gaps, g)
	}
}

func (r *resident) walk(h *host.Host, files []sample.FileID, into sample.Sink) error {
	if r.walker == nil && r.why == nil {
		r.walker, r.why = cachewalk.Open(h)
	}
	if r.why != nil {
		return r.why
	}
	ctx, stop := context.WithTimeout(context.Background(), walkPatience)
	defer stop()
	began := time.Now()
	pages, err := r.walker.Pages(ctx, files)
	r.next = began.Add(time.Duration(cmp.Or(r.share, walkShare)) * time.Since(began))
	if err != nil {
		return err
	}
	for _, id := range files {
		into.Put(sample.CacheResident, sample.Entity{File: id}, float64(pages[id]), walkSource)
	}
	return nil
}

func (r *resident) close() error {
	if r.walker == nil {
		return nil
	}
	return r.walker.Close()
}
