//go:build !light

package series

import (
	"cmp"
	"path/filepath"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/tsdb"
)

// room decides which blocks of a tier go: those that are older than they are
// kept, and the oldest while all take more than they may.
type room struct {
	dir     string
	keep    int64                    // milliseconds
	most    int64                    // bytes of blocks and log; 0 is no limit
	dropped func(from, to time.Time) // for want of room; nil: nobody asks
	log     int64                    // bytes: the most that the log took
}

// reserve is the part of the room that is left free: the log grows until there
// is a block that can take its place.
const reserve = 16

// gone is a tsdb.BlocksToDeleteFunc. The engine's own counts what was just
// merged twice, and says of nothing that it went for want of room.
func (r *room) gone(blocks []*tsdb.Block) map[ulid.ULID]struct{} {
	blocks = slices.Clone(blocks)
	slices.SortFunc(blocks, func(a, b *tsdb.Block) int { return cmp.Compare(b.Meta().MaxTime, a.Meta().MaxTime) })
	merged := map[ulid.ULID]bool{}
	for _, b := range blocks {
		for _, p := range b.Meta().Compaction.Parents {
			merged[p.ULID] = true
		}
	}
	out, short := map[ulid.ULID]struct{}{}, []tsdb.BlockMeta{}
	r.log = max(r.log, r.logNow())
	size, full := r.log+r.most/reserve, false
	for _, b := range blocks {
		m := b.Meta()
		switch {
		case merged[m.ULID]: // the engine removes it
		case m.Compaction.Deletable, blocks[0].Meta().MaxTime-m.MaxTime >= r.keep:
			out[m.ULID] = struct{}{}
		default:
			size += b.Size()
			if full = full || r.most > 0 && size > r.most; !full {
				continue
			}
			out[m.ULID] = struct{}{}
			short = append(short, m)
		}
	}
	for _, m := range slices.Backward(short) {
		if r.dropped != nil {
			r.dropped(fromMilli(m.MinTime), fromMilli(m.MaxTime))
		}
	}
	return out
}

// logNow is what the log beside the blocks takes: it counts, though nothing of
// it can go.
func (r *room) logNow() int64 {
	sum := int64(0)
	for _, name := range []string{"wal", "wbl", "chunks_head"} {
		sum += diskUse(filepath.Join(r.dir, name))
	}
	return sum
}
