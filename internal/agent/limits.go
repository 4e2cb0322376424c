package agent

import (
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"iocause/internal/host"
	"iocause/internal/procfile"
)

// use is what the agent has used so far.
type use struct {
	cpu      time.Duration
	resident int64 // bytes, now
	written  int64 // bytes to block devices
}

// readUse reads getrusage(2), /proc/self/statm and /proc/self/io.
func readUse(h *host.Host) (use, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return use{}, fmt.Errorf("reading its own processor time: %w", err)
	}
	u := use{cpu: time.Duration(r.Utime.Nano() + r.Stime.Nano())}
	b, err := os.ReadFile(h.Proc("self", "statm"))
	if err != nil {
		return u, fmt.Errorf("reading its own memory: %w", err)
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return u, fmt.Errorf("reading its own memory: /proc/self/statm has %d fields", len(f))
	}
	pages, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		return u, fmt.Errorf("reading its own memory: %w", err)
	}
	u.resident = pages * int64(os.Getpagesize())
	own, err := procfile.ReadIO(h.Proc("self", "io"))
	if err != nil {
		return u, fmt.Errorf("reading its own writes: %w", err)
	}
	u.written = int64(own.WriteBytes)
	return u, nil
}

// governor keeps the agent within its limits: when it takes too much for three
// looks in a row, the source that costs most of that is read half as often; when
// it takes less than half for thirty, one step of that is undone.
type governor struct {
	cpu    float64 // of one processor
	kernel float64 // of one processor, by kernel programs
	memory int64   // bytes resident
	feeds  []*feed
	log    *slog.Logger

	over, under int
	before      use
	at          time.Time
	spent       map[*feed]int64
}

const (
	lookEvery = 10 * time.Second
	overFor   = 3
	underFor  = 30
	slowest   = 32 // times the interval that is set
)

// look takes what was used up to now.
func (g *governor) look(now time.Time, u use) {
	costs, kernels := map[*feed]int64{}, map[*feed]int64{}
	kernel := 0.0
	for _, f := range g.feeds {
		kernels[f] = f.kernel.Load() * int64(lookEvery/time.Second)
		kernel += time.Duration(f.kernel.Load()).Seconds()
		total := f.spent.Load()
		costs[f] = total - g.spent[f]
		g.spent[f] = total
	}
	if g.at.IsZero() {
		g.before, g.at = u, now
		return
	}
	share := float64(u.cpu-g.before.cpu) / float64(now.Sub(g.at))
	g.before, g.at = u, now
	why := ""
	switch {
	case share > g.cpu:
		why = fmt.Sprintf("the agent takes %.2f %% of a processor, more than %.2f %%", 100*share, 100*g.cpu)
	case u.resident > g.memory:
		why = fmt.Sprintf("the agent takes %d bytes of memory, more than %d", u.resident, g.memory)
		debug.FreeOSMemory()
	case kernel > g.kernel:
		why = fmt.Sprintf("the agent's kernel programs take %.2f %% of a processor, more than %.2f %%", 100*kernel, 100*g.kernel)
		costs = kernels
	}
	switch {
	case why != "":
		g.over, g.under = g.over+1, 0
	case share < g.cpu/2 && kernel < g.kernel/2 && u.resident < g.memory/4*3:
		g.over, g.under = 0, g.under+1
	default:
		g.over, g.under = 0, 0
	}
	switch {
	case g.over == overFor:
		g.over = 0
		g.shed(costs, why)
	case g.under == underFor:
		g.under = 0
		g.restore(costs)
	}
}

func (g *governor) shed(costs map[*feed]int64, why string) {
	var worst *feed
	for _, f := range g.feeds {
		if costs[f] > 0 && f.factor.Load() < slowest && (worst == nil || costs[f] > costs[worst]) {
			worst = f
		}
	}
	if worst == nil {
		g.log.Error("the agent exceeds its limits, although every source is read as rarely as possible", "why", why)
		return
	}
	worst.factor.Store(2 * worst.factor.Load())
	worst.kernel.Store(0) // that was at the former interval
	g.log.Warn("the most expensive source is read less often", "source", worst.entry.Name,
		"interval", worst.interval(), "why", why, "time_of_the_source_in_10_s", time.Duration(costs[worst]))
}

// restore undoes a step of the source that costs least of those that are read
// less often.
func (g *governor) restore(costs map[*feed]int64) {
	var least *feed
	for _, f := range g.feeds {
		if f.factor.Load() > 1 && (least == nil || costs[f] < costs[least]) {
			least = f
		}
	}
	if least != nil {
		least.factor.Store(least.factor.Load() / 2)
		g.log.Info("a source is read more often again", "source", least.entry.Name, "interval", least.interval())
	}
}
