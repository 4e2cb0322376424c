package predict

// A window may be too short to tell what a larger cache would have from before. But where
// all files that are read fit into it, it has, after a while, each page that was ever read,
// so that what is asked for in the window for the first time is a hit. Whether pages are read more than once
// is told by file: one that a backup goes through once is read again by nobody.

// readOver tells of each file whether it is read over and over: most of what is asked for of
// it in the later half was asked for in the window before.
func (t *Trace) readOver() []bool {
	if len(t.Sizes) == 0 {
		return nil
	}
	seen, again := make([]bool, t.Pages), make([]int, len(t.Sizes))
	half := uint32(t.Length.Milliseconds() / 2)
	for i := range t.Events {
		e := &t.Events[i]
		if e.Kind != Read {
			continue
		}
		if e.At >= half {
			if seen[e.Page] {
				again[t.file(e.Page)]++
			} else {
				again[t.file(e.Page)]--
			}
		}
		seen[e.Page] = true
	}
	over := make([]bool, len(t.Sizes))
	for file, size := range t.Sizes {
		over[file] = size > 0 && again[file] > 0
	}
	return over
}

func (t *Trace) file(page uint32) int64 { return t.Places[page] / FileApart }

func (t *Trace) fileIn(files []bool, page uint32) bool {
	return len(files) > 0 && files[t.file(page)]
}

// whole is how many watched pages the files have that are read, 0 where sizes are not known
// at all: of a file whose size is not known those that were seen.
func (t *Trace) whole() int {
	if len(t.Sizes) == 0 {
		return 0
	}
	seen, read := make([]int64, len(t.Sizes)), make([]bool, len(t.Sizes))
	for page := range t.Pages {
		seen[t.file(uint32(page))]++
	}
	for i := range t.Events {
		if e := &t.Events[i]; e.Kind == Read || e.Kind == Faulted {
			read[t.file(e.Page)] = true
		}
	}
	all := int64(0)
	for file, size := range t.Sizes {
		if read[file] { // what is only written passes through
			all += max(size, seen[file]*int64(t.Scale)*PageSize)
		}
	}
	return max(1, watched(all, t.Scale))
}

// holding is the size of a cache that holds so many pages of files, with room for what else
// is in it, such as directories and what is written meanwhile.
func holding(whole int) int { return whole + whole/16 }

func holds(room, whole int) bool { return whole > 0 && room >= holding(whole) }
