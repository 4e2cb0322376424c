package diagnose

import (
	"fmt"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// ownShare is the share of a device's requests from which on what becomes of it is what
// becomes of who sends them.
const ownShare = 0.9

// after says what the victim's device would do after a change, with the interval, "" where
// too little was seen of it; gain is what that is for the victim, where it has the device
// for itself.
func (c *Case) after(kind figure.ChangeKind, times float64) (text string, gain promise) {
	if c.w.Told || c.syncs() { // flushes are neither reads nor writes, and what waits for them is not known of the device
		return "", gain
	}
	f := figure.ForecastOf(c.w, c.device)
	if f == nil {
		return "", gain
	}
	now, then, ok := f.After(kind, times)
	if !ok {
		return "", gain
	}
	r, was, unit := then.Ops, now.Ops.Value, " operations a second"
	say := func(x float64) string { return fmt.Sprintf("%.0f", x) }
	if now.Size > 0 && (then.Size != now.Size || f.Limit == figure.LimitBytes) {
		r = figure.Range{Value: r.Value * then.Size, Low: r.Low * then.Size, High: r.High * then.Size}
		was, unit, say = was*now.Size, "", func(x float64) string { return bytes(x) + "/s" }
	}
	text = fmt.Sprintf("%s about %s%s (%s to %s) in place of %s", then.Name, say(r.Value), unit, say(r.Low), say(r.High), say(was))
	if c.hasDeviceToItself() {
		if gain = (promise{low: r.Low / was, high: r.High / was}).plain(); c.mayPause(c.threadTime()) {
			gain.low = 0
		}
	}
	return text, gain
}

// hasDeviceToItself tells whether nearly all requests of the victim's device are its own.
func (c *Case) hasDeviceToItself() bool {
	var own, all float64
	hands := c.hands()
	for _, op := range []string{sample.ClassRead, sample.ClassWrite} {
		n, _ := c.w.Sum(sample.BlockOps, sample.Entity{Device: c.device, Class: op})
		all += n
		for pid := range hands {
			n, _ := c.w.Sum(sample.BlockOps, sample.Entity{PID: pid, Device: c.device, Class: op})
			own += n
		}
	}
	return own > 0 && own >= ownShare*all
}

// giving puts what the device would do after a change behind what to expect of an advice, and
// what that is for the victim.
func (a Advice) giving(text string, gain promise) Advice {
	if text == "" {
		return a
	}
	if a.Expect += "; with " + text; gain.low+gain.high > 0 {
		return gain.advise(a.Do, a.Expect)
	}
	return a
}
