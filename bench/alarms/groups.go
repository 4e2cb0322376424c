package main

import (
	"math"
	"math/rand/v2"
	"time"

	"iocause/internal/detect"
	"iocause/internal/sample"
)

// The groups of processes of a host: two services that the load is of, what backs
// up at night, what runs every Sunday, and a worker that does the bursts and jobs.
const (
	serverGroup   = "server"
	databaseGroup = "database"
	backupGroup   = "backup"
	weeklyGroup   = "weekly"
	workerGroup   = "worker"
)

// Incidents of one group that a host's figures hardly show: they are beside the
// others, and counted apart.
const (
	convoy  = "threads of a group wait for a kernel lock"
	starved = "a group waits ten times as long, at half its work"
	stuck   = "a group gets next to nothing"
)

// service is a group of a load.
type service struct {
	threads, chars, cpu float64 // it has; bytes a second and part of the processors for each load
	waits, commits      float64 // threads that wait for I/O, and for commits, for each load
}

// groups makes what the groups of a machine do. Its figures are drawn beside those
// of the machine, which are the same with it and without it.
type groups struct {
	r                *rand.Rand
	server, database service
	accounts         bool // the kernel accounts waits for I/O; else they are only seen
	vacuum, chore    float64
	planted          []planted
	plantAt          int
	phase            [3]phase // of backup, weekly job and worker
	did              map[detect.Group]detect.Did

	locked map[detect.Group]int // looks in a row in which one that has fallen had threads that wait for a lock
	waited map[detect.Group]int // and for I/O
}

// phase is what a job does for a while, a second and thread.
type phase struct {
	until                  time.Time
	chars, got, cpu, waits float64
}

func newGroups(m *machine, number, weeks int) *groups {
	r := rand.New(rand.NewPCG(9, uint64(number)))
	one := func() service {
		return service{threads: math.Floor(between(r, 2, 64)), chars: math.Exp(between(r, math.Log(3e5), math.Log(3e8))), cpu: between(r, 0.3, 0.6),
			waits: math.Exp(between(r, math.Log(0.1), math.Log(8))), commits: between(r, 0, 3)}
	}
	g := &groups{r: r, server: one(), database: one(), accounts: r.IntN(2) == 0, vacuum: between(r, 0, 24), chore: between(r, 0.4, 3),
		did: map[detect.Group]detect.Did{}, locked: map[detect.Group]int{}, waited: map[detect.Group]int{}}
	// twenty hours after the first of each week: beside none of the others
	for i := 0; i < len(m.planted); i += 2 {
		from := m.planted[i].from.Add(20 * time.Hour)
		kind := []string{convoy, starved, stuck}[r.IntN(3)]
		g.planted = append(g.planted, planted{kind: kind, from: from, to: from.Add(time.Duration(between(r, 5, 60)*6) * step),
			cpu: between(r, 0.3, 0.6), disk: between(r, 4, 16)})
	}
	return g
}

// threads is how many of some that wait on average are seen to, and how long the
// kernel says that they did where it accounts that.
func (g *groups) threads(mean, most float64) float64 {
	seen := 0.0
	for p := g.r.Float64(); p > math.Exp(-mean) && seen < most; p *= g.r.Float64() {
		seen++
	}
	if g.accounts {
		return max(seen, min(mean*math.Exp(0.2*g.r.NormFloat64()), most))
	}
	return seen
}

// at makes what the groups did in the step that ended, of a load that has so much
// of the host.
func (g *groups) at(m *machine, at time.Time, load float64) map[detect.Group]detect.Did {
	clear(g.did)
	hour := float64(m.local.Hour()) + float64(at.Sub(m.hour))/float64(time.Hour)
	others, down, starts := 0.0, false, false
	if hour >= m.backup && hour < m.backup+0.6 {
		others += m.backupDisk
		g.job(backupGroup, 0, at, 1, 1)
	}
	if m.local.Weekday() == time.Sunday && hour >= m.weekly && hour < m.weekly+1.5 {
		others += 0.3
		g.job(weeklyGroup, 1, at, 4, 1)
	}
	for i := m.extraAt; i < len(m.extras) && !m.extras[i].from.After(at); i++ {
		x := &m.extras[i]
		switch {
		case !at.Before(x.to):
		case x.kind == "deployment":
			down = at.Sub(x.from) < x.to.Sub(x.from)*6/10
			starts = !down
		default:
			others += x.disk
			g.job(workerGroup, 2, at, 2, 2*x.disk)
		}
	}
	server := effect{work: 1 - 0.3*min(others, 1), waits: 1 + 4*others, locks: 1}
	database := server
	if down {
		server.work, server.waits, server.locks = 0.001, 0, 0
	} else if starts {
		server.work, server.more = 0.5, 2
	}
	if hour >= g.vacuum && hour < g.vacuum+0.4 { // it reads, beside its work or in place of it
		database.work *= g.chore
		database.more += 1.5
	}
	g.incidents(m, at, &server, &database)
	g.serve(serverGroup, &g.server, load, &server)
	g.serve(databaseGroup, &g.database, load, &database)
	return g.did
}

// effect is what becomes of a service: of its work, of its waits, and what comes
// to these.
type effect struct {
	work, waits, more, locks, moreLocks float64
	starves                             bool // what it waits for does not come
}

// incidents are those that are planted: of the host, and of a group.
func (g *groups) incidents(m *machine, at time.Time, server, database *effect) {
	if m.plantAt < len(m.planted) && !at.Before(m.planted[m.plantAt].from) && at.Before(m.planted[m.plantAt].to) {
		p := &m.planted[m.plantAt]
		height := 1.0
		if p.ramp > 0 {
			height = min(1, float64(at.Sub(p.from))/float64(p.ramp))
		}
		wait := -math.Log(1-p.disk) + p.memory // threads that wait where some do for that part of the time
		if p.kind == busyLimit {
			database.work *= 1 - (1-p.requests)*height
			database.more += 2 * wait * height
		} else {
			for _, e := range []*effect{server, database} {
				e.work *= 1 - (1-p.cpu)*height
				e.more += wait * height
			}
		}
	}
	for g.plantAt < len(g.planted) && !at.Before(g.planted[g.plantAt].to) {
		g.plantAt++
	}
	if g.plantAt >= len(g.planted) || at.Before(g.planted[g.plantAt].from) {
		return
	}
	switch p := &g.planted[g.plantAt]; p.kind {
	case convoy:
		server.work *= p.cpu + 0.4
		server.moreLocks += p.disk
	case starved:
		database.work *= p.cpu
		database.waits *= 10
		database.more += 1
	case stuck:
		database.work, database.starves = 0.01*database.work, true
		database.more += p.disk
	}
}

// serve puts what a service did.
func (g *groups) serve(name string, s *service, load float64, e *effect) {
	io := g.threads(s.waits*load*e.waits+e.more, s.threads)
	locks := g.threads(s.commits*load*e.locks+e.moreLocks, s.threads-io)
	chars := s.chars * load * e.work * math.Exp(0.2*g.r.NormFloat64())
	// Who waits for a page or a commit gets 4 KiB in 20 ms of a slow disk.
	got := chars
	if !e.starves {
		got = max(got, 2e5*(io+locks)*math.Exp(0.3*g.r.NormFloat64()))
	}
	g.did[detect.Group{Comm: name}] = detect.Did{Chars: chars, Got: got, CPU: s.cpu * 4 * load * e.work, Waits: io + locks, Locks: locks}
}

// job puts what a job of some threads did: by phases, in the cache and from the
// disk, of files large and small, of directories, and a sync at the end of a part.
func (g *groups) job(name string, which int, at time.Time, threads, rate float64) {
	p := &g.phase[which]
	if !at.Before(p.until) {
		*p = []phase{
			{chars: 3e8, got: 3e8, cpu: 0.7, waits: 0.1},
			{chars: 6e7, got: 6e7, cpu: 0.1, waits: 0.9},
			{chars: 2e6, got: 2e6, cpu: 0.03, waits: 0.96},
			{chars: 2e4, got: 4e5, cpu: 0.02, waits: 0.97},
			{waits: 1},
		}[g.r.IntN(5)]
		p.until = at.Add(time.Duration(between(g.r, 20, 400)) * time.Second)
		if p.cpu == 0 {
			p.until = at.Add(time.Duration(between(g.r, 5, 60)) * time.Second)
		}
	}
	waits := 0.0
	for range int(threads) {
		if g.r.Float64() < p.waits*min(rate, 1) {
			waits++
		}
	}
	k := threads * min(rate, 1) * math.Exp(0.3*g.r.NormFloat64())
	d := detect.Did{Chars: k * p.chars, Got: k * p.got, CPU: k * p.cpu, Waits: waits}
	if p.cpu == 0 { // a commit is no wait for I/O to the kernel
		d.Locks = waits
	}
	g.did[detect.Group{Comm: name}] = d
}

// limits are what the agent tells of these groups. It looks at the threads of
// those that have fallen or wait far more; here they wait for what they are seen
// to, and only an incident has them wait for a lock.
func (g *groups) limits(works *detect.Works, at time.Time) (all []sample.Limit) {
	fell, waits := works.Add(at, step, g.did)
	convoys := g.plantAt < len(g.planted) && g.planted[g.plantAt].kind == convoy && !at.Before(g.planted[g.plantAt].from)
	for _, w := range waits {
		if !w.Locks || convoys {
			all = append(all, sample.Limit{Kind: sample.LimitWaiting, Of: w.Comm})
		}
	}
	down := map[detect.Group]bool{}
	for _, f := range fell {
		down[f.Group] = true
		count := func(to map[detect.Group]int, holds bool) int {
			if to[f.Group]++; !holds {
				to[f.Group] = 0
			}
			return to[f.Group]
		}
		locks := count(g.locked, convoys && f.Is.Locks > 1)
		io := count(g.waited, f.Is.Waits > f.Is.Locks)
		if locks >= 3 || io >= 7 && f.Before >= 10*time.Minute && detect.Starves(f.Is.Got, f.Is.Waits) {
			all = append(all, sample.Limit{Kind: sample.LimitStandstill, Of: f.Comm})
		}
	}
	for _, to := range []map[detect.Group]int{g.locked, g.waited} {
		for name := range to {
			if !down[name] {
				delete(to, name)
			}
		}
	}
	return all
}
