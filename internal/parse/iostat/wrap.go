package iostat

import (
	"slices"

	"iocause/internal/parse/lines"
)

// goesOn takes lines that a mail or a book has broken off: the rest of the names
// of the columns, the rest of a row, or a second table with the columns that did
// not fit into the first.
func (r *reader) goesOn(f []string) bool {
	if r.columns == nil {
		return false
	}
	if onlyColumns(f) {
		if len(r.devices) == 0 && r.part == nil {
			r.columns, r.takes = append(r.columns, f...), append(r.takes, columnsOf(f)...)
		} else {
			r.more, r.moreAt = slices.Clone(f), 0
		}
		return true
	}
	figures := len(lines.Numbers(f)) == len(f)
	part := r.part
	r.part = nil
	switch {
	case !figures:
		return false
	case part != nil && len(f) == len(r.columns)-r.partAt:
		for i, s := range f {
			v, _ := value(r.columns[r.partAt+i], s)
			part.set(r.takes[r.partAt+i], v)
		}
		r.devices = append(r.devices, *part)
		return true
	case r.more != nil && r.moreAt < len(r.devices) && len(f) == len(r.more):
		for i, s := range f {
			v, _ := value(r.more[i], s)
			r.devices[r.moreAt].set(columnOf(r.more[i]), v)
		}
		r.moreAt++
		return true
	}
	return false
}

// onlyColumns tells the names of columns that stand without that of the devices.
func onlyColumns(f []string) bool {
	for _, name := range f {
		switch name {
		case "r/s", "w/s", "rkB/s", "wkB/s", "rMB/s", "wMB/s", "rsec/s", "wsec/s", "rrqm/s", "wrqm/s", "avgrq-sz", "avgqu-sz", "aqu-sz",
			"await", "r_await", "w_await", "svctm", "%util", "%rrqm", "%wrqm", "rareq-sz", "wareq-sz", "d/s", "dkB/s", "drqm/s", "%drqm", "d_await", "dareq-sz", "f/s", "f_await":
		default:
			return false
		}
	}
	return len(f) > 0
}
