package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/lab/space"
)

// seedOptions are those of lab score --seeds.
type seedOptions struct {
	seeds   string
	parity  string
	results string
	details bool
	limit   time.Duration
}

// longestSeed is how long one situation may take before it is given up.
const longestSeed = 150 * time.Second

// chosen are the seeds that are asked for.
func (o *seedOptions) chosen() ([]uint64, error) {
	wrong := &usageError{fmt.Errorf("reading the flags: --seeds %s, --parity %s", o.seeds, o.parity), "give --seeds FIRST..LAST, and --parity even, odd or both"}
	a, b, ok := strings.Cut(o.seeds, "..")
	if !ok {
		b = a
	}
	first, err1 := strconv.ParseUint(a, 10, 32)
	last, err2 := strconv.ParseUint(b, 10, 32)
	if err1 != nil || err2 != nil || last < first || o.parity != "even" && o.parity != "odd" && o.parity != "both" {
		return nil, wrong
	}
	var all []uint64
	for s := first; s <= last; s++ {
		if o.parity == "both" || (s%2 == 0) == (o.parity == "even") {
			all = append(all, s)
		}
	}
	return all, nil
}

// scoreSeeds proves one situation after another, each in a process of its own, and
// keeps what came out. Seeds that are in the results already are not run again.
func scoreSeeds(parent context.Context, e *env, o *seedOptions, dir string) error {
	seeds, err := o.chosen()
	if err != nil {
		return err
	}
	done, err := space.ReadRecords(o.results)
	if err != nil {
		return err
	}
	have := map[uint64]bool{}
	for _, r := range done {
		have[r.Seed] = true
	}
	if lacks := lab.LacksAny(e.host, []string{"root", "bpf", "memcg", "blkio", "cpucg", "fuse"}); lacks != "" {
		return fmt.Errorf("setting situations up: %s", lacks)
	}
	ctx, options, stop, err := spaceOptions(parent, e.host, dir)
	if err != nil {
		return err
	}
	defer stop()
	begun := time.Now()
	line := newStep(e.stderr)
	for i, seed := range seeds {
		if ctx.Err() != nil || o.limit > 0 && time.Since(begun) > o.limit {
			break
		}
		if have[seed] {
			continue
		}
		s := space.Draw(seed)
		line.show(fmt.Sprintf("%d of %d: seed %d, %s", i+1, len(seeds), seed, s.Program), "")
		r := space.Record{Seed: seed, Program: s.Program, Lacks: s.Lacks()}
		if r.Lacks == "" {
			r = scoreSeed(ctx, e.host, s, options.Binary, dir, o.details)
		}
		if ctx.Err() != nil {
			break // what was interrupted says nothing
		}
		done = append(done, r)
		if err := space.Append(o.results, &r); err != nil {
			return err
		}
	}
	line.Erase()
	if _, err := fmt.Fprint(e.stdout, space.Markdown(done)); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	if ctx.Err() != nil {
		return errors.New("scoring: interrupted; the same command goes on from here")
	}
	return nil
}

// scoreSeed proves one in a process of its own: what hangs or crashes takes nothing
// else with it, and what it leaves behind is taken down.
func scoreSeed(parent context.Context, h *host.Host, s *space.Situation, binary, dir string, details bool) space.Record {
	r := space.Record{Seed: s.Seed, Program: s.Program}
	ctx, cancel := context.WithTimeout(parent, longestSeed)
	defer cancel()
	args := []string{"lab", "prove", strconv.FormatUint(s.Seed, 10), "--format", "json"}
	if dir != "" {
		args = append(args, "--scratch", dir)
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second // to take the situation down; after that it is killed
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	var p space.Proof
	if err == nil {
		err = json.Unmarshal(out.Bytes(), &p)
	}
	if _, sweepErr := lab.Sweep(h); sweepErr != nil {
		err = errors.Join(err, sweepErr)
	}
	if err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		r.Failed = fmt.Sprintf("%v: %s", err, lines[len(lines)-1])
		if ctx.Err() != nil {
			r.Failed = fmt.Sprintf("it took longer than %v", longestSeed)
		}
		return r
	}
	p.Report = compact(p.Report)
	return space.NewRecord(&p, details)
}

// compact takes the blanks out of JSON; what is none stays.
func compact(b []byte) []byte {
	var to bytes.Buffer
	if json.Compact(&to, b) != nil {
		return b
	}
	return to.Bytes()
}
