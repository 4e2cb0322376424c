package meminfo

import (
	"fmt"

	"iocause/internal/host"
	"iocause/internal/procfile"
)

// Zones is what is read of /proc/zoneinfo, summed up, in pages.
type Zones struct {
	PerCPU  uint64 // free, in the lists of single processors: not in MemFree
	Low     uint64 // the marks below which kswapd starts
	Reserve uint64 // what the kernel keeps for itself: totalreserve_pages
}

// ReadZones reads /proc/zoneinfo.
func ReadZones(h *host.Host) (Zones, error) {
	b, err := host.Read(h.Proc("zoneinfo"), nil)
	if err != nil {
		return Zones{}, fmt.Errorf("reading the zones of memory: %w", err)
	}
	z, err := parseZones(b)
	return z, host.In("/proc/zoneinfo", err)
}

// zone is one of them; the reserve is reckoned as calculate_totalreserve_pages
// of mm/page_alloc.c does: the high mark and the largest protection against
// allocations that would rather have another zone, at most all there is.
type zone struct{ high, protection, managed uint64 }

func (z *zone) reserve() uint64 { return min(z.high+z.protection, z.managed) }

func parseZones(b []byte) (Zones, error) {
	var sum Zones
	var now zone
	pagesets := false
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = host.Line(b)
		key, rest := host.Field(line)
		value, _ := host.Field(rest)
		var to *uint64
		switch string(key) {
		case "Node":
			sum.Reserve += now.reserve()
			now, pagesets = zone{}, false
			continue
		case "pagesets":
			pagesets = true
			continue
		case "protection:":
			for f, rest := host.Field(rest); len(f) > 0; f, rest = host.Field(rest) {
				v, ok := host.Uint(trimList(f))
				if !ok {
					return sum, &host.LineError{Line: n, What: fmt.Sprintf("protection %.40q is not a number", f)}
				}
				now.protection = max(now.protection, v)
			}
			continue
		case "low":
			var low uint64
			to = &low
		case "high":
			to = &now.high
		case "managed":
			to = &now.managed
		case "count:":
			var count uint64
			to = &count
		}
		if to == nil {
			continue
		}
		v, ok := host.Uint(value)
		if !ok {
			return sum, &host.LineError{Line: n, What: fmt.Sprintf("%s %.40q is not a number", key, value)}
		}
		*to = v
		switch {
		case string(key) == "low":
			sum.Low += v
		case string(key) == "count:" && pagesets:
			sum.PerCPU += v
		}
	}
	sum.Reserve += now.reserve()
	return sum, nil
}

// trimList takes "(3019," for 3019.
func trimList(f []byte) []byte {
	for len(f) > 0 && (f[0] == '(') {
		f = f[1:]
	}
	for len(f) > 0 && (f[len(f)-1] == ',' || f[len(f)-1] == ')') {
		f = f[:len(f)-1]
	}
	return f
}

// Estimate is how the kernel reckons MemAvailable: si_mem_available of
// mm/show_mem.c. In bytes.
type Estimate struct {
	Free, Reserve         uint64 // free, and what of it is kept back
	FilePages, KeptFile   uint64 // on the lists of file pages, and kept back of it
	Reclaimable, KeptSlab uint64 // of the kernel, and kept back of it
	Sum                   int64  // free - reserve + files - kept + reclaimable - kept
}

// Estimate reckons MemAvailable anew, to show its parts. ok is false where
// the kernel's file lacks one of them.
func (z Zones) Estimate(m *procfile.Meminfo, page uint64) (e Estimate, ok bool) {
	reclaimable := m.KReclaimable
	if reclaimable == nil { // before 4.20
		reclaimable = m.SReclaimable
	}
	if m.Free == nil || m.ActiveFile == nil || m.InactiveFile == nil || reclaimable == nil {
		return e, false
	}
	low := z.Low * page
	e = Estimate{Free: *m.Free, Reserve: z.Reserve * page, FilePages: *m.ActiveFile + *m.InactiveFile, Reclaimable: *reclaimable}
	e.KeptFile = min(e.FilePages/2, low)
	e.KeptSlab = min(e.Reclaimable/2, low)
	e.Sum = int64(e.Free) - int64(e.Reserve) + int64(e.FilePages-e.KeptFile) + int64(e.Reclaimable-e.KeptSlab)
	return e, true
}
