package sample

import "fmt"

// tally is a total of one series: what it was at the end of the window
// before, and what this window has added up.
type tally struct {
	before  float64 // the highest it was, of the rows that are still told
	lowest  float64 // what it was told to be last, where it fell since
	now     float64
	ended   float64 // of now: in rows that will not be told again
	source  string
	touched bool // in this window
	over    bool // a row of it was told for the last time
	known   bool // since an earlier window
}

// rounding is by what share of itself a total may seem to fall because its rows
// were added up in another order.
const rounding = 1e-9

// rise is what the total has risen by since the window before, and the highest
// that it has been. A total that fell was either begun anew, and all that it is
// now has risen since, or it was corrected downwards: the kernel takes back waits
// whose end it did not see, and time that it first counted as idle. The smaller
// of the two changes is what is taken to have happened. After a correction
// nothing counts until the old height is reached, which has been counted already:
// over all windows together the sum is right.
func (t *tally) rise() (rise, high float64) {
	switch {
	case t.now >= t.before:
		return t.now - t.before, t.now
	case t.over && t.now == t.ended: // none of its rows is left; what rose of them is not known
		return 0, t.now
	case t.before-t.now > t.now:
		return t.now, t.now
	}
	return 0, t.before
}

// fell says what is not known because the total fell a little, "" when it did
// not. It says so once for each fall.
func (t *tally) fell(k of) string {
	last := t.before
	if t.known {
		last = min(t.before, t.lowest)
	}
	if t.now >= last*(1-rounding) || t.before-t.now > t.now || t.over {
		return ""
	}
	return fmt.Sprintf("%s: %s%s fell from %g to %g: the kernel's counter went back, and as much of what came after is missing",
		t.source, k.metric, k.entity.of(), last, t.now)
}

// of names an entity for a sentence: " of process 7", "" for the host.
func (e Entity) of() string {
	switch {
	case e.PID != 0:
		return fmt.Sprintf(" of process %d", e.PID)
	case e.Cgroup != "":
		return fmt.Sprintf(" of cgroup %q", e.Cgroup)
	case e.Device != "":
		return " of " + e.Device
	case e.File != (FileID{}):
		return fmt.Sprintf(" of inode %d", e.File.Ino)
	case e.Class != "":
		return fmt.Sprintf(" of %q", e.Class)
	}
	return ""
}
