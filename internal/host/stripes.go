package host

import "path/filepath"

// Stripes is how an array of md that keeps parity lays out its data.
type Stripes struct {
	Offset      uint64 // sectors of a member before its data
	Chunk, Data uint32 // sectors of a chunk; members less those for parity
}

// Stripes are those of RAID 4, 5 and 6 (/sys/block/DISK/md). An array whose members'
// data begin at different sectors, or that is being given another shape ("4 (3)"
// members), is left out.
func (h *Host) Stripes() map[DevNumber]Stripes {
	out := map[DevNumber]Stripes{}
	levels, _ := filepath.Glob(h.Sys("block", "md*", "md", "level")) // fails for a bad pattern alone
	for _, path := range levels {
		level, err := readString(path)
		parity := map[string]uint64{"raid4": 1, "raid5": 1, "raid6": 2}[level]
		if err != nil || parity == 0 {
			continue
		}
		dir := filepath.Dir(path)
		text, err := readString(filepath.Join(dir, "..", "dev"))
		dev, ok := ParseDev([]byte(text))
		if s, known := stripes(dir, parity); err == nil && ok && known {
			out[dev] = s
		}
	}
	return out
}

func stripes(dir string, parity uint64) (s Stripes, ok bool) {
	members, err := ReadNumber(filepath.Join(dir, "raid_disks"))
	if err != nil || members <= parity {
		return s, false
	}
	chunk, err := ReadNumber(filepath.Join(dir, "chunk_size"))
	if err != nil {
		return s, false
	}
	offsets, _ := filepath.Glob(filepath.Join(dir, "rd[0-9]*", "offset"))
	for i, path := range offsets {
		offset, err := ReadNumber(path)
		if err != nil || i > 0 && offset != s.Offset {
			return s, false
		}
		s.Offset = offset
	}
	s.Chunk, s.Data = uint32(chunk/512), uint32(members-parity)
	return s, len(offsets) > 0
}
