package predict

import "math"

// Dirty is what is known of dirty memory, in bytes and bytes a second: pages that
// were written to files and are not on disk yet.
type Dirty struct {
	Limit      float64 `json:"limit_bytes"`      // as the kernel works it out (nr_dirty_threshold)
	Background float64 `json:"background_bytes"` // from here on it writes back (nr_dirty_background_threshold)
	Now        float64 `json:"dirty_bytes"`      // dirty and under writeback
	Rate       float64 `json:"written_bytes_per_s"`
	Drain      float64 `json:"drained_bytes_per_s"` // what the devices take; 0: not known
}

// Pause is when writers are paused.
type Pause struct {
	From   float64  `json:"pauses_from_bytes"` // dirty memory at which they are
	After  *float64 `json:"after_seconds"`     // null: never at that rate
	Bytes  *float64 `json:"after_bytes"`       // that can be written until then
	Then   float64  `json:"then_bytes_per_s"`  // all writers together, from then on; 0: not known
	Behind *float64 `json:"behind_bytes"`      // that can be written until who keeps the rate falls behind for good: from after_bytes to this
	Bounds bool     `json:"at_least"`          // the drain is not known: these are the least
}

// Pauses works out when writers are paused that write at Rate (balance_dirty_pages
// of mm/page-writeback.c): below the mean of the two limits everybody writes at the
// speed of memory, and the devices drain what is above the lower one. The first pauses are
// made up for; for good a writer falls behind before dirty memory is at the limit itself.
func (d Dirty) Pauses() Pause {
	p := Pause{From: (d.Limit + d.Background) / 2, Then: d.Drain, Bounds: d.Drain <= 0}
	if after, ok := d.reaches(p.From); ok {
		bytes := after * d.Rate
		p.After, p.Bytes = &after, &bytes
	}
	if after, ok := d.reaches(d.Limit); ok {
		bytes := after * d.Rate
		p.Behind = &bytes
	}
	return p
}

// reaches is the time until so much is dirty.
func (d Dirty) reaches(level float64) (after float64, ok bool) {
	rises := d.Rate - max(0, d.Drain)
	switch {
	case d.Now >= level:
		return 0, true
	case d.Rate <= 0 || rises <= 0: // above Background it is drained as fast as it comes
		return 0, false
	case d.Now < d.Background:
		after = (d.Background-d.Now)/d.Rate + (level-d.Background)/rises
	default:
		after = (level - d.Now) / rises
	}
	return after, !math.IsInf(after, 0) && !math.IsNaN(after)
}

// Scaled is the same with limits and devices so many times as large and as fast.
func (d Dirty) Scaled(limits, devices float64) Dirty {
	d.Limit, d.Background, d.Drain = d.Limit*limits, d.Background*limits, d.Drain*devices
	return d
}

// Limited is the same with another limit. Writeback begins where it does now, or at
// half of the limit where that is not below it (domain_dirty_limits of
// mm/page-writeback.c).
func (d Dirty) Limited(limit float64) Dirty {
	if d.Limit = limit; d.Background >= limit {
		d.Background = limit / 2
	}
	return d
}
