package diagnose

import (
	"fmt"
	"math"

	"iocause/internal/sample"
)

// removal is what a remedy takes out of the victim's time, in seconds summed
// over its threads.
type removal struct {
	sure   float64 // waiting that goes away
	maybe  float64 // waiting that may go away with it
	queue  bool    // waiting for processors: which threads do is not known
	kernel bool    // the time in the kernel may go, too: what it did for what was waited for
	copies float64 // bytes that are copied out of memory in any case
	more   bool    // more processors are part of the remedy
}

const (
	// unaccounted is the part of a thread's time that the accounts of waiting
	// miss or count twice: the ends of the window, and waits under way there.
	unaccounted = 0.01

	// cold is the share of the processor time of a program that does little but
	// wait which it needs only for that: after each wait caches, branch history and
	// the clock of the processor begin anew. Who waits less saves less.
	cold = 0.5

	// copySpeed is faster than any processor copies out of memory, in bytes a
	// second and thread.
	copySpeed = 40e9

	// known is the part of its time awake up to which a program may wait for what is
	// taken away and its pace without that be known. Who hardly ran was not seen
	// running: such upper ends were exceeded when they were tried.
	known = 0.5

	// worthSaying is the least factor that is one.
	worthSaying = 1.1
)

// promise is by how many times as much the victim does in the same time once a
// remedy is applied: at least low, at most high; 0 is not known, and why says why
// where neither is.
type promise struct {
	low, high float64
	why       string
}

// ofText is why nothing is promised of what a text tells.
const ofText = "from a text"

// promise works out what a remedy gives. What is left after it is, at most, all
// time that is not surely removed, idle time included, since whoever the victim
// serves may take as long as now (who sleeps most of the time may keep to a rate, and
// nothing is sure); and at least the time on a processor, without the part that
// waiting costs. Neither is more than the processors can do that it gets beside
// others. A text tells too little of whose time its figures are.
func (c *Case) promise(r removal) promise {
	v := &c.victim
	switch {
	case c.w.Told:
		return promise{why: ofText}
	case !v.known || v.pid == 0:
		return promise{why: "it is not known who waits"}
	case r.sure+r.maybe <= 0:
		return promise{why: "what it waits for was not measured"}
	}
	whole := max(c.threadTime(), v.awake())
	if r.queue {
		n, ok := c.w.Value(sample.ProcThreads, sample.Entity{PID: v.pid})
		if !ok || v.several > 1 { // nor what is done between processes that follow each other
			r.sure, r.maybe = 0, r.sure
		}
		whole = max(whole, n*c.w.Seconds())
	}
	var p promise
	paced := c.mayPause(whole)
	if r.sure > 0 && !paced {
		p.low = whole / (max(0, whole-r.sure) + unaccounted*whole)
	}
	awake := v.awake()
	if c.neverBlocks() {
		awake = whole // what it waits for is in no account of waiting
	}
	left := v.user
	if !r.kernel {
		left += v.system
	}
	left *= 1 - cold*clamp01((r.sure+r.maybe)/awake)
	left += r.copies / copySpeed
	// who is woken less often queues less often for a processor
	if rest := left + max(0, awake-v.cpu-v.delay-r.sure-r.maybe); rest > 0 && r.sure+r.maybe+v.delay <= known*awake {
		p.high = awake / rest
	}
	if sure, all, ok := c.processorsFor(whole / c.w.Seconds()); ok && !r.more && v.cpu > 0 {
		p.low = min(p.low, sure/v.cpu)
		if left > 0 {
			p.high = min(p.high, all/left)
		}
	}
	if p = p.plain(); p.low == 0 && p.high == 0 {
		switch {
		case r.sure > 0 && paced:
			p.why = "its threads sleep most of the time, and may keep to a rate"
		case r.sure+r.maybe > known*awake:
			p.why = "the program hardly ran while it waited, so how fast it can go was not seen"
		case r.queue:
			p.why = "how many of its threads wait at a time is not known"
		default:
			p.why = "the accounts of its time do not fit together"
		}
	}
	return p
}

// working is a promise about a victim that works all the time.
func (c *Case) working(p promise) promise {
	if c.w.Told {
		return promise{why: ofText}
	}
	return p.plain()
}

// mayPause tells that the victim sleeps most of a time, in seconds, and may keep to a rate.
func (c *Case) mayPause(whole float64) bool { return c.victim.awake() < mostlyAsleep*whole }

// threadTime is the time, in seconds, of the threads that wait: the whole that
// their waiting is a share of. Processes that run one after the other have the
// time of one thread.
func (c *Case) threadTime() float64 {
	s, v := c.w.Seconds(), &c.victim
	if v.row && v.awake() <= s*(1+waitShareLimit) {
		return max(s, v.awake())
	}
	t := s
	if v.spans != nil { // rest included, which the share leaves out
		t = s * v.waiters()
	} else if share := v.share(s); share > 0 {
		t = max(t, (v.waitTotal+v.pause)/share)
	}
	if share := v.stalled(s); share > 0 {
		t = max(t, v.stall/share)
	}
	return t
}

// processorsFor is the processor time, in seconds, that so many threads of the
// victim can have: for sure, in competition with all others that run or want to,
// where the scheduler gives each thread the same; and if others rest.
func (c *Case) processorsFor(threads float64) (sure, all float64, ok bool) {
	n, ok1 := c.gauge(sample.CPUCount)
	busy, ok2 := c.busyProcessors()
	if !ok1 || !ok2 {
		return 0, 0, false
	}
	s, v := c.w.Seconds(), &c.victim
	queued, _ := c.all(sample.CPURunDelay)
	others := max(0, busy-v.cpu/s) + max(0, queued-v.delay)/s
	fair := n * threads / max(n, threads+others)
	return max(v.cpu, min(threads, fair)*s), n * s, true
}

// plain rounds both ends outwards to what can be said, and leaves out what says
// nothing.
func (p promise) plain() promise {
	if p.low < worthSaying {
		p.low = 0
	}
	if p.high < 1 || p.high < p.low {
		p.high = 0 // not known, or the accounts do not fit together
	}
	if p.low > 0 {
		p.low = math.Floor(p.low*step(p.low)) / step(p.low)
	}
	if p.high > 0 {
		p.high = math.Ceil(p.high*step(p.high)) / step(p.high)
	}
	return p
}

// step keeps one digit after the point below 10, none above.
func step(x float64) float64 {
	if x < 10 {
		return 10
	}
	return 1
}

// String says it to people.
func (p promise) String() string {
	switch {
	case p.low > 0 && p.high > 0:
		return fmt.Sprintf("%sx to %sx as fast", factor(p.low), factor(p.high))
	case p.low > 0:
		return fmt.Sprintf("at least %sx as fast", factor(p.low))
	case p.high > 0:
		return fmt.Sprintf("at most %sx as fast", factor(p.high))
	}
	switch p.why {
	case "":
		return "the gain is not known"
	case ofText: // which does not tell how a program spends its time
		return "the gain is not known " + ofText
	}
	return "the gain is not known: " + p.why
}

func factor(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// advise puts a promise behind what to expect.
func (p promise) advise(do, expect string) Advice {
	return Advice{Do: do, Expect: expect + ": " + p.String(), Low: p.low, High: p.high}
}

// servedFromMemory is what goes away when what was evicted before is found in
// memory instead: the waits for it, and making room for it.
func (c *Case) servedFromMemory(v *cacheView, share float64) removal {
	r := removal{kernel: true, copies: v.accesses * pageSize}
	if c.neverBlocks() {
		r.sure = share * c.inFlight()
		return r
	}
	r.sure = share*v.readWait + c.victim.stall
	r.maybe = c.victim.waitIO() - r.sure
	return r
}

// timesFaster is what a device, or a limit of it, so many times as fast gives: who
// waits for it goes so many times as fast at most, and no faster than the rest of its
// time allows, which stays. sure is what it surely waits for the device, and maybe what
// it may: by how much these waits fall with each other is known to a tenth.
func (c *Case) timesFaster(times, sure, maybe float64) promise {
	v := &c.victim
	if c.w.Told || !v.known || v.pid == 0 || sure+maybe <= 0 {
		return c.promise(removal{maybe: sure + maybe})
	}
	const off = 0.10
	whole := max(c.threadTime(), v.awake())
	faster := func(of, waits float64) float64 { return min(times, of/max(of-waits, 1e-9)) }
	p := promise{low: (1 - off) * faster(whole, sure), high: (1 + off) * faster(v.awake(), sure+maybe)}
	if _, all, ok := c.processorsFor(whole / c.w.Seconds()); ok && v.cpu > 0 {
		p.low = min(p.low, all/v.cpu)
	}
	return p.plain()
}

// inFlight is the time, in seconds, that a victim which never blocks has I/O in
// flight and nothing on a processor.
func (c *Case) inFlight() float64 {
	s := c.w.Seconds()
	return min(1, c.victim.outstanding) * max(0, s-c.victim.cpu)
}

// fasterDevice is what may go away when the device does more in the same time or
// has less to do, neither of which says how much: all waiting, for locks too,
// since their holders wait for the device.
func (c *Case) fasterDevice() removal {
	if c.neverBlocks() {
		return removal{maybe: c.inFlight(), kernel: true}
	}
	return removal{maybe: c.victim.waitIO() + c.victim.lock, kernel: true}
}
