package detect

import "iocause/internal/sample"

// Family is a resource whose signals can open an incident.
type Family uint8

// The families. A signal of None has a baseline and opens nothing.
const (
	None Family = iota
	CPU
	Memory
	Disk
	Requests // what disks get done; it only agrees with Disk
	families // how many, None included
)

// Signal is a figure of the host that is summed up by the hour.
type Signal struct {
	Name   string
	Unit   string // a base unit of sample.Unit or a rate of one
	Help   string
	Family Family
	Down   bool // low is bad
	// Floor is the least spread that is believed: on a quiet host every
	// change would stand out.
	Floor float64
	// Saturated is the level that counts as far off while nothing is known
	// of what is normal; 0 for none.
	Saturated float64
}

// agrees tells a signal of what is done: where threads wait for disks, it says
// whether that keeps them from it.
func (s *Signal) agrees() bool { return s.Family == CPU || s.Family == Requests }

// worse is how far v lies on the bad side of normal.
func (s *Signal) worse(v, normal float64) float64 {
	if s.Down {
		return normal - v
	}
	return v - normal
}

// The signals by name, which baselines, incidents and their signatures have.
const (
	SignalUser           = "cpu.user"
	SignalMemoryPressure = "memory.pressure"
	SignalRefaults       = "memory.refaults"
	SignalDiskPressure   = "disk.pressure"
	SignalLatency        = "disk.latency"
	SignalRequests       = "disk.requests"
	SignalBusy           = "disk.busy"
	SignalRead           = "disk.read"
	SignalWrite          = "disk.write"
	SignalAvailable      = "memory.available"
	SignalCPUPressure    = "cpu.pressure"
)

// Signals are the signals that iocause learns. Several of one family measure the
// same: a family is judged by the first of them that a sample holds.
func Signals() []Signal {
	const ratio, seconds, perSecond = string(sample.Ratio), string(sample.Seconds), "/s"
	return []Signal{
		{Name: SignalUser, Unit: ratio, Family: CPU, Down: true, Floor: 0.02,
			Help: "processors' time in programs"},
		{Name: SignalMemoryPressure, Unit: ratio, Family: Memory, Floor: 0.01, Saturated: 0.4,
			Help: "time in which threads waited for memory"},
		{Name: SignalRefaults, Unit: string(sample.Pages) + perSecond, Family: Memory, Floor: 200,
			Help: "pages read back that had been pushed out"},
		{Name: SignalDiskPressure, Unit: ratio, Family: Disk, Floor: 0.03, Saturated: 0.8,
			Help: "time in which threads waited for I/O"},
		{Name: SignalLatency, Unit: seconds, Family: Disk, Floor: 0.002,
			Help: "mean time of a request, of the slowest disk"},
		{Name: SignalRequests, Unit: string(sample.Count) + perSecond, Family: Requests, Down: true, Floor: 20,
			Help: "requests that all disks completed"},
		{Name: SignalBusy, Unit: ratio, Floor: 0.03, Help: "time with I/O in flight, of the busiest disk"},
		{Name: SignalRead, Unit: string(sample.Bytes) + perSecond, Floor: 1 << 20, Help: "read from all disks"},
		{Name: SignalWrite, Unit: string(sample.Bytes) + perSecond, Floor: 1 << 20, Help: "written to all disks"},
		{Name: SignalAvailable, Unit: ratio, Down: true, Floor: 0.02, Help: "memory that programs can still get"},
		{Name: SignalCPUPressure, Unit: ratio, Floor: 0.03, Help: "time in which threads waited for a processor"},
	}
}
