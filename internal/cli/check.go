package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/bpf"
	"iocause/internal/diagnose"
	"iocause/internal/sample"
	"iocause/internal/source"
)

// The check takes three seconds at most, unless somebody has more of them: two
// thirds of it to open the sources.
const (
	checkLimit  = 3 * time.Second
	checkWindow = 200 * time.Millisecond
)

// checked is what the check found out.
type checked struct {
	Sources  []checkedSource  `json:"sources"`
	Verdicts []checkedVerdict `json:"verdicts"`
}

// state is how a source fares here.
type state string

// The states; a source works in part when it said itself that it lacks
// something.
const (
	works        state = "works"
	inPart       state = "in part"
	notSupported state = "not supported"
	failed       state = "failed"
)

type checkedSource struct {
	Name  string   `json:"name"`
	State state    `json:"state"`
	Why   []string `json:"why,omitempty"`
	Needs string   `json:"needs,omitempty"` // when it does not work
	// Ways is how it asks the kernel, where kernels differ in that.
	Ways []sample.Way `json:"ways,omitempty"`
}

type checkedVerdict struct {
	Cause    diagnose.ID `json:"cause"`
	Possible bool        `json:"possible"`
	Missing  []string    `json:"missing,omitempty"` // "a or b": one of them would do
}

func newCheckCommand(e *env) *cobra.Command {
	var format string
	limit := checkLimit
	c := &cobra.Command{
		Use:     "check",
		Short:   "Say what can be observed here, and which verdicts that allows",
		Long:    helpOf("check"),
		Example: examplesOf("check"),
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			if limit < checkLimit {
				return &usageError{fmt.Errorf("reading --timeout: %v is too short", limit), fmt.Sprintf("give %v or more", checkLimit)}
			}
			return runCheck(c.Context(), e, format, limit)
		},
	}
	c.Flags().DurationVar(&limit, "timeout", limit, "give up what has not answered by then")
	c.Flags().StringVar(&format, "format", "text", "text or json")
	return c
}

func runCheck(ctx context.Context, e *env, format string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan checked, 1)
	go func() { done <- tryAll(ctx, e, limit) }()
	var result checked
	select {
	case result = <-done:
	case <-ctx.Done():
		return fmt.Errorf("reading every source: %w within %v; the machine may be overloaded, try again with a longer --timeout", ctx.Err(), limit)
	}
	var err error
	if format == "json" {
		err = writeJSON(e.stdout, result)
	} else {
		err = writeChecked(e.stdout, result, styleOf(e.stdout, func(string) string { return "" }, widestText).Width)
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(result.Verdicts, func(v checkedVerdict) bool { return !v.Possible }) {
		return &exitError{exitFailed}
	}
	return nil
}

// tryAll opens and reads every source.
func tryAll(ctx context.Context, e *env, limit time.Duration) checked {
	open, cancel := context.WithTimeout(ctx, limit*2/3)
	defer cancel()
	collector := source.Open(open, e.host, e.sources)
	defer collector.Close()
	if end, ok := ctx.Deadline(); ok { // to name what hangs before the check itself is over
		collector.Patience = max(time.Until(end)/2, 100*time.Millisecond)
	}
	collector.Begin()
	w := collector.Observe(ctx, source.Observation{Length: checkWindow})
	all := collector.Statuses()
	var c checked
	for i := range all {
		c.Sources = append(c.Sources, checkSource(&all[i]))
	}
	c.Verdicts = checkVerdicts(diagnose.List(), source.Offered(all, w))
	return c
}

func checkSource(s *source.Status) checkedSource {
	out := checkedSource{Name: s.Name, State: works, Ways: s.Ways}
	for _, g := range s.Gaps {
		out.State = inPart
		out.Why = append(out.Why, g.Why)
	}
	if err := cmp.Or(s.OpenErr, s.Err); err != nil {
		out.State = failed
		if isUnsupported(err) {
			out.State = notSupported
		}
		out.Why = append([]string{err.Error()}, out.Why...)
		out.Needs = s.Needs
	}
	return out
}

// isUnsupported tells a kernel that lacks something from a failure that
// privileges or another try may cure.
func isUnsupported(err error) bool {
	for _, lacks := range []error{bpf.ErrNotSupported, bpf.ErrNoBTF, errors.ErrUnsupported, fs.ErrNotExist} {
		if errors.Is(err, lacks) {
			return true
		}
	}
	return false
}

// checkVerdicts says which causes can be judged with the metrics there are: of
// each list in Needs one.
func checkVerdicts(causes []diagnose.Cause, has map[sample.Metric]bool) []checkedVerdict {
	var out []checkedVerdict
	for _, cause := range causes {
		v := checkedVerdict{Cause: cause.ID, Possible: true}
		for _, oneOf := range cause.Needs {
			if slices.ContainsFunc(oneOf, func(m sample.Metric) bool { return has[m] }) {
				continue
			}
			var names []string
			for _, m := range oneOf {
				names = append(names, string(m))
			}
			v.Possible = false
			v.Missing = append(v.Missing, strings.Join(names, " or "))
		}
		out = append(out, v)
	}
	return out
}
