package sample

import (
	"fmt"
	"strings"
)

// Counted is a number of things as people say it: "1 process", "2 processes",
// "0 entries". one is the English word for one of them, with regular plural.
func Counted[N int | int64 | uint32 | uint64 | float64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	before, isY := strings.CutSuffix(one, "y")
	switch {
	case isY && !strings.HasSuffix(before, "a") && !strings.HasSuffix(before, "e") && !strings.HasSuffix(before, "o"):
		one = before + "ies"
	case strings.HasSuffix(one, "s"), strings.HasSuffix(one, "x"), strings.HasSuffix(one, "ch"), strings.HasSuffix(one, "sh"):
		one += "es"
	default:
		one += "s"
	}
	if whole := N(int64(n)); whole == n {
		return fmt.Sprintf("%d %s", int64(n), one)
	}
	return fmt.Sprintf("%.3g %s", float64(n), one)
}
