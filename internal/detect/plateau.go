package detect

import "slices"

// plateauFrom is the share of the plateau that a bin at it has at the least.
const plateauFrom = 0.9

// Plateau is the level that a rate keeps reaching and does not pass: where a
// device, or a limit on it, stops it.
type Plateau struct {
	Level float64 // in one bin
	Share float64 // of all bins, the idle ones included, that are at it
}

// At tells whether a bin is at the plateau.
func (p Plateau) At(v uint64) bool { return p.Level > 0 && float64(v) >= plateauFrom*p.Level }

// PlateauOf finds it: the 95th percentile of the bins that are not empty, so
// that a single outlier does not set it. A bin is at the plateau from 90 % of
// that on.
func PlateauOf(bins []uint64) Plateau {
	var busy []uint64
	for _, v := range bins {
		if v > 0 {
			busy = append(busy, v)
		}
	}
	if len(busy) == 0 {
		return Plateau{}
	}
	slices.Sort(busy)
	p := Plateau{Level: float64(busy[(len(busy)-1)*95/100])}
	at := 0
	for _, v := range busy {
		if p.At(v) {
			at++
		}
	}
	p.Share = float64(at) / float64(len(bins))
	return p
}
