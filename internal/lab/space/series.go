package space

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"iocause/internal/ask"
	"iocause/internal/host"
)

// Seeds are those of FIRST..LAST that are even, odd, or both.
func Seeds(span, parity string) ([]uint64, error) {
	a, b, ok := strings.Cut(span, "..")
	if !ok {
		b = a
	}
	first, err1 := strconv.ParseUint(a, 10, 32)
	last, err2 := strconv.ParseUint(b, 10, 32)
	if err1 != nil || err2 != nil || last < first || parity != "even" && parity != "odd" && parity != "both" {
		return nil, &ask.Error{Err: fmt.Errorf("reading the flags: --seeds %s, --parity %s", span, parity), Next: "give --seeds FIRST..LAST, and --parity even, odd or both"}
	}
	var all []uint64
	for s := first; s <= last; s++ {
		if parity == "both" || (s%2 == 0) == (parity == "even") {
			all = append(all, s)
		}
	}
	return all, nil
}

// Series is many situations that are proved one after another.
type Series struct {
	Results string // file that what comes out is kept in
	Scratch string // folder for test files
	Details bool   // keep the proofs of odd seeds too
	Limit   time.Duration
	Show    func(doing string)
	// Unplanted leaves out what is drawn to have a cause, and tries the remedies
	// only where one is named: four times as many in the same time, to count how
	// often a cause is named where there is none.
	Unplanted bool
}

// Score proves one situation after another, each in a process of its own, and
// returns what there is then. Seeds that are in the results already are not run
// again.
func (x *Series) Score(ctx context.Context, h *host.Host, binary string, seeds []uint64) ([]Record, error) {
	done, err := ReadRecords(x.Results)
	if err != nil {
		return nil, err
	}
	have := map[uint64]bool{}
	for _, r := range done {
		have[r.Seed] = true
	}
	begun := time.Now()
	for i, seed := range seeds {
		if ctx.Err() != nil || x.Limit > 0 && time.Since(begun) > x.Limit {
			break
		}
		s := Draw(seed)
		if have[seed] || x.Unplanted && !s.unplanted() {
			continue
		}
		x.Show(fmt.Sprintf("%d of %d: seed %d, %s", i+1, len(seeds), seed, s.Program))
		r := Record{Seed: seed, Program: s.Program, Lacks: s.Lacks()}
		if r.Lacks == "" {
			r = s.Score(ctx, h, binary, x)
		}
		if ctx.Err() != nil {
			break // what was interrupted says nothing
		}
		done = append(done, r)
		if err := Append(x.Results, &r); err != nil {
			return nil, err
		}
	}
	return done, nil
}
