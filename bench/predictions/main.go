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
	"strings"
	"syscall"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "load" {
		exit(runLoad(os.Args[2:]))
		return
	}
	results := flag.String("results", "bench/predictions/results.json", "file that pairs are added to")
	write := flag.String("write", "", "only make this document of the results")
	only := flag.String("only", "", "names of the experiments to run, by comma; all without it")
	dir := flag.String("dir", "/var/tmp", "directory on a disk for the data, up to 1 GiB")
	list := flag.Bool("list", false, "list the experiments")
	flag.Parse()
	switch {
	case *list:
		for _, e := range experiments() {
			fmt.Println(e.Name)
		}
	case *write != "":
		exit(document(*results, *write))
	default:
		exit(runAll(*results, *dir, *only))
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "predictions:", err)
		os.Exit(1)
	}
}

// runAll runs experiments and adds what they found to the results.
func runAll(results, dir, only string) error {
	old, err := readResults(results)
	if err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	for _, e := range experiments() {
		if only != "" && !contains(strings.Split(only, ","), e.Name) {
			continue
		}
		fmt.Printf("%s\n", e.Name)
		pairs, err := e.run(dir, stop)
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		old = without(old, e.Name)
		old = append(old, pairs...)
		if err := writeResults(results, old); err != nil {
			return err
		}
	}
	return nil
}

func contains(list []string, name string) bool {
	for _, x := range list {
		if x == name {
			return true
		}
	}
	return false
}

// without leaves out the pairs of an experiment.
func without(all []pair, name string) (kept []pair) {
	for _, p := range all {
		if p.Experiment != name {
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
