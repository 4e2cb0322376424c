package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// document writes what the results say.
func document(results, to string) error {
	all, err := readResults(results)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("%s holds no results: run without -write first", results)
	}
	guests, err := readResults(filepath.Join(filepath.Dir(results), "guests.json"))
	if err != nil {
		return err
	}
	here := all[0]
	all = append(all, guests...)
	var b strings.Builder
	fmt.Fprintf(&b, `# Predictions against what happened

Made by `+"`make predictions`"+` from [results.json](../bench/predictions/results.json) (Linux %s, %s; ext4 on a virtio disk, cgroup v1, two lists) and by `+"`make vm-predictions`"+` from [guests.json](../bench/predictions/guests.json) (emulated machines with Debian's kernels, cgroup v2, MGLRU or two lists).

A load reads in a memory cgroup. [`+"`iocause predict`"+`](predict.md) watches it for %v at one limit (in a virtual machine for %v). Then the limit is moved (in a virtual machine raised first and lowered last, since MGLRU forgets then), the cache gets time to fill or turn over, and what the load asks for and what of it comes from disk is counted for %v (%v, until the hit ratio stays within 0.01; the scan of 75 MiB was watched for %v and counted for %v there, too): of loads that read whole pages, rchar and read_bytes of `+"`/proc/PID/io`"+`; of programs, and where random reads are read ahead of, every access to the pages of its files. The limit includes the programs' own 2 to 50 MiB.

Speeds and times are given of the pairs that were measured with nothing else running. The others ran beside other work on the same two processors, which moves speeds but not hit ratios. A speed is kept where the disk gave at most 15 %% more or less at the same limit after the watch than before it, and other programs had less than a tenth of a processor (of pairs from 90364ee4 on; it was not looked at before). It is that of processes that nobody observes. Of which code a prediction is, the last column tells. Predictions are as made; the width of the intervals of hit ratios (see [predict.md](predict.md#the-interval)) was set afterwards on the pairs of this machine, and applied to the recorded traces.

![predicted and measured hit ratios](predictions.svg)

`, here.Kernel, here.At, look, 2*look, truth, 2*truth, look, truth)
	summary(&b, all)
	b.WriteString("\n## Every pair\n\n| load | memory | hits predicted | interval | measured | error | disk reads predicted, a page asked for | measured | as fast, predicted | interval | measured | code of |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	pairs(&b, all)
	timesTable(&b, all)
	b.WriteString("\n## At the limit where it was predicted\n\n| load | hits measured | seen in the sample | by the model |\n|---|---|---|---|\n")
	last := ""
	for _, p := range all {
		if p.Experiment != last {
			fmt.Fprintf(&b, "| %s | %.3f | %.3f | %.3f |\n", p.name(), p.Before, p.Seen, p.Model)
		}
		last = p.Experiment
	}
	sampling(&b)
	return errors.Join(os.WriteFile(to, []byte(b.String()), 0o644), plot(all, strings.TrimSuffix(to, ".md")+".svg"))
}

// pairs writes the table of all.
func pairs(b *strings.Builder, all []pair) {
	for _, p := range all {
		hit, interval, off := fmt.Sprintf("%.3f", p.Hit), fmt.Sprintf("%.3f to %.3f", p.Low, p.High), fmt.Sprintf("%+.3f", p.Hit-p.Truth)
		truth := fmt.Sprintf("%.3f", p.Truth)
		if !p.inside() {
			off += " outside"
		}
		if p.Open {
			interval += ", open"
		}
		speed := "| - | - | -"
		if p.Quiet {
			speed = fmt.Sprintf("| %.2f | %.2f to %.2f | %.2f", p.Likely, p.Faster[0], p.Faster[1], p.Speed)
		}
		fmt.Fprintf(b, "| %s | %.2fx %.0f MiB | %s | %s | %s | %s | %.3f | %.3f %s | %s |\n", p.name(), p.Factor, float64(p.Limit)*p.Factor/mib,
			hit, interval, truth, off, p.Disk, p.DiskTruth, speed, cmp.Or(p.Commit, "-"))
	}
}

// name is what the load is called, with the kind of cache if that is not this machine's.
func (p *pair) name() string {
	if p.Cgroups != 2 {
		return p.Experiment
	}
	version, _, _ := strings.Cut(p.Kernel, "+")
	return fmt.Sprintf("%s (cgroup v2, %s)", p.Experiment, version)
}

// plot draws predicted against measured hit ratios, with the stated intervals.
func plot(all []pair, to string) error {
	const side, edge = 480, 40
	x := func(share float64) float64 { return edge + share*(side-2*edge) }
	y := func(share float64) float64 { return side - x(share) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">
<rect width="%d" height="%d" fill="#fff"/>
`, side, side, side, side)
	for i := 0.0; i <= 1; i += 0.25 {
		fmt.Fprintf(&b, `<path d="M%.0f %.0fH%.0fM%.0f %.0fV%.0f" stroke="#ddd"/><text x="%.0f" y="%.0f" text-anchor="middle">%.2f</text><text x="%.0f" y="%.0f" text-anchor="end">%.2f</text>
`, x(0), y(i), x(1), x(i), y(0), y(1), x(i), y(0)+16, i, x(0)-6, y(i)+4, i)
	}
	fmt.Fprintf(&b, `<path d="M%.0f %.0fL%.0f %.0f" stroke="#999"/><text x="%d" y="%d" text-anchor="middle">hit ratio, predicted</text><text transform="translate(12 %d) rotate(-90)" text-anchor="middle">measured</text>
`, x(0), y(0), x(1), y(1), side/2, side-6, side/2)
	for _, p := range all {
		colour := "#2166ac"
		if !p.inside() {
			colour = "#d6604d"
		}
		fmt.Fprintf(&b, `<path d="M%.1f %.1fH%.1f" stroke="%s" stroke-opacity="0.4"/><circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"><title>%s, %.2fx</title></circle>
`, x(max(0, p.Low)), y(p.Truth), x(min(1, p.High)), colour, x(p.Hit), y(p.Truth), colour, p.Experiment, p.Factor)
	}
	b.WriteString("</svg>\n")
	return os.WriteFile(to, []byte(b.String()), 0o644)
}

// inside tells whether the stated interval holds, to the digit that is shown.
func (p *pair) inside() bool { return p.Truth >= p.Low-0.0005 && p.Truth <= p.High+0.0005 }

// summary writes the errors, of each kind of cache and of all.
func summary(b *strings.Builder, all []pair) {
	kinds := []struct {
		name string
		is   func(*pair) bool
	}{
		{"two lists, cgroup v1", func(p *pair) bool { return p.Lists == "" && p.Cgroups != 2 }},
		{"two lists, cgroup v2", func(p *pair) bool { return p.Lists == "" && p.Cgroups == 2 }},
		{"MGLRU, cgroup v2", func(p *pair) bool { return p.Lists != "" }},
		{"all", func(*pair) bool { return true }},
	}
	b.WriteString("| | pairs | error of the hit ratio: median | nine of ten | worst | of exact LRU, same sample: median | nine of ten | worst | the interval holds | said to be open |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, k := range kinds {
		var off, lru []float64
		inside, open := 0, 0
		for i := range all {
			p := &all[i]
			if !k.is(p) {
				continue
			}
			off, lru = append(off, math.Abs(p.Hit-p.Truth)), append(lru, math.Abs(p.LRU-p.Truth))
			if p.inside() {
				inside++
			}
			if p.Open {
				open++
			}
		}
		if n := len(off); n > 0 {
			fmt.Fprintf(b, "| %s | %d | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %d (%.0f %%) | %d |\n", k.name, n, at(off, 0.5), at(off, 0.9), at(off, 1), at(lru, 0.5), at(lru, 0.9), at(lru, 1), inside, 100*float64(inside)/float64(n), open)
		}
	}
	speeds(b, all)
}

// speeds writes how far predicted speeds were off, of the pairs on a quiet machine.
func speeds(b *strings.Builder, all []pair) {
	var off, likely []float64
	for _, p := range all {
		if p.Quiet && p.Faster[0] > 0 {
			off, likely = append(off, max(0, p.Faster[0]/p.Speed-1, p.Speed/p.Faster[1]-1)), append(likely, math.Abs(p.Likely/p.Speed-1))
		}
	}
	if len(off) == 0 {
		return
	}
	inside := 0
	for _, x := range off {
		if x == 0 {
			inside++
		}
	}
	fmt.Fprintf(b, "\nSpeed, %d pairs on a quiet machine: the interval holds in %d, and is off by at most %.0f %% in nine of ten (%.0f %% at worst). The value within it is off by %.0f %% in the median, at most %.0f %% in nine of ten, %.0f %% at worst.\n",
		len(off), inside, 100*at(off, 0.9), 100*at(off, 1), 100*at(likely, 0.5), 100*at(likely, 0.9), 100*at(likely, 1))
}

// holds tells whether the interval has what was measured.
func (s *span) holds() bool { return s.Truth >= s.Low && s.Truth <= s.High }

// timesTable writes how long read calls took, of the pairs of which that was measured on
// a quiet machine.
func timesTable(b *strings.Builder, all []pair) {
	us := func(s *span) string {
		return fmt.Sprintf("%.1f | %.1f to %.1f | %.1f", 1e6*s.Value, 1e6*s.Low, 1e6*s.High, 1e6*s.Truth)
	}
	n, inside, off := 0, [2]int{}, [2][]float64{}
	var rows strings.Builder
	for _, p := range all {
		if p.Median == nil || p.P99 == nil || !p.Quiet {
			continue
		}
		n++
		for i, s := range []*span{p.Median, p.P99} {
			if off[i] = append(off[i], math.Abs(s.Value/s.Truth-1)); s.holds() {
				inside[i]++
			}
		}
		fmt.Fprintf(&rows, "| %s | %.2fx | %s | %s |\n", p.Experiment, p.Factor, us(p.Median), us(p.P99))
	}
	if n == 0 {
		return
	}
	fmt.Fprintf(b, "\n## How long read calls took\n\nMicroseconds, timed by the loads themselves, on a quiet machine (%d pairs). Median: off by %.0f %% in the median, at most %.0f %%; its interval holds in %d. 99th percentile: off by %.0f and at most %.0f %%; in %d. The width of the intervals was set on these pairs.\n\n| load | memory | median, predicted | interval | measured | 99th percentile, predicted | interval | measured |\n|---|---|---|---|---|---|---|---|\n%s",
		n, 100*at(off[0], 0.5), 100*at(off[0], 1), inside[0], 100*at(off[1], 0.5), 100*at(off[1], 1), inside[1], rows.String())
}

// at is a quantile of what is not sorted.
func at(v []float64, q float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(v))
	return s[max(0, int(math.Ceil(q*float64(len(s))))-1)]
}
