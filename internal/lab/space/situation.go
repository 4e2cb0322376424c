// Package space draws situations by seed: a program, what it does, a disk and a
// file system below it, what holds it up or does not, and who else is there; sets
// them up, diagnoses them and proves by intervention what their cause is.
package space

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Work is what a program does, in a loop and as fast as it can.
type Work string

// The works.
const (
	ReadRand    Work = "read-rand"         // buffered reads anywhere in a file
	ReadSeq     Work = "read-seq"          // buffered reads of a file from end to end
	MapRand     Work = "map-rand"          // touches pages of a mapped file
	Tree        Work = "tree"              // reads many small files
	Direct      Work = "direct"            // O_DIRECT reads, one at a time of a thread
	Ring        Work = "io_uring"          // O_DIRECT reads, several at a time of a thread
	RingCached  Work = "io_uring-buffered" // the same through the page cache
	DirectWrite Work = "direct-write"      // O_DIRECT writes
	Commit      Work = "commit"            // small writes, each synced
	Write       Work = "write"             // buffered writes
	Small       Work = "small"             // cached reads of a few bytes
	Cached      Work = "cached"            // requests that are answered from memory
	Compute     Work = "compute"           // no I/O
)

// Plant is what is put in the way of the program.
type Plant string

// The plants. What is planted need not come about: only the interventions tell.
const (
	None      Plant = "none"
	Cold      Plant = "cold"      // nothing of the data is cached
	Memory    Plant = "memory"    // a cgroup with less memory than the data need
	Throttle  Plant = "throttle"  // a cgroup with an I/O limit
	Neighbour Plant = "neighbour" // another program keeps the disk busy
	Burner    Plant = "burner"    // other programs keep the processors busy
	Quota     Plant = "quota"     // a cgroup with less than a processor
	Dirty     Plant = "dirty"     // a low limit of dirty pages
	Hog       Plant = "hog"       // another program in its cgroup holds the memory that the data need
	Shared    Plant = "shared"    // it may run on one processor only, which others keep busy
)

// Situation is one point of the space.
type Situation struct {
	Seed       uint64        `json:"seed"`
	Program    string        `json:"program"`
	Work       Work          `json:"work"`
	Threads    int           `json:"threads"`
	Processes  int           `json:"processes"`
	Size       int64         `json:"bytes"`      // of the data
	Block      int64         `json:"call_bytes"` // a call
	Think      time.Duration `json:"think"`      // between two calls of a thread
	FS         string        `json:"filesystem"`
	Latency    time.Duration `json:"latency"` // of each request of the disk
	Heads      int           `json:"heads"`   // requests that the disk works on at a time
	Plant      Plant         `json:"plant"`
	Strength   float64       `json:"strength"` // of it: 0 barely, 1 heavily
	Bystanders []string      `json:"bystanders"`
	Targeted   bool          `json:"targeted"` // the diagnosis is asked about the program, not the host
}

// Bystanders that may be there; none of them is the cause of anything, or so it is
// meant.
const (
	idlePool = "idle-pool"       // a hundred threads that wake up now and then
	busyCPU  = "busy-cpu"        // one thread that computes, with the lowest priority
	quiet    = "quiet-neighbour" // a few reads a second of the same disk
)

// String says what it is, for people.
func (s *Situation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", s.Program, s.Work)
	if s.Processes > 1 {
		fmt.Fprintf(&b, ", %d processes", s.Processes)
	}
	if s.Threads > 1 {
		fmt.Fprintf(&b, ", %d threads", s.Threads)
	}
	if s.Think > 0 {
		fmt.Fprintf(&b, ", a pause of %v", s.Think)
	}
	fmt.Fprintf(&b, "; %d MiB on %s", s.Size>>20, s.FS)
	if s.FS != "tmpfs" {
		fmt.Fprintf(&b, ", a disk of %v, %d at a time", s.Latency, s.Heads)
	}
	fmt.Fprintf(&b, "; planted: %s", s.Plant)
	if s.Plant != None {
		fmt.Fprintf(&b, " (%.2f)", s.Strength)
	}
	if len(s.Bystanders) > 0 {
		fmt.Fprintf(&b, "; beside it: %s", strings.Join(s.Bystanders, ", "))
	}
	return b.String()
}

// reads tells whether the work reads files through the page cache.
func (s *Situation) reads() bool {
	return slices.Contains([]Work{ReadRand, ReadSeq, MapRand, Tree, RingCached}, s.Work)
}

// cold tells whether what it reads is never in the page cache for long: planted, or
// because nothing that is in the way to a disk is met by who reads from memory.
func (s *Situation) cold() bool {
	return s.Plant == Cold || s.reads() && (s.Plant == Throttle || s.Plant == Neighbour)
}

// starved tells whether it gets less than the processors: more threads of it would take
// some from who has them, whatever else they gain.
func (s *Situation) starved() bool { return slices.Contains([]Plant{Burner, Quota, Shared}, s.Plant) }

// direct tells whether it goes past the page cache.
func (s *Situation) direct() bool {
	return slices.Contains([]Work{Direct, Ring, DirectWrite}, s.Work)
}

// restful is a pause between two commits from which on they take little of the time.
const restful = 50 * time.Millisecond

// unplanted tells whether nothing is put in the program's way and it has not chosen a
// slow way itself.
func (s *Situation) unplanted() bool {
	return s.Plant == None && !s.direct() && (s.Work != Commit || s.Think >= restful)
}

// second is the seed from which on situations are drawn of what came later, too. What
// is added for these must leave what earlier seeds draw as it is: they were scored.
const second = 100_000

// plants are what can be put in the way of a work, the likelier ones more than once.
func plants(w Work) []Plant {
	switch w {
	case ReadRand, ReadSeq, Tree, RingCached:
		return []Plant{None, None, None, Cold, Cold, Memory, Memory, Throttle, Neighbour, Burner, Quota}
	case MapRand:
		return []Plant{None, None, Memory, Memory, Burner, Quota}
	case Direct, Ring, DirectWrite:
		return []Plant{None, None, Throttle, Neighbour, Burner}
	case Commit:
		return []Plant{None, None, None, Throttle, Neighbour, Burner}
	case Write:
		return []Plant{None, None, Dirty, Dirty}
	}
	return []Plant{None, None, None, Burner, Quota}
}

// laterPlants are those of the second space besides.
func laterPlants(w Work) []Plant {
	switch w {
	case ReadRand, ReadSeq, MapRand, Tree, RingCached:
		return []Plant{Hog, Hog, Shared}
	case Write:
		return nil
	}
	return []Plant{Shared}
}

// Draw makes the situation of a seed. It is the same on every machine: what a
// machine lacks for it, Lacks says.
func Draw(seed uint64) *Situation {
	r := rand.New(rand.NewPCG(seed, 0x10ca))
	all := programs()
	p := all[r.IntN(len(all))]
	works := p.works
	if seed >= second {
		works = append(works, p.later...)
	}
	s := &Situation{Seed: seed, Program: p.name, Work: works[r.IntN(len(works))], Threads: 1, Processes: 1}
	scale := func(from, to float64) float64 { return from * math.Pow(to/from, r.Float64()) }
	if p.threads > 1 && r.IntN(2) == 0 {
		s.Threads = int(scale(2, float64(p.threads)+0.5))
	}
	if p.processes > 1 && r.IntN(3) == 0 {
		s.Processes = int(scale(2, float64(p.processes)+0.5))
	}
	if s.Threads*s.Processes > 600 {
		s.Threads = max(1, 600/s.Processes)
	}
	s.FS = []string{"ext4", "ext4", "ext4", "xfs", "xfs", "btrfs", "overlay"}[r.IntN(7)]
	s.Latency = time.Duration(scale(200e3, 4e6)).Round(10 * time.Microsecond)
	s.Heads = []int{1, 2, 8, 8}[r.IntN(4)]
	choices := plants(s.Work)
	if seed >= second {
		choices = append(choices, laterPlants(s.Work)...)
	}
	s.Plant, s.Strength = choices[r.IntN(len(choices))], r.Float64()
	s.Block = []int64{4 << 10, 8 << 10, 16 << 10, 64 << 10}[r.IntN(4)]
	s.Size = int64(scale(64, 400)) << 20
	if r.IntN(4) == 0 && p.thinks {
		s.Think = time.Duration(scale(0.2e6, 5e6)).Round(10 * time.Microsecond)
	}
	switch s.Work {
	case Commit:
		s.Block = min(s.Block, 16<<10)
		if p.thinks && s.Plant == None && r.IntN(3) == 0 {
			s.Think = time.Duration(scale(100e6, 500e6)).Round(time.Millisecond) // it hardly ever commits
		}
	case Small:
		s.Block = 100
	case RingCached:
		s.Think = 0 // it keeps its requests in flight
	case ReadSeq:
		s.Block = 128 << 10
	case Write:
		s.Size = min(s.Size, 128<<20)
	}
	// Nothing is to be had from a disk that is not there.
	if s.Plant == None && !s.direct() && r.IntN(5) == 0 {
		s.FS = "tmpfs"
	}
	if s.Plant == Cold { // it must last for the diagnosis: the disk reads 128 KiB at most in a request
		s.Heads = min(s.Heads, 2)
		s.Latency = max(s.Latency, 2*time.Millisecond)
		request := float64(s.Block)
		if s.Work != ReadRand && s.Work != RingCached {
			request = 128 << 10
		}
		s.Size = int64(min(900<<20, max(64<<20, 12*request*float64(s.Heads)/s.Latency.Seconds())))
	}
	if s.Plant == Memory || s.Plant == Hog {
		s.Size = max(s.Size, 192<<20)
	}
	for _, b := range []string{idlePool, busyCPU, quiet} {
		if r.IntN(4) == 0 && (b != quiet || s.FS != "tmpfs") {
			s.Bystanders = append(s.Bystanders, b)
		}
	}
	// Beside one that keeps the disk busy, that one waits most.
	s.Targeted = r.IntN(2) == 0 || s.Plant == Neighbour || s.Plant == Burner || s.Plant == Shared
	return s
}
