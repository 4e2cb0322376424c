package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/ask"
)

// choiceFlag is a flag that takes one of some words.
type choiceFlag struct {
	to  *string
	all []string
}

// oneOf is the value of such a flag, at first value; all are the words.
func oneOf(to *string, value string, all ...string) choiceFlag {
	*to = value
	return choiceFlag{to, all}
}

// formats is the value of --format: text, or another of these.
func formats(to *string, others ...string) choiceFlag {
	return oneOf(to, "text", append([]string{"text"}, others...)...)
}

// Set implements pflag.Value.
func (f choiceFlag) Set(s string) error {
	if !slices.Contains(f.all, s) {
		return &ask.Error{Err: fmt.Errorf("%q is not known", s), Next: "use " + orList(f.all)}
	}
	*f.to = s
	return nil
}

// String implements pflag.Value.
func (f choiceFlag) String() string {
	if f.to == nil {
		return ""
	}
	return *f.to
}

// Type implements pflag.Value: a word is shown as any string is.
func (choiceFlag) Type() string { return "string" }

// orList is "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// numberFlag is a flag that takes a whole number within bounds.
type numberFlag struct {
	to          *int
	least, most int
}

// numberIn is the value of such a flag.
func numberIn(to *int, value, least, most int) numberFlag {
	*to = value
	return numberFlag{to, least, most}
}

// rowsIn is the value of --top: how many rows of a table are shown, 0 for all.
func rowsIn(to *int, value int) numberFlag { return numberIn(to, value, 0, math.MaxInt) }

// Set implements pflag.Value.
func (f numberFlag) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < f.least || n > f.most {
		next := fmt.Sprintf("give a whole number from %d to %d", f.least, f.most)
		if f.most == math.MaxInt {
			next = fmt.Sprintf("give a whole number, %d or more", f.least)
		}
		return &ask.Error{Err: fmt.Errorf("%q is out of range", s), Next: next}
	}
	*f.to = n
	return nil
}

// String implements pflag.Value; the help leaves out a default of "0".
func (f numberFlag) String() string {
	if f.to == nil {
		return "0"
	}
	return strconv.Itoa(*f.to)
}

// Type implements pflag.Value.
func (numberFlag) Type() string { return "int" }
