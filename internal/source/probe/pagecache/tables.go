package pagecache

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"iocause/internal/bpf"
	"iocause/internal/sample"
)

type row struct {
	key     pagecacheFileKey
	account pagecacheAccount
	ended   bool // its process, and it is in the map no more
	changed bool // since it was told last
}

func (r *row) file() sample.FileID { return sample.FileID{Dev: r.key.Dev, Ino: r.key.Ino} }

func (r *row) entity() sample.Entity { return sample.Entity{PID: int(r.key.Tgid), File: r.file()} }

// rows are those of the processes that go on. Those of processes that have ended
// are taken out of the map, and kept for the end of the window. What it returns is
// overwritten by the next call.
func (p *Probe) rows() ([]row, error) {
	self, ended := uint32(p.host.Self), p.names.lookup.Ended()
	rows := p.scratch[:0]
	var gone []pagecacheFileKey
	err := bpf.Each(p.probe.Map("accounts"), func(k pagecacheFileKey, a pagecacheAccount) {
		switch {
		case k.Tgid == self:
		case ended(k.Tgid):
			gone = append(gone, k)
		default:
			rows = append(rows, row{key: k, account: a})
		}
	})
	if p.scratch = rows; cap(rows) > mostScratch {
		p.scratch = nil
	}
	for _, k := range gone {
		delete(p.told, k)
		a, ok, e := bpf.Take[pagecacheFileKey, pagecacheAccount](p.probe.Map("accounts"), k)
		if err = errors.Join(err, e); ok {
			p.ended = append(p.ended, row{key: k, account: a, ended: true})
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the page-cache accounts: %w", err)
	}
	return rows, nil
}

// sweep takes out of the maps what has ended, between the ends of a window.
func (p *Probe) sweep(into sample.Sink) error {
	rows, err := p.rows()
	ended := p.names.lookup.Ended()
	_, waitErr := p.waitRows(func(tgid uint32, _ *pagecacheWaitTimes) bool { return ended(tgid) }, into)
	return errors.Join(err, waitErr, p.emitTimed(sample.Tick, into), p.forgetPaths(rows, len(rows)+len(p.ended)), p.probe.Processes(p.names.lookup, into))
}

// fewPaths is a quarter of what their map holds: as long as there are fewer, it
// is enough to look for paths that nobody needs every few seconds.
const fewPaths = 4096

// forgetPaths takes the paths of files out of their map that no account has
// needed for two sweeps: one that is just being made may find its file's path
// there. used is how many rows there were since the sweep before.
func (p *Probe) forgetPaths(rows []row, used int) error {
	if now := p.host.Now(); used > fewPaths || p.paths > fewPaths || now.Sub(p.forgot) >= forgetEvery {
		p.forgot = now
	} else {
		return nil
	}
	needed := map[pagecacheInodeKey]bool{}
	for _, all := range [...][]row{rows, p.ended} {
		for i := range all {
			needed[pagecacheInodeKey{Ino: all[i].key.Ino, Dev: uint64(all[i].key.Dev)}] = true
		}
	}
	before := p.idle
	p.idle, p.paths = map[pagecacheInodeKey]bool{}, 0
	err := bpf.Each(p.probe.Map("paths"), func(k pagecacheInodeKey, _ pagecachePath) {
		p.paths++
		if !needed[k] {
			p.idle[k] = true
		}
	})
	for k := range p.idle {
		if before[k] {
			_, _, e := bpf.Take[pagecacheInodeKey, pagecachePath](p.probe.Map("paths"), k)
			err = errors.Join(err, e)
			delete(p.idle, k)
		}
	}
	if err != nil {
		return fmt.Errorf("reading the paths of files: %w", err)
	}
	return nil
}

// who is a process that rows are of.
type who struct {
	tgid  uint32
	ended bool
}

// emitTables emits the accounts per process, and per process and file. Of most
// rows nothing has changed since the window before: the sums that are known of
// them stand.
func (p *Probe) emitTables(phase sample.Phase, into sample.Sink) error {
	live, err := p.rows()
	if err != nil {
		return err
	}
	rows := live
	if len(p.ended) > 0 {
		rows = slices.Concat(live, p.ended)
	}
	processes, any := p.changes(rows)
	touches, err := p.touches()
	if err != nil {
		return err
	}
	touches.emitProcesses(into)
	sizes := map[sample.FileID]uint64{} // not every process's account has it
	for i := range rows {
		r := &rows[i]
		if sum := processes[who{r.key.Tgid, r.ended}]; sum != nil {
			add(sum, &r.account)
		}
		if any {
			sizes[r.file()] = max(sizes[r.file()], r.account.Size)
		}
	}
	for id, a := range processes {
		p.emitAccount(sample.Entity{PID: int(id.tgid)}, a, putting(into, id.ended))
	}
	most := maxRows
	if phase == sample.IntervalEnd || p.windows > 1 {
		most = maxLapRows
	}
	in := order(rows)
	for _, i := range in[min(most, len(in)):] {
		if r := &rows[i]; r.ended { // it may have been told of before
			p.emitAccount(r.entity(), &r.account, func(m sample.Metric, e sample.Entity, _ float64, source string) {
				into.PutLast(m, e, 0, source)
			})
		} else {
			delete(p.told, r.key) // it was not told of
		}
	}
	for _, i := range in[:min(most, len(in))] {
		r := &rows[i]
		touches.emitFile(r.key, into)
		if !r.changed {
			continue
		}
		id, e := r.file(), r.entity()
		p.emitAccount(e, &r.account, putting(into, r.ended))
		if r.account.Longest > 0 && r.account.LongestWindow == p.windows-1 {
			into.Put(sample.CacheLongest, e, float64(r.account.Longest)/1e9, fromSwitch)
		}
		path, err := p.path(r.key)
		if err != nil {
			continue // lost_paths says how many
		}
		if size := sizes[id]; size > 0 {
			path.Size = int64(size)
		}
		into.PutFile(id, path)
	}
	p.ended = nil
	return errors.Join(p.forgetPaths(live, len(rows)), p.emitWaits(into), p.emitAsked(phase, into), p.emitTimed(phase, into), p.probe.Processes(p.names.lookup, into))
}

// changes finds the rows that are not as they were told last, and makes room for
// the sums of their processes. any tells whether there is one.
func (p *Probe) changes(rows []row) (processes map[who]*pagecacheAccount, any bool) {
	processes = map[who]*pagecacheAccount{}
	for i := range rows {
		r := &rows[i]
		sum := maphash.Comparable(p.seed, r.account)
		before, known := p.told[r.key]
		if r.changed = r.ended || !known || before != sum; !r.changed {
			continue
		}
		any = true
		if !r.ended {
			p.told[r.key] = sum
		}
		// a process of which some rows have ended and some have not is told as both
		for _, ended := range [...]bool{r.ended, false} {
			if id := (who{r.key.Tgid, ended}); processes[id] == nil {
				processes[id] = &pagecacheAccount{}
			}
		}
	}
	return processes, any
}

// order is the places of the rows, those that matter most first.
func order(rows []row) []int {
	weights, places := make([]uint64, len(rows)), make([]int, len(rows))
	for i := range rows {
		weights[i], places[i] = weight(&rows[i].account), i
	}
	slices.SortFunc(places, func(a, b int) int { return cmp.Compare(weights[b], weights[a]) })
	return places
}

func (p *Probe) path(k pagecacheFileKey) (sample.File, error) {
	var raw pagecachePath
	if err := p.probe.Map("paths").Lookup(pagecacheInodeKey{Ino: k.Ino, Dev: uint64(k.Dev)}, &raw); err != nil {
		return sample.File{}, err
	}
	return p.names.file(k.Dev, &raw), nil
}

// weight orders rows by how much they matter: waiting first, then disk pages,
// then cache traffic.
func weight(a *pagecacheAccount) uint64 {
	return a.Wait/1000 + 100*(a.Misses+a.MappedMisses+a.Reread) + a.Inserted + a.Accesses/8 + a.Dirtied +
		(a.DirectReadBytes+a.DirectWriteBytes)/4096 + (a.Evicted+a.Dropped)/8
}

func add(to, a *pagecacheAccount) {
	to.Accesses += a.Accesses
	to.Calls += a.Calls
	to.Misses += a.Misses
	to.MappedMisses += a.MappedMisses
	to.Demand += a.Demand
	to.Inserted += a.Inserted
	to.WriteAlloc += a.WriteAlloc
	to.Wasted += a.Wasted
	to.Evicted += a.Evicted
	to.Dropped += a.Dropped
	to.Reread += a.Reread
	to.Faults += a.Faults
	to.Major += a.Major
	to.Dirtied += a.Dirtied
	to.Wait += a.Wait
	to.Slow += a.Slow
	for i := range a.WayAccesses {
		to.WayAccesses[i] += a.WayAccesses[i]
		to.WayMisses[i] += a.WayMisses[i]
	}
	to.DirectReads += a.DirectReads
	to.DirectReadBytes += a.DirectReadBytes
	to.DirectWrites += a.DirectWrites
	to.DirectWriteBytes += a.DirectWriteBytes
}

// putting is how a total is told: for the last time where it has ended.
func putting(into sample.Sink, ended bool) bpf.Total {
	if ended {
		return into.PutLast
	}
	return into.PutTotal
}

func (p *Probe) emitAccount(e sample.Entity, a *pagecacheAccount, put bpf.Total) {
	for _, c := range [...]struct {
		metric sample.Metric
		value  float64
		source string
	}{
		{sample.CacheAccesses, float64(a.Accesses), p.from.reads},
		{sample.CacheCalls, float64(a.Calls), p.from.reads},
		{sample.CacheMisses, float64(a.Misses), p.from.reads},
		{sample.CacheMappedMisses, float64(a.MappedMisses), p.from.faults},
		{sample.CacheDemand, float64(a.Demand), p.from.inserts},
		{sample.CacheInserted, float64(a.Inserted), p.from.inserts},
		{sample.CacheWriteAlloc, float64(a.WriteAlloc), p.from.dirty},
		{sample.CacheWasted, float64(a.Wasted), fromDelete},
		{sample.CacheEvicted, float64(a.Evicted), fromDelete},
		{sample.CacheDropped, float64(a.Dropped), fromDelete},
		{sample.CacheReread, float64(a.Reread), p.from.inserts},
		{sample.CacheFaults, float64(a.Faults), p.from.faults},
		{sample.CacheMajor, float64(a.Major), p.from.faults},
		{sample.CacheDirtied, float64(a.Dirtied), p.from.dirty},
		{sample.CacheWait, float64(a.Wait) / 1e9, fromSwitch},
		{sample.CacheSlow, float64(a.Slow), fromSwitch},
		{sample.DirectReads, float64(a.DirectReads), p.from.direct},
		{sample.DirectReadBytes, float64(a.DirectReadBytes), p.from.direct},
		{sample.DirectWrites, float64(a.DirectWrites), p.from.direct},
		{sample.DirectWriteByte, float64(a.DirectWriteBytes), p.from.direct},
	} {
		if c.value != 0 {
			put(c.metric, e, c.value, c.source)
		}
	}
	for i, way := range ways() {
		if n := a.WayAccesses[i]; n > 0 {
			e.Class = way
			put(sample.CacheWayAccesses, e, float64(n), p.from.reads)
			put(sample.CacheWayMisses, e, float64(a.WayMisses[i]), p.from.reads)
		}
	}
}
