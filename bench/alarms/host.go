package main

import (
	"math"
	"math/rand/v2"
	"time"
)

// step is the time from one sample to the next.
const step = 10 * time.Second

// planted is an incident that is known to be there.
type planted struct {
	kind     string
	from, to time.Time
	cpu      float64 // what is left of the processors' work
	requests float64 // what is left of the disks' requests, or comes to them
	memory   float64 // what is added to the pressures
	disk     float64
	ramp     time.Duration // until it is at its full height
}

// kinds of incidents, with what they do at the least and at the most.
func kinds() []struct {
	name                        string
	cpu, memory, disk, requests [2]float64
	ramp, shortest, longer      time.Duration
} {
	type k = struct {
		name                        string
		cpu, memory, disk, requests [2]float64
		ramp, shortest, longer      time.Duration
	}
	return []k{
		{"cache squeezed", [2]float64{0.2, 0.6}, [2]float64{0.15, 0.6}, [2]float64{0.2, 0.6}, [2]float64{0.8, 3}, time.Minute, 10 * time.Minute, 60 * time.Minute},
		{"memory leak, swapping", [2]float64{0.3, 0.8}, [2]float64{0.25, 0.7}, [2]float64{0.1, 0.4}, [2]float64{0.8, 3}, 10 * time.Minute, 20 * time.Minute, 60 * time.Minute},
		{"noisy neighbour", [2]float64{0.3, 0.6}, [2]float64{0, 0}, [2]float64{0.25, 0.6}, [2]float64{0.7, 3}, 0, 10 * time.Minute, 60 * time.Minute},
		{"device slow", [2]float64{0.2, 0.5}, [2]float64{0, 0}, [2]float64{0.3, 0.7}, [2]float64{0.2, 0.6}, 0, 10 * time.Minute, 60 * time.Minute},
	}
}

// busyLimit is one of a host whose processors have other work: a limit of I/O
// holds up one program of many, which has most of the disk's requests. It comes
// beside the others, so that these are the same with it and without it.
const busyLimit = "I/O limit, processors busy"

// extra is something harmless that adds to the load for a while.
type extra struct {
	kind              string
	from, to          time.Time
	cpu, memory, disk float64
	requests          float64 // for each disk: few large ones, or many
}

// machine makes the samples of one simulated host: load by the hour of the
// day and the week, growth, noise that lasts for seconds, minutes and hours,
// a nightly backup, a weekly job, a holiday, restarts, bursts and jobs at any
// time, and planted incidents.
type machine struct {
	r   *rand.Rand
	loc *time.Location

	own *rand.Rand // of requests, which change nothing of the rest

	base, amplitude, peak, width, weekend, growth float64
	diskPer, memoryPer, noise, requestsPer        float64
	backup, weekly                                float64 // hours of the day
	backupDisk, backupMemory                      float64
	holiday                                       int // day from the start

	start    time.Time
	fast     float64
	slow     float64
	slowest  float64
	mix      float64 // of requests, by what the load does
	planted  []planted
	extras   []extra
	extraAt  int
	plantAt  int
	load     float64 // of the newest sample
	restart  time.Time
	hour     time.Time
	local    time.Time // of hour
	dayshape [2]float64
}

func between(r *rand.Rand, lo, hi float64) float64 { return lo + (hi-lo)*r.Float64() }

func newMachine(number, weeks int, start time.Time, loc *time.Location) *machine {
	r := rand.New(rand.NewPCG(7, uint64(number)))
	m := &machine{r: r, loc: loc, start: start,
		base: between(r, 0.05, 0.25), amplitude: between(r, 0.15, 0.5), peak: between(r, 10, 16), width: between(r, 3, 6),
		weekend: between(r, 0.2, 0.9), growth: between(r, -0.005, 0.02),
		diskPer: between(r, 0.1, 0.5), memoryPer: between(r, 0.002, 0.05), noise: between(r, 0.05, 0.2),
		backup: between(r, 0, 5), weekly: between(r, 1, 6), backupDisk: between(r, 0.1, 0.4), backupMemory: between(r, 0, 0.04),
		holiday: 7*(weeks/2) + r.IntN(5)}
	m.own = rand.New(rand.NewPCG(8, uint64(number)))
	m.requestsPer = between(m.own, 200, 3000)
	m.restart = start.Add(time.Duration(r.Int64N(int64(weeks) * 7 * 24 * int64(time.Hour))))
	m.plantIncidents(weeks)
	m.addExtras(weeks)
	return m
}

// plantIncidents puts one into every week but the first.
func (m *machine) plantIncidents(weeks int) {
	all := kinds()
	for w := 1; w < weeks; w++ {
		k := all[m.r.IntN(len(all))]
		from := m.start.Add(time.Duration(w)*7*24*time.Hour + time.Duration(m.r.Int64N(int64(6*24*time.Hour))) + 6*time.Hour)
		from = from.Truncate(step)
		length := k.shortest + time.Duration(m.r.Int64N(int64(k.longer-k.shortest)))
		m.planted = append(m.planted, planted{kind: k.name, from: from, to: from.Add(length.Truncate(step)), ramp: k.ramp,
			cpu: between(m.r, k.cpu[0], k.cpu[1]), memory: between(m.r, k.memory[0], k.memory[1]), disk: between(m.r, k.disk[0], k.disk[1]),
			requests: between(m.own, k.requests[0], k.requests[1])})
		// twelve hours after the other
		from = from.Add(12 * time.Hour)
		m.planted = append(m.planted, planted{kind: busyLimit, from: from, to: from.Add(time.Duration(between(m.own, 10, 60)*6) * step),
			cpu: between(m.own, 0.9, 1.1), disk: between(m.own, 0.3, 0.7), requests: between(m.own, 0.1, 0.5)})
	}
}

// addExtras puts harmless things where they come: in the order of their time.
func (m *machine) addExtras(weeks int) {
	end := m.start.Add(time.Duration(weeks) * 7 * 24 * time.Hour)
	for at := m.start; at.Before(end); {
		// on average one in four hours
		at = at.Add(time.Duration(m.r.ExpFloat64() * 4 * float64(time.Hour)))
		x := extra{from: at}
		switch kind := m.r.Float64(); {
		case kind < 0.70: // a burst of I/O
			x.kind = "burst of I/O"
			x.to = at.Add(time.Duration(between(m.r, 30, 480)) * time.Second)
			x.disk = between(m.r, 0.05, 0.4)
		case kind < 0.85: // a job
			x.kind = "job"
			x.to = at.Add(time.Duration(between(m.r, 5, 40)) * time.Minute)
			x.cpu, x.disk = between(m.r, 0.05, 0.3), between(m.r, 0.05, 0.3)
		case kind < 0.95: // a deployment: a service is down and reads its files anew
			x.kind = "deployment"
			x.to = at.Add(time.Duration(between(m.r, 30, 180)) * time.Second)
			x.cpu, x.disk = between(m.r, -0.3, -0.05), between(m.r, 0.05, 0.3)
		default: // a program that starts, with all its memory
			x.kind = "program that starts"
			x.to = at.Add(time.Duration(between(m.r, 20, 150)) * time.Second)
			x.cpu, x.memory, x.disk = between(m.r, 0, 0.2), between(m.r, 0.02, 0.15), between(m.r, 0.05, 0.3)
		}
		x.requests = between(m.own, 0, 0.6)
		m.extras = append(m.extras, x)
	}
}

// shape is the load of an hour of the day, from 0 to 1.
func (m *machine) shape(hour float64) float64 {
	apart := math.Abs(hour - m.peak)
	apart = min(apart, 24-apart)
	return math.Exp(-apart * apart / (2 * m.width * m.width))
}

// sample is what is measured at an instant; ok is false while the host is
// down. Instants must come in order.
func (m *machine) sample(at time.Time) (cpu, memory, disk, requests float64, ok bool) {
	if at.Sub(m.hour) >= time.Hour || m.hour.IsZero() {
		m.hour = at.Truncate(time.Hour)
		m.local = m.hour.In(m.loc)
		day := 1.0
		weekday := m.local.Weekday()
		if weekday == time.Saturday || weekday == time.Sunday || int(at.Sub(m.start)/(24*time.Hour)) == m.holiday {
			day = m.weekend
		}
		h := float64(m.local.Hour())
		m.dayshape = [2]float64{day * m.shape(h), day * m.shape(math.Mod(h+1, 24))}
	}
	part := float64(at.Sub(m.hour)) / float64(time.Hour)
	weeks := float64(at.Sub(m.start)) / float64(7*24*time.Hour)

	m.fast += 0.3*(0-m.fast) + 0.7*m.noise*m.r.NormFloat64()
	m.slow += 0.02*(0-m.slow) + 0.2*m.noise*m.r.NormFloat64()
	m.slowest += 0.0005*(0-m.slowest) + 0.03*m.noise*m.r.NormFloat64()
	load := (m.base + m.amplitude*(m.dayshape[0]*(1-part)+m.dayshape[1]*part)) * (1 + m.growth*weeks) * math.Exp(m.slowest+m.slow/2)
	load = max(load, 0.01)
	m.load = load

	cpu = load * math.Exp(m.fast/2)
	disk = m.diskPer * load * math.Exp(m.fast+m.slow+0.3*m.r.NormFloat64())
	memory = m.memoryPer * load * load * math.Exp(2*m.slow+0.5*m.r.NormFloat64())
	m.mix += 0.002*(0-m.mix) + 0.04*m.own.NormFloat64()
	requests = load * math.Exp(m.mix+m.fast+0.2*m.own.NormFloat64())
	m.scheduled(float64(m.local.Hour())+part, &cpu, &memory, &disk, &requests)
	m.unscheduled(at, &cpu, &memory, &disk, &requests)
	if apart := at.Sub(m.restart); apart >= 0 && apart < 3*time.Minute {
		return 0, 0, 0, 0, false
	}
	return min(max(cpu, 0.001), 1), min(max(memory, 0), 1), min(max(disk, 0), 1), requests * m.requestsPer, true
}

// scheduled are the backup of every night and the job of every Sunday.
func (m *machine) scheduled(hour float64, cpu, memory, disk, requests *float64) {
	if hour >= m.backup && hour < m.backup+0.6 {
		*disk += m.backupDisk
		*requests += 0.1 * m.backupDisk // large ones
		*memory += m.backupMemory
	}
	if m.local.Weekday() == time.Sunday && hour >= m.weekly && hour < m.weekly+1.5 {
		*disk += 0.3
		*requests += 0.1
		*memory += 0.05
		*cpu += 0.1
	}
}

func (m *machine) unscheduled(at time.Time, cpu, memory, disk, requests *float64) {
	for m.extraAt < len(m.extras) && m.extras[m.extraAt].to.Before(at) {
		m.extraAt++
	}
	for i := m.extraAt; i < len(m.extras) && !m.extras[i].from.After(at); i++ {
		if x := &m.extras[i]; at.Before(x.to) {
			*cpu, *memory, *disk, *requests = *cpu+x.cpu, *memory+x.memory, *disk+x.disk, *requests+x.requests*x.disk
		}
	}
	for m.plantAt < len(m.planted) && !at.Before(m.planted[m.plantAt].to) {
		m.plantAt++
	}
	if m.plantAt < len(m.planted) && !at.Before(m.planted[m.plantAt].from) {
		p := &m.planted[m.plantAt]
		height := 1.0
		if p.ramp > 0 {
			height = min(1, float64(at.Sub(p.from))/float64(p.ramp))
		}
		*cpu *= 1 - (1-p.cpu)*height
		*memory += p.memory * height
		*disk += p.disk * height
		*requests *= 1 - (1-p.requests)*height
	}
}

// during is what went on when a false alarm began, the first of the list.
func (m *machine) during(from, to time.Time) string {
	from = from.Add(-step)
	for at := from; at.Before(to); at = at.Add(step) {
		local := at.In(m.loc)
		hour := float64(local.Hour()) + float64(local.Minute())/60
		switch {
		case hour >= m.backup && hour < m.backup+0.6:
			return "backup"
		case local.Weekday() == time.Sunday && hour >= m.weekly && hour < m.weekly+1.5:
			return "weekly job"
		}
	}
	for _, x := range m.extras {
		if x.from.Before(to) && x.to.After(from) {
			return x.kind
		}
	}
	return "nothing but load"
}
