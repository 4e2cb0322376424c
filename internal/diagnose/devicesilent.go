package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"iocause/internal/sample"
)

// silentLeast is how long, in seconds, a device must not answer for it to be told: a
// disk that wakes up, or a large discard, takes some.
const silentLeast = 3

// silent judges devices that had requests in flight for all of the window and
// completed none: a path that is lost, a server of storage that hangs, a file system
// below that is frozen. Of several the one with most in flight comes first, for all
// that stand on it hang with it.
func (c *Case) silent() (Verdict, bool) {
	s := c.w.Seconds()
	if s < silentLeast || c.w.Told || !c.w.Has(sample.BlockOps) {
		return Verdict{}, false
	}
	type device struct {
		name           string
		inFlight, busy float64
	}
	var all []device
	c.w.Each(sample.DiskInFlight, func(e sample.Entity, _ *sample.Series) {
		n, ok := c.w.Value(sample.DiskInFlight, e)
		busy, known := c.w.Sum(sample.DiskBusy, e)
		if !ok || n < 1 || !known || busy < 0.95*s || c.target.Device != "" && e.Device != c.target.Device {
			return
		}
		if c.completed(e.Device) == 0 {
			all = append(all, device{e.Device, n, busy})
		}
	})
	// The victim's requests are on it, if none of them was completed elsewhere.
	if len(all) == 0 || c.narrowed() && c.target.Device == "" && !c.standsStill() {
		return Verdict{}, false
	}
	slices.SortFunc(all, func(a, b device) int {
		return cmp.Or(cmp.Compare(b.inFlight, a.inFlight), strings.Compare(a.name, b.name))
	})
	var e []Evidence
	for _, d := range all[:min(3, len(all))] {
		at := sample.Entity{Device: d.name}
		e = append(e,
			c.figureOf("requests in flight on "+d.name, d.inFlight, "count", sample.DiskInFlight, at).as("in-flight-unanswered"),
			c.figureOf("requests that "+d.name+" completed", 0, "count", sample.DiskReads, at).as("completed"),
			c.figureOf("time with requests in flight", d.busy/s, "ratio", sample.DiskBusy, at).as("time-in-flight"))
	}
	weight, of := 1.0, OfRequest
	if c.standsStill() {
		weight, of = c.blockedWeight(), ""
	}
	return Verdict{
		Answer: Yes, Confidence: confidence(0.6+min(0.3, s/100), true), Weight: weight, WeightOf: of, Culprit: Culprit{Device: all[0].name}, Evidence: e,
		Disprove: "a single request that takes longer than was watched, such as a large discard: watch for longer",
		Advice: []Advice{{
			Do:     fmt.Sprintf("find out why %s does not answer: dmesg, its path (multipath -ll, the hypervisor, the network to its storage), what is below it (lsblk -s, a frozen file system below a loop device)", all[0].name),
			Expect: "waiting programs continue when it answers; they cannot be killed until then",
		}},
	}, true
}

// standsStill tells whether the victim waits for I/O all the time, and none of its
// requests was completed.
func (c *Case) standsStill() bool {
	if c.victim.pid == 0 || c.victim.share(c.w.Seconds()) < 0.9 {
		return false
	}
	done, _ := c.w.SumWhere(sample.BlockOps, func(e sample.Entity) bool { return e.PID == c.victim.pid })
	return done == 0
}

// completed is how many requests of any kind a device has answered.
func (c *Case) completed(device string) float64 {
	n, _ := c.w.SumWhere(sample.BlockOps, func(e sample.Entity) bool { return e.Device == device && e.PID == 0 && e.Cgroup == "" })
	for _, m := range []sample.Metric{sample.DiskReads, sample.DiskWrites, sample.DiskFlushes} {
		done, _ := c.w.Sum(m, sample.Entity{Device: device})
		n += done
	}
	return n
}
