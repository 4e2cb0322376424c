package sample

import (
	"strconv"
	"strings"
)

// IOClass is the class of requests that are alike: one operation, one size and
// one depth of the queue at arrival, both rounded down to a power of two. In an
// entity it is "read 4096 8", and "read 4096" where it is of any depth.
type IOClass struct {
	Op    string // "read", "write" or "other"
	Size  uint64 // bytes
	Depth uint64 // requests in flight, its own included; 0 for any
}

// String is the class of an entity.
func (c IOClass) String() string {
	b := strconv.AppendUint(append([]byte(c.Op), ' '), c.Size, 10)
	if c.Depth > 0 {
		b = strconv.AppendUint(append(b, ' '), c.Depth, 10)
	}
	return string(b)
}

// ParseIOClass reads the class of an entity; ok is false for any other.
func ParseIOClass(class string) (c IOClass, ok bool) {
	parts := strings.Split(class, " ")
	if len(parts) < 2 || len(parts) > 3 {
		return c, false
	}
	c.Op = parts[0]
	var err error
	if c.Size, err = strconv.ParseUint(parts[1], 10, 64); err != nil {
		return IOClass{}, false
	}
	if len(parts) == 3 {
		if c.Depth, err = strconv.ParseUint(parts[2], 10, 64); err != nil || c.Depth == 0 {
			return IOClass{}, false
		}
	}
	return c, true
}
