package space

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"iocause/internal/diagnose"
)

// Record is how one seed ended: a line of a results file. Of an odd seed nothing
// is kept that could be tuned to, unless that is asked for.
type Record struct {
	Seed       uint64  `json:"seed"`
	Program    string  `json:"program"`
	Lacks      string  `json:"lacks,omitempty"`   // what is not installed
	Failed     string  `json:"failed,omitempty"`  // why it could not be run
	Healthy    bool    `json:"healthy"`           // nothing helps by a tenth
	Open       bool    `json:"open,omitempty"`    // that is not sure: the work goes up and down by itself
	Untried    bool    `json:"untried,omitempty"` // taken for healthy: nothing was planted and no cause was named
	Looks      int     `json:"looks,omitempty"`   // diagnoses, where there were several: none but the last named a cause
	Right      bool    `json:"right"`             // the primary cause
	Calm       bool    `json:"calm"`              // healthy was said, or cpu-bound
	Unsaid     bool    `json:"cannot_tell"`       // no cause was named
	Confidence float64 `json:"confidence"`        //
	Culprit    string  `json:"culprit,omitempty"` // right or wrong, where one is asked for
	Effect     string  `json:"effect,omitempty"`  // the same of what was promised
	Seconds    float64 `json:"seconds"`
	Proof      *Proof  `json:"proof,omitempty"`
}

// Even tells whether a seed is one to work on.
func (r *Record) Even() bool { return r.Seed%2 == 0 }

// NewRecord is the record of a proof.
func NewRecord(p *Proof, details bool) Record {
	v := &p.Verdict
	r := Record{Seed: p.Situation.Seed, Program: p.Situation.Program, Healthy: p.Truth.Healthy(), Open: p.Truth.Open, Untried: p.Untried, Right: v.Right,
		Calm: slices.Contains(calm, v.Primary), Unsaid: v.Primary == string(diagnose.Unknown),
		Confidence: v.Confidence, Culprit: v.Culprit, Effect: v.Effect, Seconds: p.Seconds}
	if p.Looks > 1 {
		r.Looks = p.Looks
	}
	if details || r.Even() {
		r.Proof = p
	}
	return r
}

// ReadRecords reads a results file. A last line that was cut off is left out: its
// seed is run again.
func ReadRecords(path string) ([]Record, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the results so far: %w", err)
	}
	var all []Record
	scan := bufio.NewScanner(bytes.NewReader(b))
	scan.Buffer(nil, 16<<20)
	for scan.Scan() {
		var r Record
		if json.Unmarshal(scan.Bytes(), &r) == nil {
			all = append(all, r)
		}
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("read the results so far: %w", err)
	}
	return all, nil
}

// Append adds a record to a results file.
func Append(path string, r *Record) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("keep a result: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("keep a result: %w", err)
	}
	// A line that a kill has cut off stays one of its own.
	if end, err := f.Seek(0, io.SeekEnd); err == nil && end > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, end-1); err == nil && last[0] != '\n' {
			line = append([]byte("\n"), line...)
		}
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("keep a result: %w", err)
	}
	return nil
}

// Share is a part of a number of runs.
type Share struct{ Part, Of int }

func (s *Share) add(yes bool) { s.addOf(yes, 1) }

// addOf adds n of which the last one may be it.
func (s *Share) addOf(yes bool, n int) {
	s.Of += n
	if yes {
		s.Part++
	}
}

// Wilson is the interval that holds the true share with 95 %, 0 to 1 (Wilson 1927).
func (s Share) Wilson() (low, high float64) {
	if s.Of == 0 {
		return 0, 1
	}
	const z = 1.959964
	n, p := float64(s.Of), float64(s.Part)/float64(s.Of)
	mid, half := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, (mid-half)/(1+z*z/n)), min(1, (mid+half)/(1+z*z/n))
}

// Tally is the account of some runs.
type Tally struct {
	Primary      Share // right, of all
	FalseHealthy Share // said to be well, of those with a true cause
	FalseCause   Share // a cause named, of those that are well
	Culprit      Share // right, of those where it is asked for
	Effect       Share // within the promise, of those with one
	Sure         Share // right, of verdicts with nine tenths confidence at least
	Confidence   float64
	Lacking      int
	Failed       int
	Open         int // of which nothing is proved
	Kinds        int // programs and what they do, among those that are well
}

// Count counts runs; what is lacking, failed or not proved is in no share.
func Count(all []Record) Tally {
	var t Tally
	kinds := map[string]bool{}
	for _, r := range all {
		switch {
		case r.Lacks != "":
			t.Lacking++
			continue
		case r.Failed != "":
			t.Failed++
			continue
		case r.Open:
			t.Open++
			continue
		}
		t.Primary.add(r.Right)
		if r.Healthy {
			kinds[r.Program+" "+string(Draw(r.Seed).Work)] = true
			t.FalseCause.add(!r.Right && !r.Calm && !r.Unsaid)
		} else {
			t.FalseHealthy.add(!r.Right && r.Calm)
		}
		if r.Culprit != "" {
			t.Culprit.add(r.Culprit == "right")
		}
		if r.Effect != "" {
			t.Effect.add(r.Effect == "right")
		}
		if r.Confidence >= 0.9 && !r.Unsaid {
			t.Sure.add(r.Right)
			t.Confidence += r.Confidence
		}
	}
	t.Kinds = len(kinds)
	t.Confidence /= float64(max(1, t.Sure.Of))
	return t
}

// newest is how many of the odd seeds are shown by themselves, too: a verdict that was
// mended is not to be judged for ever by those before it.
const newest = 300

// Markdown is the table for docs/score.md: even and odd seeds, how far they are apart,
// and the newest of the odd ones. Seeds are scored in rising order.
func Markdown(all []Record) string {
	even := Count(slices.DeleteFunc(slices.Clone(all), func(r Record) bool { return !r.Even() }))
	scored := slices.DeleteFunc(slices.Clone(all), func(r Record) bool { return r.Even() })
	odd := Count(scored)
	last := slices.DeleteFunc(scored, func(r Record) bool { return r.Lacks != "" || r.Failed != "" || r.Open })
	slices.SortFunc(last, func(a, b Record) int { return cmp.Compare(a.Seed, b.Seed) })
	last = last[max(0, len(last)-newest):]
	late := Count(last)
	var b strings.Builder
	fmt.Fprintf(&b, "| what | even seeds (worked on) | odd seeds (scored only) | difference | odd seeds, the last %d |\n|---|---:|---:|---:|---:|\n", len(last))
	row := func(what string, e, o, l Share) {
		difference := "-"
		if e.Of > 0 && o.Of > 0 {
			difference = fmt.Sprintf("%+.1f", 100*(float64(o.Part)/float64(o.Of)-float64(e.Part)/float64(e.Of)))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", what, cell(e), cell(o), difference, cell(l))
	}
	row("primary cause right", even.Primary, odd.Primary, late.Primary)
	row("called healthy, with a true cause", even.FalseHealthy, odd.FalseHealthy, late.FalseHealthy)
	row("cause named, although nothing helps", even.FalseCause, odd.FalseCause, late.FalseCause)
	row("culprit right", even.Culprit, odd.Culprit, late.Culprit)
	row("effect within 1.3 times the promised one", even.Effect, odd.Effect, late.Effect)
	row("right, of verdicts with 90 % confidence or more", even.Sure, odd.Sure, late.Sure)
	fmt.Fprintf(&b, "| mean confidence of these | %.1f %% | %.1f %% | | %.1f %% |\n", 100*even.Confidence, 100*odd.Confidence, 100*late.Confidence)
	fmt.Fprintf(&b, "| not available here / failed / nothing proved | %d / %d / %d | %d / %d / %d | | |\n", even.Lacking, even.Failed, even.Open, odd.Lacking, odd.Failed, odd.Open)
	fmt.Fprintf(&b, "| kinds of programs and work among those where nothing helps | %d | %d | | %d |\n", even.Kinds, odd.Kinds, late.Kinds)
	return b.String()
}

// cell spells a share with its interval.
func cell(s Share) string {
	if s.Of == 0 {
		return "-"
	}
	low, high := s.Wilson()
	return fmt.Sprintf("%d of %d: %.1f %% (%.1f to %.1f)", s.Part, s.Of, 100*float64(s.Part)/float64(s.Of), 100*low, 100*high)
}
