package figure

import (
	"strconv"

	"iocause/internal/sample"
)

// Waiter is a process that waits for files of a file system.
type Waiter struct {
	PID    int
	Device string // "MAJOR:MINOR"
}

// FileSystem is the device of a file's file system, as mounts have it.
func FileSystem(id sample.FileID) string {
	return strconv.Itoa(int(id.Dev>>20)) + ":" + strconv.Itoa(int(id.Dev&(1<<20-1)))
}

// PageWaits are the seconds that processes, those that are wanted, wait for pages that
// somebody else reads into the page cache. A file is charged with all that its reader
// waited (cache.wait): with that for the answer to a request of its own, too, which
// mount.wait and wait.for have. So that is taken off, and what is left of all file
// systems is what wait.for has of pages.
func PageWaits(w *sample.Window, wanted func(pid int) bool) map[Waiter]float64 {
	charged := map[Waiter]float64{}
	w.Each(sample.CacheWait, func(e sample.Entity, s *sample.Series) {
		if e.PID != 0 && e.File.Ino != 0 && wanted(e.PID) {
			charged[Waiter{e.PID, FileSystem(e.File)}] += s.Sum()
		}
	})
	if !w.Has(sample.WaitFor) {
		return charged
	}
	left, all := map[Waiter]float64{}, map[int]float64{}
	for k, seconds := range charged {
		asked, _ := w.Sum(sample.MountWait, sample.Entity{PID: k.PID, Device: k.Device})
		left[k] = max(0, seconds-asked) // direct reads ask, too, and are charged to no file
		all[k.PID] += left[k]
	}
	for k := range charged {
		pages, _ := w.Sum(sample.WaitFor, sample.Entity{PID: k.PID, Class: sample.ClassPage})
		if sum := all[k.PID]; sum > 0 {
			charged[k] = left[k] * pages / sum
		} else {
			charged[k] = min(charged[k], pages)
		}
	}
	return charged
}
