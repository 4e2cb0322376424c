package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/diagnose"
)

// exitFound ends a diagnosis that found what --fail-on names.
const exitFound = 3

// failOn are the answers that a diagnosis shall end with exitFound for.
type failOn []string

func (f *failOn) bind(c *cobra.Command) {
	c.Flags().StringSliceVar((*[]string)(f), "fail-on", nil, "exit with status 3 if this is the answer: a cause, \"problem\" for any cause, \"cannot-tell\"")
}

// check refuses what can never be an answer.
func (f failOn) check() error {
	all := diagnose.Answers()
	for _, name := range f {
		if !slices.Contains(all, name) {
			return &ask.Error{Err: fmt.Errorf("reading --fail-on: %q is not an answer", name), Next: "the answers are " + strings.Join(all, ", ")}
		}
	}
	return nil
}

// judge is the end of a diagnosis that has been said.
func (f failOn) judge(r *diagnose.Report) error {
	if r.Is(f) {
		return &exitError{exitFound}
	}
	return nil
}
