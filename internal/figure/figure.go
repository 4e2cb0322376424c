// Package figure works out the figures that more than one room shows or judges
// by, so that they are the same everywhere.
package figure

import (
	"cmp"
	"slices"
	"strings"

	"iocause/internal/sample"
)

// HitRatio is the share of the pages asked for that the page cache had, of so
// many pages asked for and so many of these read from disk. ok is false where
// none was asked for.
func HitRatio(asked, fromDisk float64) (ratio float64, ok bool) {
	if asked <= 0 {
		return 0, false
	}
	return (asked - fromDisk) / asked, true
}

// Requests are requests to devices that are done, and the seconds that they
// took together, from their being queued on.
type Requests struct {
	Count, Seconds float64
	timed          bool // Seconds was measured
}

// Reads are those of a device that read, of /proc/diskstats or another that
// counts the same.
func Reads(w *sample.Window, device string) Requests {
	return requests(w, device, sample.DiskReads, sample.DiskReadTime)
}

// Writes are those that write.
func Writes(w *sample.Window, device string) Requests {
	return requests(w, device, sample.DiskWrites, sample.DiskWriteTime)
}

func requests(w *sample.Window, device string, count, time sample.Metric) Requests {
	e := sample.Entity{Device: device}
	n, _ := w.Sum(count, e)
	took, timed := w.Sum(time, e)
	return Requests{n, took, timed}
}

// Plus are both.
func (r Requests) Plus(x Requests) Requests {
	return Requests{r.Count + x.Count, r.Seconds + x.Seconds, r.timed || x.timed}
}

// Await is what a request took on average, in seconds. ok is false where there
// was none, and where the time was not measured.
func (r Requests) Await() (seconds float64, ok bool) {
	if r.Count <= 0 || !r.timed {
		return 0, false
	}
	return r.Seconds / r.Count, true
}

// Busiest are the devices that a counter rose on, those with most first; of the
// busy time of disks, the busiest device is the first.
func Busiest(w *sample.Window, m sample.Metric) []string {
	by := map[string]float64{}
	w.Each(m, func(e sample.Entity, s *sample.Series) { by[e.Device] += s.Sum() })
	var names []string
	for name, sum := range by {
		if sum > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(by[b], by[a]), strings.Compare(a, b)) })
	return names
}

// MostMoved is the device that moved most, and its bytes per second; "" when all
// rested. Devices are not added up: one may lie on top of another.
func MostMoved(w *sample.Window) (device string, read, written float64) {
	w.Each(sample.DiskReadBytes, func(e sample.Entity, s *sample.Series) {
		in := s.Sum() / w.Seconds()
		out, _ := w.Sum(sample.DiskWriteBytes, e)
		out /= w.Seconds()
		if most := read + written; in+out > most || in+out == most && most > 0 && e.Device < device {
			device, read, written = e.Device, in, out
		}
	})
	return device, read, written
}

// MemoryLimit is the memory limit of a cgroup itself in bytes: the lower of
// memory.max and memory.high, or the one of cgroup v1. ok is false without one,
// and where it could not be read.
func MemoryLimit(w *sample.Window, cgroup string) (limit float64, ok bool) {
	for _, class := range []string{sample.ClassMax, sample.ClassHigh, ""} {
		if l, has := w.Value(sample.CgroupMemLimit, sample.Entity{Cgroup: cgroup, Class: class}); has && (!ok || l < limit) {
			limit, ok = l, true
		}
	}
	return limit, ok
}

// LowestMemoryLimit is the lowest limit of a cgroup and all above it, in bytes,
// and whose it is: of those with the same the one that lies deepest. ok is false
// where none has one.
func LowestMemoryLimit(w *sample.Window, cgroup string) (limit float64, at string, ok bool) {
	for cg := cgroup; cg != ""; cg = Above(cg) {
		if l, has := MemoryLimit(w, cg); has && (!ok || l < limit) {
			limit, at, ok = l, cg, true
		}
	}
	return limit, at, ok
}

// Above is the cgroup that one lies in, "" for none.
func Above(cgroup string) string {
	if cgroup == "/" || cgroup == "" {
		return ""
	}
	if i := strings.LastIndexByte(cgroup, '/'); i > 0 {
		return cgroup[:i]
	}
	return "/"
}
