package source

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/sample"
)

// Cost is what observing took from the machine so far.
type Cost struct {
	CPUSeconds float64 // of this process, user and system, start-up included
	BPFSeconds float64 // of the kernel programs, charged to the traced processes
	RSSBytes   int64   // peak resident memory of this process
	Lost       uint64  // events that were seen but could not be kept
}

// ReadCost adds up the cost of a window: the kernel programs' part is in the
// window, this process's own part comes from getrusage(2) and from VmHWM of
// /proc/self/status.
func ReadCost(h *host.Host, w *sample.Window) (Cost, error) {
	var c Cost
	c.BPFSeconds, _ = w.SumWhere(sample.CostBPFTime, everything)
	lost, _ := w.SumWhere(sample.CostLost, everything)
	c.Lost = uint64(lost)
	if !h.IsLive {
		return c, nil
	}
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &use); err != nil {
		return c, fmt.Errorf("reading its own processor time: %w", err)
	}
	c.CPUSeconds = seconds(use.Utime) + seconds(use.Stime)
	peak, err := peakRSS(h.Proc("self", "status"))
	c.RSSBytes = peak
	return c, err
}

func everything(sample.Entity) bool { return true }

func seconds(t unix.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

// peakRSS is the most memory that the process of a status file had resident, in
// bytes.
func peakRSS(path string) (int64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("reading its own memory: %w", err)
	}
	status, err := procfile.ParseStatus(b)
	if err != nil {
		return 0, fmt.Errorf("reading its own memory: %w", host.In(path, err))
	}
	if status.Peak == nil {
		return 0, fmt.Errorf("reading its own memory: no VmHWM in %s", path)
	}
	return int64(*status.Peak), nil
}
