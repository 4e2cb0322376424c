package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"iocause/internal/host"
)

// NewScore is a score of this machine, without runs. What cannot be read of the host
// is absent.
func NewScore(h *host.Host, repeat int) *Score {
	is, _ := h.Fingerprint()
	return &Score{Started: time.Now(), Repeat: repeat, Kernel: is.Kernel, CPUs: is.CPUs, CPU: is.CPUModel, Memory: is.MemoryBytes}
}

// End counts what was run.
func (x *Score) End() {
	x.Seconds = time.Since(x.Started).Seconds()
	x.Tally = NewTally(x.Runs)
}

// Reaches is the error of a score with a smaller share of right primary causes.
func (x *Score) Reaches(floor float64) error {
	ratio, known := x.Tally.Primary.Ratio()
	if !known {
		return errors.New("counting: no situation could be set up; the reasons are above")
	}
	if ratio < floor {
		return fmt.Errorf("comparing the score with the floor: %.1f %% of the primary causes are right, less than %.1f %%", 100*ratio, 100*floor)
	}
	return nil
}

// Here runs the scenarios on this machine, with test files in dir. Their recordings
// are kept in keep; "" keeps none.
func (x *Score) Here(ctx context.Context, h *host.Host, chosen []*Scenario, dir, keep string, show func(doing string)) error {
	if lacks := Lacks(h, "root"); lacks != "" {
		return fmt.Errorf("setting situations up: %s; run it with sudo", lacks)
	}
	runner, err := NewOwnRunner(h, dir)
	if err != nil {
		return err
	}
	if keep != "" {
		if err := os.MkdirAll(keep, 0o700); err != nil {
			return errors.Join(fmt.Errorf("making the folder for recordings: %w", err), runner.Close())
		}
		if runner.Keep, err = filepath.Abs(keep); err != nil {
			return errors.Join(fmt.Errorf("finding the folder for recordings: %w", err), runner.Close())
		}
	}
	x.Runs = ScoreAll(ctx, chosen, x.Repeat, show, func(s *Scenario) (Scored, string) {
		if lacks := cmp.Or(s.NeedsGuest(), LacksAny(h, s.Requires)); lacks != "" {
			return Scored{}, lacks
		}
		out, err := runner.Run(ctx, s)
		return s.Score(out, err), ""
	})
	return runner.Close()
}

// InGuests runs the scenarios, which are in files, in virtual machines that scripts
// boot.
func (x *Score) InGuests(ctx context.Context, scripts, files fs.FS, chosen []*Scenario, show func(doing string)) error {
	self, err := Self()
	if err != nil {
		return err
	}
	guests, err := NewGuests(scripts, self, func(name string) ([]byte, error) {
		return fs.ReadFile(files, path.Join(name, "scenario.yaml"))
	})
	if err != nil {
		return err
	}
	x.Runs = ScoreAll(ctx, chosen, x.Repeat, show, func(s *Scenario) (Scored, string) {
		run, err := guests.Run(ctx, s)
		if err != nil {
			return s.Score(nil, err), ""
		}
		return run, ""
	})
	return guests.Close()
}

// ScoreAll runs the scenarios, round by round, until it is interrupted. run also
// says what this host lacks for one, which then is not run again. show is told what
// is being done.
func ScoreAll(ctx context.Context, chosen []*Scenario, repeat int, show func(doing string), run func(*Scenario) (Scored, string)) []Scored {
	var runs []Scored
	lacking := map[string]bool{}
	for round := range repeat {
		for i, s := range chosen {
			if ctx.Err() != nil {
				return runs
			}
			if lacking[s.Name] {
				continue
			}
			show(fmt.Sprintf("round %d of %d, %d of %d: %s%s", round+1, repeat, i+1, len(chosen), s.Name, scoredSoFar(runs)))
			scored, lacks := run(s)
			if lacks != "" {
				lacking[s.Name] = true
				scored = Scored{Scenario: s.Name, Want: s.Expect.Primary, Skipped: lacks}
			}
			if ctx.Err() == nil {
				runs = append(runs, scored)
			}
		}
	}
	return runs
}

// scoredSoFar says how the last run ended, and how many were not right.
func scoredSoFar(runs []Scored) string {
	if len(runs) == 0 {
		return ""
	}
	not := 0
	for i := range runs {
		if ended, _ := runs[i].Ended(); ended != "right" && ended != "skipped" {
			not++
		}
	}
	last := &runs[len(runs)-1]
	ended, why := last.Ended()
	if len(why) > 0 {
		ended += ", " + why[0]
	}
	return fmt.Sprintf(" (%d of %d not right so far; %s: %s)", not, len(runs), last.Scenario, ended)
}
