package agent

import (
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source"
	"iocause/internal/source/probe/pagecache"
)

// pageCacheSource is the name of the source, as the log and the agent's own
// series have it.
const pageCacheSource = "pagecache"

// pageCacheEntry samples the page cache for so long once in every interval.
func pageCacheEntry(sampled time.Duration, every func() time.Duration) source.Entry {
	open := func(h *host.Host) (sample.Source, error) {
		w, err := pagecache.OpenWatch(h, pagecache.Pace{Length: sampled, Every: every})
		if err != nil {
			return nil, err // and no Source that holds a nil
		}
		return w, nil
	}
	return source.Entry{Name: pageCacheSource, Open: open, Metrics: pagecache.WatchMetrics(), Needs: "root, or CAP_BPF and CAP_PERFMON, and Linux 6.12"}
}
