package detect

import (
	"math"
	"slices"

	"iocause/internal/sample"
)

const (
	// blatantWithin is how many slots are looked back at for what is blatant, and
	// blatantBad how many of them must be: it is told within a minute.
	blatantWithin, blatantBad = 6, 5
	// blatantLeast is how many slots of what was done must be known: a minute.
	blatantLeast = 6
)

// blatant tells, while nothing is known of what is normal, whether threads wait
// for disks nearly all of the time while less is done than in the minutes before.
// A disk at full speed is no fault: who copies or backs up waits for it all the
// time, and gets more done than was done before.
func (w *Watch) blatant(values []float64) (bool, []sample.Reason) {
	wait := slices.IndexFunc(w.signals, func(s Signal) bool { return s.Name == SignalDiskPressure })
	if wait < 0 || w.rule.Blatant <= 0 || w.refs[wait].Basis != Learning || !(values[wait] >= w.rule.Blatant) {
		return false, nil
	}
	oldest := int64(recentOldest)
	if w.on {
		oldest = recentOpen
	}
	var reasons []sample.Reason
	for i, v := range values {
		s := &w.signals[i]
		if !s.agrees() && i != wait || math.IsNaN(v) {
			continue
		}
		r := w.before[i].since(s, w.slot, oldest, blatantLeast)
		if r.Basis == Learning || i != wait && (r.Q[2] < 2*s.Floor || v > w.rule.Left*r.Q[2]) {
			continue
		}
		reasons = append(reasons, sample.Reason{Signal: s.Name, Unit: s.Unit, Value: v, Normal: r.Q[2], Low: r.Q[0], High: r.Q[4],
			Z: r.Z(s, v), Basis: string(r.Basis), Days: r.Days})
	}
	less := slices.ContainsFunc(reasons, func(r sample.Reason) bool { return r.Signal != SignalDiskPressure })
	return less, reasons
}

// blatantOnes takes the verdict of the newest slot, and tells whether enough of
// late are blatant, and the first of them.
func (w *Watch) blatantOnes(now bool) (many bool, first int64) {
	w.first = append(w.first[1:], now)
	n := 0
	for i, is := range w.first {
		if is {
			if n++; n == 1 {
				first = w.slot - int64(len(w.first)-1-i)
			}
		}
	}
	return n >= blatantBad, first
}
