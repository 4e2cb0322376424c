// Command predictions proves what 'iocause predict' says: it lets a load of a known
// pattern read in a memory cgroup, predicts at one limit what others would do, moves
// the limit, and measures. Results are kept in a file, from which -write makes
// docs/predictions.md. It runs as root and needs a disk below -dir.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "load" {
		exit(runLoad(os.Args[2:]))
		return
	}
	results := flag.String("results", "bench/predictions/results.json", "file that pairs are added to")
	write := flag.String("write", "", "only make this document of the results")
	only := flag.String("only", "", "run the experiments with this in their name, or with -cost 'LOAD: PART'; all without it")
	missing := flag.Bool("missing", false, "run those without results yet")
	quiet := flag.Bool("quiet", false, "nothing else runs here: speeds are worth keeping, too")
	most := flag.Duration("most", 0, "begin no other one after so long: with -missing it runs in pieces")
	dir := flag.String("dir", "/var/tmp", "directory on a disk for the data, up to 1 GiB")
	guest := flag.Bool("guest", false, "run the smaller ones for a machine of test/vm")
	rounds := flag.Int("cost", 0, "only measure what observing takes of a load's rate, in so many rounds")
	factors := flag.String("factors", "", "measure at these parts of the first limit, such as '0.5 2', in place of all")
	list := flag.Bool("list", false, "list the experiments")
	flag.Parse()
	all := experiments()
	if *guest {
		all = guestExperiments(lists())
	}
	for i := range all {
		if *factors != "" {
			all[i].Factors = nil
			for _, f := range strings.Fields(*factors) {
				v, err := strconv.ParseFloat(f, 64)
				if err != nil || v <= 0 {
					exit(fmt.Errorf("reading -factors: %q is no factor", f))
				}
				all[i].Factors = append(all[i].Factors, v)
			}
		}
	}
	switch {
	case *list:
		for _, e := range all {
			fmt.Println(e.Name)
		}
	case *rounds > 0:
		exit(cost(*dir, *only, *rounds, interrupts()))
	case *write != "":
		exit(document(*results, *write))
	default:
		exit(runAll(all, *results, *dir, *only, *missing, *quiet, *most))
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "predictions:", err)
		os.Exit(1)
	}
}

func interrupts() <-chan os.Signal {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	return stop
}

// runAll runs experiments and adds what they found to the results.
func runAll(all []experiment, results, dir, only string, missing, quiet bool, most time.Duration) error {
	old, err := readResults(results)
	if err != nil {
		return err
	}
	stop := interrupts()
	var failed error
	began := time.Now()
	for _, e := range all {
		if most > 0 && time.Since(began) > most {
			break
		}
		has := slices.ContainsFunc(old, func(p pair) bool { return p.Experiment == e.Name && p.Kernel == kernel() })
		if only != "" && !strings.Contains(e.Name, only) || missing && has {
			continue
		}
		fmt.Printf("%s\n", e.Name)
		pairs, err := e.run(dir, stop)
		if errors.Is(err, errInterrupted) {
			return err
		}
		if err != nil { // the others can be tried
			failed = errors.Join(failed, fmt.Errorf("%s: %w", e.Name, err))
			continue
		}
		for i := range pairs {
			if pairs[i].Quiet = quiet && pairs[i].steady(); quiet && !pairs[i].Quiet { // hits do not depend on it
				failed = errors.Join(failed, fmt.Errorf("%s, %.2fx: its speed is not kept: the disk gave %.2f times as much after the watch as before it, and others had %.2f of a processor", e.Name, pairs[i].Factor, pairs[i].Change, pairs[i].Others))
			}
		}
		old = without(old, pairs)
		old = append(old, pairs...)
		if err := writeResults(results, old); err != nil {
			return err
		}
	}
	return failed
}

// steady tells whether the same disk and the same processors were there before and after:
// what they do at other times no prediction can know.
func (p *pair) steady() bool {
	return (p.Change == 0 || p.Change > 0.85 && p.Change < 1/0.85) && p.Others < 0.1
}

// without leaves out the pairs that were measured anew.
func without(all, anew []pair) (kept []pair) {
	for _, p := range all {
		if !slices.ContainsFunc(anew, func(x pair) bool { return x.Experiment == p.Experiment && x.Factor == p.Factor && x.Kernel == p.Kernel }) {
			kept = append(kept, p)
		}
	}
	return kept
}

func readResults(path string) (all []pair, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return all, json.Unmarshal(b, &all)
}

func writeResults(path string, all []pair) error {
	b, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o600)
}
