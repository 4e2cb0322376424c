package ask

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes that people write with a binary suffix: 4096, 8k,
// 256M, 1.5G. It is a flag.Value.
type Size int64

// Set parses text.
func (s *Size) Set(text string) error {
	number := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(text), "B"), "i")
	shift := 0
	if number != "" {
		if i := strings.IndexByte("kmgt", number[len(number)-1]|0x20); i >= 0 {
			shift = 10 * (i + 1)
			number = number[:len(number)-1]
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || v < 0 || math.IsNaN(v) || v*float64(int64(1)<<shift) >= math.MaxInt64 {
		return fmt.Errorf("%q is not a size: want bytes, or a number with k, M, G or T", text)
	}
	*s = Size(v * float64(int64(1)<<shift))
	return nil
}

// String is the shortest exact spelling that Set reads back.
func (s *Size) String() string {
	v := int64(*s)
	for i, suffix := range []string{"T", "G", "M", "k"} {
		if unit := int64(1) << (40 - 10*i); v >= unit && v%unit == 0 {
			return strconv.FormatInt(v/unit, 10) + suffix
		}
	}
	return strconv.FormatInt(v, 10)
}

// Type names the value in help texts.
func (*Size) Type() string { return "size" }

// UnmarshalText lets configuration files use the same spelling.
func (s *Size) UnmarshalText(text []byte) error { return s.Set(string(text)) }

// MarshalText is the opposite of UnmarshalText.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
