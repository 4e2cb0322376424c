package diff

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"iocause/internal/detect"
	"iocause/internal/sample"
)

func (d *Difference) compareFigures(sides [2]*side) {
	at := map[string]int{}
	size := map[string]bool{}
	for i, s := range sides {
		for _, f := range s.whole {
			if math.IsNaN(f.Value) || math.IsInf(f.Value, 0) {
				continue
			}
			n, ok := at[f.Key]
			if !ok {
				n = len(d.Figures)
				at[f.Key], size[f.Key] = n, f.Size
				d.Figures = append(d.Figures, Figure{Key: f.Key, Name: f.Name, Unit: f.Unit, Source: f.Source})
			}
			v := f.Value
			if i == 0 {
				d.Figures[n].A = &v
			} else {
				d.Figures[n].B = &v
			}
		}
	}
	sizes := false
	few := min(sides[0].windows, sides[1].windows) < detect.LeastValues
	rare, alone := 0, [2]int{}
	for i := range d.Figures {
		f := &d.Figures[i]
		if f.A == nil || f.B == nil {
			f.StandsOut = size[f.Key]
			sizes = sizes || f.StandsOut
			switch {
			case f.StandsOut:
			case f.B == nil:
				alone[0]++
			default:
				alone[1]++
			}
			continue
		}
		c := detect.Compare(*f.A, *f.B, sides[0].values[f.Key], sides[1].values[f.Key], floorOf(f))
		f.factor = c.Factor
		switch {
		case size[f.Key]:
			f.StandsOut = c.Large()
			sizes = sizes || f.StandsOut
			continue
		case c.Superiority >= 0:
			f.Superiority = &c.Superiority
			f.StandsOut = c.Clear
			continue
		}
		if f.StandsOut = c.Large(); f.StandsOut && !few {
			rare++
		}
	}
	for i := range d.Figures {
		d.Figures[i].beside = sizes && size[d.Figures[i].Key]
	}
	if few {
		d.Notes = append(d.Notes, fmt.Sprintf("a side has fewer than %d windows: figures may have changed by chance", detect.LeastValues))
	}
	if rare > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%s of these had a value in fewer than %d windows of a side: they may have changed by chance", sample.Counted(rare, "figure"), detect.LeastValues))
	}
	for i, n := range alone {
		if n > 0 {
			d.Notes = append(d.Notes, fmt.Sprintf("%s only %s has: --all shows them", sample.Counted(n, "figure"), "AB"[i:i+1]))
		}
	}
}

// floorOf is how much of a figure is nothing: a change below it is none.
func floorOf(f *Figure) float64 {
	switch f.Unit {
	case "bytes/s":
		return 256 << 10
	case "count/s":
		return 20
	case "ratio", "count":
		return 0.02
	case "seconds":
		return 20e-6
	}
	if strings.HasPrefix(f.Key, "disk.") || strings.HasPrefix(f.Key, "data.") {
		return 1 << 10
	}
	return 4 << 20
}

// LeaveUnclear takes out the figures that do not stand out. Where a size does,
// the others stay: the data against the limit, whichever of them changed.
func (d *Difference) LeaveUnclear() {
	d.Figures = slices.DeleteFunc(d.Figures, func(f Figure) bool { return !f.StandsOut && !f.beside })
}

// shown are the figures for people: of those that stand out the most changed,
// in the order in which they tell what happened.
func (d *Difference) shown(all bool) (figures []Figure, left int) {
	if all {
		return d.Figures, 0
	}
	const most = 24
	figures = slices.DeleteFunc(slices.Clone(d.Figures), func(f Figure) bool { return !f.StandsOut && !f.beside })
	if len(figures) <= most {
		return figures, 0
	}
	weights := []float64{}
	weight := func(f *Figure) float64 {
		if f.factor == 0 || f.Key == "cache.hit_ratio" || f.Superiority == nil {
			return math.Inf(1)
		}
		return math.Abs(math.Log(f.factor))
	}
	for i := range figures {
		weights = append(weights, weight(&figures[i]))
	}
	slices.SortFunc(weights, func(a, b float64) int { return cmp.Compare(b, a) })
	left = len(figures) - most
	least := weights[most-1]
	figures = slices.DeleteFunc(figures, func(f Figure) bool { return weight(&f) < least })
	return figures, left
}
