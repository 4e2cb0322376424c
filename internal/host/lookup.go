package host

// Lookup turns the numbers that kernel programs report into names. It reads
// nothing until it is asked, reads again when something new appears, and is
// used by one goroutine.
type Lookup struct {
	h       *Host
	devices *Devices
	ids     map[string]*CgroupIDs
}

// NewLookup makes a lookup for a host.
func NewLookup(h *Host) *Lookup {
	return &Lookup{h: h, ids: map[string]*CgroupIDs{}}
}

// Disk is the kernel name of the whole disk that a device number is or lies
// on, and "MAJOR:MINOR" for one that is gone.
func (l *Lookup) Disk(dev uint32) string {
	if l.devices != nil {
		if name, ok := l.devices.Disk(DevNumber(dev)); ok {
			return name
		}
	}
	if d, err := l.h.Devices(); err == nil {
		l.devices = d
		if name, ok := d.Disk(DevNumber(dev)); ok {
			return name
		}
	}
	return DevNumber(dev).String()
}

// Device is the kernel name of the disk or partition of a device number, and
// "MAJOR:MINOR" for one that is gone.
func (l *Lookup) Device(dev uint32) string {
	l.Disk(dev) // reads the devices when it is new
	if l.devices != nil {
		if d, ok := l.devices.Lookup(DevNumber(dev)); ok {
			return d.Name
		}
	}
	return DevNumber(dev).String()
}

// MemoryCgroup is the path of a cgroup of the memory controller by the
// kernel's id, "" when it is not known.
func (l *Lookup) MemoryCgroup(id uint64) string { return l.cgroup(id, "memory") }

// IOCgroup is the same for block I/O, which v1 calls blkio.
func (l *Lookup) IOCgroup(id uint64) string { return l.cgroup(id, "blkio", "io") }

// CPUCgroup is the same for processor time.
func (l *Lookup) CPUCgroup(id uint64) string { return l.cgroup(id, "cpu") }

func (l *Lookup) cgroup(id uint64, controllers ...string) string {
	if id == 0 {
		return ""
	}
	ids, ok := l.ids[controllers[0]]
	if !ok {
		ids = l.hierarchy(controllers)
		l.ids[controllers[0]] = ids
	}
	if ids == nil {
		return ""
	}
	path, _ := ids.Path(id)
	return path
}

// hierarchy is the tree of the first of the controllers that is mounted.
func (l *Lookup) hierarchy(controllers []string) *CgroupIDs {
	groups, err := l.h.Cgroups()
	if err != nil {
		return nil
	}
	t, ok := groups.Controller(controllers...)
	if !ok {
		return nil
	}
	return l.h.IDs(t)
}
