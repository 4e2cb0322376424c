package diagnose

import "iocause/internal/sample"

// droppedShare is the part of what the victim reads from disk that somebody has had
// dropped from the cache, from which on to read it ahead of use would not last.
const droppedShare = 0.5

// readAgain is how many times the size of its files the victim has to read from disk
// until what it drops itself is missed: who reads a file once and drops it leaves the
// cache to others.
const readAgain = 1.5

// dropping is who has pages of the victim's files dropped from the cache though nobody
// needs the memory: by POSIX_FADV_DONTNEED, drop_caches and the like.
type dropping struct {
	comm  string  // the program that drops most
	own   bool    // it is the victim itself
	pages float64 // of all programs
}

// dropped is who drops what the victim reads, false where that is little of it.
func (c *Case) dropped(v *cacheView) (dropping, bool) {
	by := map[string]float64{}
	var d dropping
	c.w.Each(sample.CacheDropped, func(e sample.Entity, s *sample.Series) {
		if comm := c.w.Processes[e.PID].Comm; c.readsFile(e.File) && comm != "" {
			by[comm] += s.Sum()
			d.pages += s.Sum()
		}
	})
	d.comm = largest(by)
	if d.own = d.comm == c.victim.process.Comm; d.own && v.fromDisk()*pageSize < readAgain*c.filesFromDisk() {
		return d, false
	}
	return d, d.pages > 0 && d.pages >= droppedShare*v.fromDisk()
}

// leave is the advice against it.
func (d dropping) leave() string {
	if d.own {
		return "have " + d.comm + " leave its files in the cache: it drops them itself after it has read them (POSIX_FADV_DONTNEED), and then reads them again"
	}
	return "keep " + d.comm + " from dropping these files from the cache (POSIX_FADV_DONTNEED, drop_caches, vmtouch -e): nobody needs the memory"
}
