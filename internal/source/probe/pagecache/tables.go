package pagecache

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"iocause/internal/bpf"
	"iocause/internal/sample"
)

type row struct {
	key     pagecacheFileKey
	account pagecacheAccount
}

// emitTables emits the accounts per process, and per process and file.
func (p *Probe) emitTables(phase sample.Phase, into sample.Sink) error {
	self := uint32(p.host.Self)
	processes := map[uint32]*pagecacheAccount{}
	var rows []row
	err := bpf.Each(p.probe.Map("accounts"), func(k pagecacheFileKey, a pagecacheAccount) {
		if k.Tgid == self {
			return
		}
		sum := processes[k.Tgid]
		if sum == nil {
			sum = &pagecacheAccount{}
			processes[k.Tgid] = sum
		}
		add(sum, &a)
		rows = append(rows, row{k, a})
	})
	if err != nil {
		return fmt.Errorf("reading the page-cache accounts: %w", err)
	}
	sizes := map[sample.FileID]uint64{} // not every process's account has it
	for _, r := range rows {
		id := sample.FileID{Dev: r.key.Dev, Ino: r.key.Ino}
		sizes[id] = max(sizes[id], r.account.Size)
	}
	for tgid, a := range processes {
		emitAccount(sample.Entity{PID: int(tgid)}, a, into)
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(weight(&b.account), weight(&a.account)) })
	most := maxRows
	if phase == sample.Lap || p.laps > 1 {
		most = maxLapRows
	}
	if len(rows) > most {
		rows = rows[:most]
	}
	for _, r := range rows {
		id := sample.FileID{Dev: r.key.Dev, Ino: r.key.Ino}
		e := sample.Entity{PID: int(r.key.Tgid), File: id}
		emitAccount(e, &r.account, into)
		if r.account.Longest > 0 && r.account.LongestLap == p.laps-1 {
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
	return errors.Join(p.emitWaits(into), p.probe.Processes(p.names.lookup, into))
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
	return a.Wait/1000 + 100*(a.Cold+a.ColdMapped+a.Reread) + a.Inserted + a.Visits/8 + a.Dirtied +
		(a.DirectReadBytes+a.DirectWriteBytes)/4096 + a.Evicted/8
}

func add(to, a *pagecacheAccount) {
	to.Visits += a.Visits
	to.Calls += a.Calls
	to.Cold += a.Cold
	to.ColdMapped += a.ColdMapped
	to.Demand += a.Demand
	to.Inserted += a.Inserted
	to.WriteAlloc += a.WriteAlloc
	to.Wasted += a.Wasted
	to.Evicted += a.Evicted
	to.Reread += a.Reread
	to.Faults += a.Faults
	to.Major += a.Major
	to.Dirtied += a.Dirtied
	to.Wait += a.Wait
	to.Slow += a.Slow
	for i := range a.WayVisits {
		to.WayVisits[i] += a.WayVisits[i]
		to.WayCold[i] += a.WayCold[i]
	}
	to.DirectReads += a.DirectReads
	to.DirectReadBytes += a.DirectReadBytes
	to.DirectWrites += a.DirectWrites
	to.DirectWriteBytes += a.DirectWriteBytes
}

func emitAccount(e sample.Entity, a *pagecacheAccount, into sample.Sink) {
	for _, c := range [...]struct {
		metric sample.Metric
		value  float64
		source string
	}{
		{sample.CacheVisits, float64(a.Visits), fromGetPages},
		{sample.CacheCalls, float64(a.Calls), fromGetPages},
		{sample.CacheCold, float64(a.Cold), fromGetPages},
		{sample.CacheColdMapped, float64(a.ColdMapped), fromFault},
		{sample.CacheDemand, float64(a.Demand), fromInsert},
		{sample.CacheInserted, float64(a.Inserted), fromInsert},
		{sample.CacheWriteAlloc, float64(a.WriteAlloc), fromDirty},
		{sample.CacheWasted, float64(a.Wasted), fromDelete},
		{sample.CacheEvicted, float64(a.Evicted), fromDelete},
		{sample.CacheReread, float64(a.Reread), fromInsert},
		{sample.CacheFaults, float64(a.Faults), fromFault},
		{sample.CacheMajor, float64(a.Major), fromFault},
		{sample.CacheDirtied, float64(a.Dirtied), fromDirty},
		{sample.CacheWait, float64(a.Wait) / 1e9, fromSwitch},
		{sample.CacheSlow, float64(a.Slow), fromSwitch},
		{sample.DirectReads, float64(a.DirectReads), fromDirect},
		{sample.DirectReadBytes, float64(a.DirectReadBytes), fromDirect},
		{sample.DirectWrites, float64(a.DirectWrites), fromDirect},
		{sample.DirectWriteByte, float64(a.DirectWriteBytes), fromDirect},
	} {
		if c.value != 0 {
			into.PutTotal(c.metric, e, c.value, c.source)
		}
	}
	for i, way := range ways() {
		if n := a.WayVisits[i]; n > 0 {
			e.Class = way
			into.PutTotal(sample.CacheWayVisits, e, float64(n), fromGetPages)
			into.PutTotal(sample.CacheWayCold, e, float64(a.WayCold[i]), fromGetPages)
		}
	}
}
