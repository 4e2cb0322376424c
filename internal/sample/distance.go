package sample

import (
	"strconv"
	"strings"
)

// Distance is how far away pages had been that came back: so many others were
// evicted between their eviction and their return, at least Low and less than High.
// In an entity it is "1024-1280".
type Distance struct{ Low, High uint64 }

// String is the class of an entity.
func (d Distance) String() string {
	return strconv.FormatUint(d.Low, 10) + "-" + strconv.FormatUint(d.High, 10)
}

// ParseDistance reads the class of an entity; ok is false for any other.
func ParseDistance(class string) (d Distance, ok bool) {
	low, high, cut := strings.Cut(class, "-")
	var err1, err2 error
	d.Low, err1 = strconv.ParseUint(low, 10, 64)
	d.High, err2 = strconv.ParseUint(high, 10, 64)
	if !cut || err1 != nil || err2 != nil || d.High <= d.Low {
		return Distance{}, false
	}
	return d, true
}
