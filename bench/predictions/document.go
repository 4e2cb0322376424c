package main

import (
	"fmt"
	"math"
	"os"
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
	var b strings.Builder
	fmt.Fprintf(&b, `# Predictions against what happened

Made by `+"`make predictions`"+` from [results.json](../bench/predictions/results.json) (Linux %s, %s; ext4 on a virtio disk, cgroup v1, two lists).

A load reads in a memory cgroup. [`+"`iocause predict`"+`](predict.md) watches it for %v at one limit. Then the limit is moved, the cache gets time to turn over, and what the load asks for (rchar of `+"`/proc/PID/io`"+`) and has read from disk (read_bytes) is counted for %v. Hits are 1 - disk/asked there, so for loads with read-ahead of random reads, where pages come from disk that nobody asked for, only disk reads are compared. The limit includes the load's own 5 to 20 MiB.

`, all[0].Kernel, all[0].At, look, truth)
	summary(&b, all)
	b.WriteString("\n## Every pair\n\n| load | memory | hits predicted | interval | measured | error | disk reads predicted, a page asked for | measured | as fast, predicted | interval | measured |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, p := range all {
		hit, interval, off := fmt.Sprintf("%.3f", p.Hit), fmt.Sprintf("%.3f to %.3f", p.Low, p.High), fmt.Sprintf("%+.3f", p.Hit-p.Truth)
		truth := fmt.Sprintf("%.3f", p.Truth)
		switch {
		case p.ahead():
			off, truth = "-", "-"
		case !p.inside():
			off += " outside"
		}
		if p.Open {
			interval += ", open"
		}
		fmt.Fprintf(&b, "| %s | %.2fx %.0f MiB | %s | %s | %s | %s | %.3f | %.3f | %.2f | %.2f to %.2f | %.2f |\n", p.Experiment, p.Factor, float64(p.Limit)*p.Factor/mib,
			hit, interval, truth, off, p.Disk, p.DiskTruth, p.Likely, p.Faster[0], p.Faster[1], p.Speed)
	}
	b.WriteString("\n## At the limit where it was predicted\n\n| load | hits measured | seen in the sample | by the model |\n|---|---|---|---|\n")
	last := ""
	for _, p := range all {
		if p.Experiment != last {
			fmt.Fprintf(&b, "| %s | %.3f | %.3f | %.3f |\n", p.Experiment, p.Before, p.Seen, p.Model)
		}
		last = p.Experiment
	}
	return os.WriteFile(to, []byte(b.String()), 0o644)
}

// ahead tells loads whose random reads are read ahead of: hits cannot be told
// from /proc/PID/io.
func (p *pair) ahead() bool { return strings.HasSuffix(p.Experiment, "with read-ahead") }

// inside tells whether the stated interval holds, to the digit that is shown.
func (p *pair) inside() bool { return p.Truth >= p.Low-0.0005 && p.Truth <= p.High+0.0005 }

// summary writes the errors.
func summary(b *strings.Builder, all []pair) {
	var off, lru, speed, likely []float64
	inside, open, fast, told := 0, 0, 0, 0
	var kept []pair
	for _, p := range all {
		if p.ahead() {
			continue
		}
		kept = append(kept, p)
		off, lru = append(off, math.Abs(p.Hit-p.Truth)), append(lru, math.Abs(p.LRU-p.Truth))
		if p.inside() {
			inside++
		}
		if p.Open {
			open++
		}
		if p.Faster[0] > 0 {
			told++
			if p.Speed >= p.Faster[0] && p.Speed <= p.Faster[1] {
				fast++
			}
			likely = append(likely, math.Abs(p.Likely/p.Speed-1))
			speed = append(speed, max(0, p.Faster[0]/p.Speed-1, p.Speed/p.Faster[1]-1))
		}
	}
	fmt.Fprintf(b, "| %d pairs | |\n|---|---|\n", len(kept))
	fmt.Fprintf(b, "| error of the hit ratio, median / 90 %% / worst | %.3f / %.3f / %.3f |\n", at(off, 0.5), at(off, 0.9), at(off, 1))
	fmt.Fprintf(b, "| the same of an exact LRU cache, of the same sample | %.3f / %.3f / %.3f |\n", at(lru, 0.5), at(lru, 0.9), at(lru, 1))
	fmt.Fprintf(b, "| the interval holds | %d of %d (%.0f %%); %d of the pairs were said to be open |\n", inside, len(kept), 100*float64(inside)/float64(len(kept)), open)
	if told > 0 {
		fmt.Fprintf(b, "| the interval of the speed holds | %d of %d; how far it is off, median / 90 %% / worst: %.0f / %.0f / %.0f %% |\n| error of the predicted speed within it, median / 90 %% / worst | %.0f / %.0f / %.0f %% |\n", fast, told, 100*at(speed, 0.5), 100*at(speed, 0.9), 100*at(speed, 1), 100*at(likely, 0.5), 100*at(likely, 0.9), 100*at(likely, 1))
	}
}

// at is a quantile of what is not sorted.
func at(v []float64, q float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(v))
	return s[max(0, int(math.Ceil(q*float64(len(s))))-1)]
}
