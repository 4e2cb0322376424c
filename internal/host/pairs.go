package host

import "fmt"

// Pairs reads lines of a name and a number. want says where the number belongs, nil
// for lines that are not read.
func Pairs(b []byte, want func(key []byte) *(*uint64)) error {
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = Line(b)
		key, rest := Field(line)
		to := want(key)
		if to == nil {
			continue
		}
		f, _ := Field(rest)
		v, ok := Uint(f)
		if !ok {
			return &LineError{Line: n, What: fmt.Sprintf("%s %.40q is not a number", key, f)}
		}
		*to = &v
	}
	return nil
}
