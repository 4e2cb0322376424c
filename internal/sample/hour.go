package sample

import "time"

// Hour sums up one signal over one hour of local time. It is what is kept for
// months, to say what is normal.
type Hour struct {
	Signal  string
	Start   time.Time  // of the hour on the clock, in local time
	N       int        // samples of ten seconds that are in it
	Alarmed int        // samples that were off; those of an incident are in it only if it recurs
	Q       [5]float64 // the quantiles at HourQuantiles
	Extreme float64    // the median of the worst minute
}

// HourQuantiles are the shares of the samples that lie below Hour.Q.
func HourQuantiles() [5]float64 { return [5]float64{0.05, 0.25, 0.50, 0.75, 0.95} }
