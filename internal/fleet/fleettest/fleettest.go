// Package fleettest makes fleets of hosts of which it is known what is wrong:
// which fact goes with a cause, and which disks are slow.
package fleettest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"iocause/internal/fleet"
)

// Host is one host of a made-up fleet.
type Host struct {
	Clock time.Duration // that it is ahead of the others
	Name  string
	Cause string // of its findings, or "healthy"
	Facts []fleet.Fact
	Disks []Disk
}

// Disk is one disk, and how much slower than its like it is.
type Disk struct {
	Device, Model string
	Slower        float64 // 1 of those that are as they should be
	Loads         []fleet.Load
}

// Fleet is what was made.
type Fleet struct {
	Hosts   []Host
	Planted []fleet.Fact // that make hosts have Cause
	Cause   string
	Slow    int // disks that are slower than their like
}

// Options say what to make.
type Options struct {
	Hosts     int
	Planted   int // facts that go with the cause
	SlowDisks int
	Intervals int // of each disk
}

// Cause is the one that planted facts make hosts have.
const Cause = "dirty-throttling"

const (
	others    = 0.01 // share of the hosts that have the cause for no reason
	elsewhere = 0.02 // share that has another cause
)

// kinds of hosts: facts that come together, as those of an image or of a type
// of machine do.
type setting struct {
	name   string
	values []string
	follow string // the setting that decides it for most hosts
}

func settings() []setting {
	all := []setting{
		{"image", []string{"web-41", "web-42", "db-17", "db-18", "batch-3", "base-9"}, ""},
		{"kernel", []string{"6.1.0-27", "6.1.0-28", "6.12.4", "5.15.0-122", "6.8.0-49"}, "image"},
		{"zone", []string{"a", "b", "c"}, ""},
		{"product", []string{"m5.large", "m5.4xlarge", "r5.4xlarge", "r6g.4xlarge", "i3en.2xlarge", "c6i.2xlarge"}, ""},
		{"cpu_model", []string{"8175M", "8259CL", "Neoverse-N1", "8375C"}, "product"},
		{"memory_gib", []string{"8", "16", "32", "64", "128"}, "product"},
		{"vm_swappiness", []string{"60", "10", "1"}, ""},
		{"vm_dirty_ratio", []string{"20", "40", "5"}, "image"},
		{"transparent_hugepage", []string{"madvise", "always", "never"}, ""},
		{"iocause", []string{"0.9", "1.0"}, "zone"},
	}
	for i := range 15 {
		all = append(all, setting{fmt.Sprintf("vm_other_%d", i), []string{"0", "1", "2", "3"}[:2+i%3], ""})
	}
	return all
}

// New makes a fleet, the same of the same seed.
func New(seed uint64, o Options) *Fleet {
	r := rand.New(rand.NewPCG(seed, 1))
	f := &Fleet{Cause: Cause}
	all := settings()
	f.Hosts = make([]Host, o.Hosts)
	for i := range f.Hosts {
		h := &f.Hosts[i]
		h.Name, h.Cause = fmt.Sprintf("host-%05d", i), "healthy"
		chosen := map[string]int{}
		for _, s := range all {
			// The first value is the most frequent one.
			n := int(float64(len(s.values)) * math.Pow(r.Float64(), 1.7))
			if leader, ok := chosen[s.follow]; ok && r.Float64() < 0.93 {
				n = leader % len(s.values)
			}
			chosen[s.name] = n
			h.Facts = append(h.Facts, fleet.Fact{Setting: s.name, Value: s.values[n]})
		}
		h.Disks = disksOf(r, i)
		for _, d := range h.Disks {
			h.Facts = append(h.Facts, fleet.Fact{Setting: "device.model", Value: d.Model})
		}
	}
	f.plant(r, o.Planted)
	f.slow(r, o.SlowDisks)
	for i := range f.Hosts {
		for d := range f.Hosts[i].Disks {
			f.Hosts[i].Disks[d].run(r, o.Intervals)
		}
	}
	return f
}

// plant chooses facts and gives many hosts that have them the cause.
func (f *Fleet) plant(r *rand.Rand, n int) {
	for len(f.Planted) < n {
		h := &f.Hosts[r.IntN(len(f.Hosts))]
		fact := h.Facts[r.IntN(len(h.Facts))]
		if share := f.share(fact); share < 0.01 || share > 0.4 || slices.ContainsFunc(f.Planted, func(p fleet.Fact) bool { return p.Setting == fact.Setting }) {
			continue
		}
		f.Planted = append(f.Planted, fact)
	}
	strength := 0.2 + 0.5*r.Float64() // share of the hosts with a planted fact that have the cause
	for i := range f.Hosts {
		h := &f.Hosts[i]
		chance := others
		for _, p := range f.Planted {
			if slices.Contains(h.Facts, p) {
				chance = strength
			}
		}
		switch x := r.Float64(); {
		case x < chance:
			h.Cause = Cause
		case r.Float64() < elsewhere:
			h.Cause = "cpu-saturated"
		}
	}
}

func (f *Fleet) share(fact fleet.Fact) float64 {
	n := 0
	for i := range f.Hosts {
		if slices.Contains(f.Hosts[i].Facts, fact) {
			n++
		}
	}
	return float64(n) / float64(len(f.Hosts))
}

// model is what disks of one kind do.
type model struct {
	name     string
	base     float64 // seconds for a small request
	perMiB   float64 // seconds more
	parallel float64 // requests that it serves at a time
}

func models() []model {
	return []model{
		{"SAMSUNG PM9A3", 80e-6, 300e-6, 64}, {"INTEL P4510", 100e-6, 400e-6, 64}, {"Amazon EBS", 600e-6, 4e-3, 32},
		{"ST16000NM", 6e-3, 5e-3, 1},
	}
}

func disksOf(r *rand.Rand, host int) []Disk {
	m := models()[r.IntN(len(models()))]
	all := []Disk{{Device: "sda", Model: m.name, Slower: 1}}
	if host%2 == 0 {
		all = append(all, Disk{Device: "sdb", Model: m.name, Slower: 1})
	}
	return all
}

func (f *Fleet) slow(r *rand.Rand, n int) {
	for f.Slow < n {
		h := &f.Hosts[r.IntN(len(f.Hosts))]
		if d := &h.Disks[r.IntN(len(h.Disks))]; d.Slower == 1 {
			d.Slower = 2 + 3*r.Float64()
			f.Slow++
		}
	}
}

// run makes what a disk does: what is asked of it changes, and so does what it
// takes; beyond what it serves at a time requests wait.
func (d *Disk) run(r *rand.Rand, intervals int) {
	at := slices.IndexFunc(models(), func(m model) bool { return m.name == d.Model })
	m := models()[at]
	own := math.Exp(0.08 * r.NormFloat64()) // no two are alike
	busy := math.Exp2(5*r.Float64() - 1)    // requests in flight, on the mean
	for range intervals {
		size := []float64{4096, 16384, 131072}[r.IntN(3)]
		depth := busy * math.Exp(0.4*r.NormFloat64())
		latency := (m.base + m.perMiB*size/(1<<20)) * max(1, depth/m.parallel) * own * d.Slower * math.Exp(0.1*r.NormFloat64())
		d.Loads = append(d.Loads, fleet.Load{Ops: depth / latency, Depth: depth, Bytes: size * depth / latency, Reads: []float64{0.2, 0.5, 0.9}[r.IntN(3)]})
	}
}
