package diagnose

import "iocause/internal/sample"

// Which device a file is on. The kernel's number of a file system does not say:
// a partition, or a subvolume of btrfs, has one of its own.

// homes are the devices that what was moved between the page cache and a file
// went to or came from, in bytes; empty where nothing was moved, and where the
// file system lies across several layers.
func (c *Case) homes(id sample.FileID) map[string]float64 {
	if c.lies == nil {
		c.lies = map[sample.FileID]map[string]float64{}
		for _, m := range []sample.Metric{sample.BlockFileBytes, sample.BlockLowerBytes, sample.WritebackBytes} {
			c.w.Each(m, func(e sample.Entity, s *sample.Series) {
				if e.File == (sample.FileID{}) || e.Device == "" {
					return
				}
				if c.lies[e.File] == nil {
					c.lies[e.File] = map[string]float64{}
				}
				c.lies[e.File][e.Device] += s.Sum()
			})
		}
	}
	return c.lies[id]
}

// elsewhere tells of a file that is known to be on other devices than this one.
func (c *Case) elsewhere(id sample.FileID, device string) bool {
	homes := c.homes(id)
	_, here := homes[device]
	return device != "" && len(homes) > 0 && !here
}

// at puts a file into a culprit, with the device that it is on where that is
// known.
func (c *Case) at(k *Culprit, id sample.FileID) {
	k.File = c.w.Files[id].Path
	if c.elsewhere(id, k.Device) {
		k.Device = largest(c.homes(id))
	}
}

// topFile is the victim's file with the most of the first metric that it has any
// of, of those that may be on a device ("": on any); zero when it has none whose
// path is known.
func (c *Case) topFile(device string, metrics ...sample.Metric) sample.FileID {
	for _, m := range metrics {
		var best sample.FileID
		most := 0.0
		c.w.Each(m, func(e sample.Entity, s *sample.Series) {
			if e.PID != c.victim.pid || e.File == (sample.FileID{}) || e.Class != "" || c.w.Files[e.File].Path == "" {
				return
			}
			v := s.Sum()
			if v < most || v == most && (most == 0 || c.w.Files[e.File].Path > c.w.Files[best].Path) || c.elsewhere(e.File, device) {
				return
			}
			best, most = e.File, v
		})
		if most > 0 {
			return best
		}
	}
	return sample.FileID{}
}

// fileOf is the file that a process moves most to or from disk, of those that
// may be on a device ("": on any); zero when it is not known.
func (c *Case) fileOf(pid int, device string) sample.FileID {
	by := map[sample.FileID]float64{}
	for m, unit := range map[sample.Metric]float64{
		sample.DirectReadBytes: 1, sample.DirectWriteByte: 1, sample.CacheInserted: pageSize, sample.CacheDirtied: pageSize,
	} {
		c.w.Each(m, func(e sample.Entity, s *sample.Series) {
			if e.PID == pid && c.w.Files[e.File].Path != "" && !c.elsewhere(e.File, device) {
				by[e.File] += s.Sum() * unit
			}
		})
	}
	var best sample.FileID
	for id, v := range by {
		if v > by[best] || v == by[best] && v > 0 && c.w.Files[id].Path < c.w.Files[best].Path {
			best = id
		}
	}
	return best
}
