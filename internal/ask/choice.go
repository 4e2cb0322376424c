package ask

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Choice is a flag that takes one of some words.
type Choice struct {
	to  *string
	All []string
}

// OneOf is the value of such a flag, at first value; all are the words.
func OneOf(to *string, value string, all ...string) Choice {
	*to = value
	return Choice{to, all}
}

// Formats is the value of --format: text, or another of these.
func Formats(to *string, others ...string) Choice {
	return OneOf(to, "text", append([]string{"text"}, others...)...)
}

// Set implements pflag.Value.
func (f Choice) Set(s string) error {
	if !slices.Contains(f.All, s) {
		return &Error{Err: fmt.Errorf("%q is not known", s), Next: "use " + Or(f.All)}
	}
	*f.to = s
	return nil
}

// String implements pflag.Value.
func (f Choice) String() string {
	if f.to == nil {
		return ""
	}
	return *f.to
}

// Type implements pflag.Value: a word is shown as any string is.
func (Choice) Type() string { return "string" }

// Or is "a, b or c".
func Or(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Number is a flag that takes a whole number within bounds.
type Number struct {
	to          *int
	least, most int
}

// NumberIn is the value of such a flag.
func NumberIn(to *int, value, least, most int) Number {
	*to = value
	return Number{to, least, most}
}

// RowsIn is the value of --top: how many rows of a table are shown, 0 for all.
func RowsIn(to *int, value int) Number { return NumberIn(to, value, 0, math.MaxInt) }

// Set implements pflag.Value.
func (f Number) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < f.least || n > f.most {
		next := fmt.Sprintf("give a whole number from %d to %d", f.least, f.most)
		if f.most == math.MaxInt {
			next = fmt.Sprintf("give a whole number, %d or more", f.least)
		}
		return &Error{Err: fmt.Errorf("%q is out of range", s), Next: next}
	}
	*f.to = n
	return nil
}

// String implements pflag.Value; the help leaves out a default of "0".
func (f Number) String() string {
	if f.to == nil {
		return "0"
	}
	return strconv.Itoa(*f.to)
}

// Type implements pflag.Value.
func (Number) Type() string { return "int" }
