package diagnose

import (
	"fmt"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// room is the memory that the victim's files may be cached in: the least of
// what the host has for that and of what the limits leave of every cgroup that
// the victim is in.
type room struct {
	bytes  float64
	known  bool
	why    string        // when not known
	from   sample.Metric // of what bounds it
	cgroup string        // whose limit that is, "" the host's memory
}

// String says it for people: "the 22.8 GiB that the host has available".
func (r *room) String() string {
	if r.cgroup != "" {
		return fmt.Sprintf("the %s that the limit of cgroup %q leaves for files", bytes(r.bytes), r.cgroup)
	}
	return fmt.Sprintf("the %s that the host has available", bytes(r.bytes))
}

func (c *Case) room() room {
	var r room
	r.bytes, r.known = c.gauge(sample.MemAvailable) // the page cache that can be dropped included, tmpfs not
	r.from = sample.MemAvailable
	if !r.known {
		r.why = c.w.WhyAbsent(sample.MemAvailable)
	}
	for _, cg := range c.memoryCgroups() {
		limit, ok := figure.MemoryLimit(c.w, cg)
		if !ok {
			continue
		}
		if left := limit - c.unreclaimable(cg); !r.known || left < r.bytes {
			r = room{bytes: max(0, left), known: true, from: sample.CgroupMemLimit, cgroup: cg}
		}
	}
	return r
}

// unreclaimable is the memory charged to a cgroup that no file can be cached
// in: anonymous memory, and tmpfs, which looks like cache but is given back by
// nobody but who deletes the files.
func (c *Case) unreclaimable(cg string) float64 {
	_, anon, _ := c.charged(sample.CgroupMemAnon, cg)
	_, shmem, _ := c.charged(sample.CgroupMemShmem, cg)
	return anon + shmem
}

// memoryCgroups is the victim's memory cgroup and all above it, lowest first.
func (c *Case) memoryCgroups() []string {
	var all []string
	for cg := c.victim.process.MemoryCgroup; cg != ""; cg = figure.Above(cg) {
		all = append(all, cg)
	}
	return all
}

// hostFull tells whether the host's memory can be what evicts pages: while a
// good part of it is free, nothing has to be evicted for want of it. (The
// kernel begins at its low watermark, a few percent of memory at most.)
func (c *Case) hostFull() (unused float64, full bool) {
	s := c.w.Get(sample.MemFree, sample.Entity{})
	total, ok := c.gauge(sample.MemTotal)
	if s == nil || len(s.Points) == 0 || !ok {
		return 0, true
	}
	unused = s.Min()
	return unused, unused < freeLimit*total
}

// availableLimit is the share of the host's memory below which next to nothing is
// available: the kernel's reserves and what the cache always holds are of that size.
const availableLimit = 0.05

// hostShort reports whether it is the host's memory that is wanting for what is read,
// where a cgroup is at its limit, too: next to nothing is available, what is read does
// not fit into that, and it is not known that all that is evicted is evicted for the limit.
func (c *Case) hostShort(set *readSet) bool {
	avail, ok := c.gauge(sample.MemAvailable)
	total, known := c.gauge(sample.MemTotal)
	return ok && known && avail < availableLimit*total && !set.fits(fitsShare*avail) && c.evictsFor() != byCgroup
}

// shmemShare is the share of the host's memory from which on tmpfs and shared
// memory are worth a word to who looks for memory for the cache.
const shmemShare = 0.20

// emptyTmpfs is what to do where tmpfs holds much of the memory that is missing.
func (c *Case) emptyTmpfs() []Advice {
	shmem, total, much := c.ofMemory(sample.MemShmem, shmemShare)
	if !much {
		return nil
	}
	return []Advice{{
		Do: fmt.Sprintf("empty tmpfs (/dev/shm, /tmp, /run: df -t tmpfs shows which) and shared memory (ipcs -m): they hold %s of the %s of memory",
			bytes(shmem), bytes(total)),
		Expect: "the kernel cannot drop what they hold, though it counts as cached; once removed, that memory can cache files",
	}}
}

// setFree is what memory can be had at once.
func (c *Case) setFree() []Advice { return append(c.freeHuge(), c.emptyTmpfs()...) }

// hugeShare is the part of all memory from which on huge pages that nobody uses are
// worth a word to who looks for memory for the cache.
const hugeShare = 0.05

// freeHuge is what to do where huge pages that nobody uses hold memory that is missing.
func (c *Case) freeHuge() []Advice {
	unused, total, much := c.ofMemory(sample.MemHugeFree, hugeShare)
	if !much {
		return nil
	}
	all, _ := c.gauge(sample.MemHuge)
	return []Advice{{
		Do: fmt.Sprintf("set fewer huge pages aside (vm.nr_hugepages; grep . /sys/kernel/mm/hugepages/*/{nr,free,resv}_hugepages): they hold %s of the %s of memory, and nobody uses %s of that",
			bytes(all), bytes(total), bytes(unused)),
		Expect: "the kernel can use that memory for nothing else; given back, it can cache files",
	}}
}

// ofMemory is a kind of memory and all of it, in bytes, and whether that kind is at least
// so large a share.
func (c *Case) ofMemory(kind sample.Metric, least float64) (held, total float64, much bool) {
	held, ok1 := c.gauge(kind)
	total, ok2 := c.gauge(sample.MemTotal)
	return held, total, ok1 && ok2 && held >= least*total
}
