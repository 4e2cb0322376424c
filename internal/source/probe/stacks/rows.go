package stacks

import (
	"cmp"
	"slices"
	"time"
)

// deepest is DEPTH in rows.bpf.h.
const deepest = 127

// maxRows is how many rows are kept of one window; each takes about 250 bytes.
// Past that the smaller half is added up.
const maxRows = 200_000

// folded is what was added up for want of room.
type folded struct {
	rows  int
	ns    uint64
	count uint64
}

// fold keeps the larger half of too many rows. The others keep their thread
// and kind of wait, and lose their stacks.
func (p *Probe) fold() {
	if len(p.rows) <= maxRows {
		return
	}
	keys := make([]stacksKey, 0, len(p.rows))
	for k := range p.rows {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b stacksKey) int { return cmp.Compare(p.rows[b].Ns, p.rows[a].Ns) })
	for _, k := range keys[maxRows/2:] {
		r := p.rows[k]
		if k.Kernel == lostStack && k.User == lostStack {
			continue
		}
		delete(p.rows, k)
		p.folded.rows++
		p.folded.ns += r.Ns
		p.folded.count += r.Count
		k.Kernel, k.User, k.WakerKernel, k.WakerUser, k.WakerTgid, k.Waker = lostStack, lostStack, 0, 0, 0, [16]int8{}
		p.add(k, *r)
	}
}

// Rows are all rows, the largest first.
func (p *Probe) Rows() []Row {
	rows := make([]Row, 0, len(p.rows))
	for k, r := range p.rows {
		rows = append(rows, p.row(&k, r))
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.TID, b.TID)) })
	return rows
}

// Added are the rows that are new since it was last called.
func (p *Probe) Added() []Row {
	var rows []Row
	for i := range p.added {
		if r := p.rows[p.added[i]]; r != nil {
			rows = append(rows, p.row(&p.added[i], r))
		}
	}
	p.added = nil
	return rows
}

func (p *Probe) row(k *stacksKey, r *stacksRow) Row {
	row := Row{
		TID: int(k.Tid), TGID: int(k.Tgid), Comm: text(k.Comm), Process: text(r.Process), How: How(k.How),
		Kernel: p.stack(k.Kernel), User: p.stack(k.User),
		Time: time.Duration(r.Ns), Queued: time.Duration(min(r.Queued, r.Ns)), Longest: time.Duration(r.Longest), Count: r.Count,
	}
	if row.How&GoesOn != 0 && k.User == noStack {
		row.User = p.walked[row.TID]
	}
	if k.WakerKernel != noStack || k.WakerUser != noStack {
		row.Waker = &Waker{TGID: int(k.WakerTgid), Comm: text(k.Waker), Kernel: p.stack(k.WakerKernel), User: p.stack(k.WakerUser)}
	}
	return row
}

func (p *Probe) stack(id uint64) Stack {
	if id == noStack {
		return Stack{}
	}
	ips, ok := p.stacks[id]
	return Stack{IPs: ips, Cut: len(ips) >= deepest, Lost: !ok, IsWhole: p.whole[id]}
}

func text(comm [16]int8) string {
	b := make([]byte, 0, len(comm))
	for _, c := range comm {
		if c == 0 {
			break
		}
		b = append(b, byte(c))
	}
	return string(b)
}

// Losses is what could not be kept or was not seen, in the whole window.
type Losses struct {
	Threads    uint64        // threads whose waits could not be timed
	Stacks     uint64        // stacks without room: the time is there, the stack is not
	Rows       uint64        // waits or samples without room: in LostTime alone
	LostTime   time.Duration // of Rows
	LostCount  uint64
	Folded     int           // rows that were added up for want of memory
	FoldedTime time.Duration // of Folded: kept, without stacks
	Unmet      uint64        // processes whose mappings could not be asked for at once
	ShortTime  time.Duration // waits that were too short and too few to be kept
	Idle       uint64        // samples of idle processors, no loss
	Missed     uint64        // runs that the kernel left out
	Stalls     uint64        // waits whose user stack was copied and unwound, no loss
	Unstalled  uint64        // waits whose user stack found no room to be copied: it was followed by frame pointers
}

// Losses reads the counters.
func (p *Probe) Losses() (Losses, error) {
	l := Losses{Folded: p.folded.rows, FoldedTime: time.Duration(p.folded.ns)}
	var ns, short uint64
	for name, to := range map[string]*uint64{
		"lost_threads": &l.Threads, "lost_stacks": &l.Stacks, "lost_rows": &l.Rows, "lost_ns": &ns, "lost_count": &l.LostCount,
		"lost_fresh": &l.Unmet, "short_left": &short, "idle_samples": &l.Idle,
		"kept_stalls": &l.Stalls, "unkept_stalls": &l.Unstalled,
	} {
		n, err := p.probe.Counter(name)
		if err != nil {
			return l, err
		}
		*to = n
	}
	l.LostTime, l.ShortTime = time.Duration(ns), time.Duration(short)
	return l, nil
}
