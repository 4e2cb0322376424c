// Alarms counts how often the baselines of internal/detect raise a false
// alarm, and how many incidents they find and how fast, on simulated hosts
// whose incidents are known. It needs no privilege.
//
//	go run ./bench/alarms [-first 8] [-hosts 40] [-weeks 8] [-one]
//	go run ./bench/alarms -nab FOLDER
package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"time"
	_ "time/tzdata" // the figures do not depend on the machine's zones
)

func main() {
	hosts := flag.Int("hosts", 40, "simulated hosts")
	first := flag.Int("first", chosenOn, "number of the first of them, which is its seed")
	weeks := flag.Int("weeks", 8, "weeks of each")
	one := flag.Bool("one", false, "only the rule in use")
	nab := flag.String("nab", "", "folder of the Numenta Anomaly Benchmark: rate its data instead")
	flag.Parse()
	err := error(nil)
	if *nab != "" {
		err = rate(*nab)
	} else {
		err = run(os.Stdout, *first, *hosts, *weeks, *one)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "alarms:", err)
		os.Exit(1)
	}
}

// zone is where the simulated hosts stand, and begin when they start: summer
// time ends in the seventh week.
func zone() (loc *time.Location, begin time.Time, err error) {
	loc, err = time.LoadLocation("Europe/Berlin")
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("reading the time zone: %w", err)
	}
	return loc, time.Date(2026, 9, 14, 0, 0, 0, 0, loc), nil
}

func run(out io.Writer, first, hosts, weeks int, one bool) error {
	loc, begin, err := zone()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d hosts from number %d on, %d weeks from %s in %s\n\n", hosts, first, weeks, begin.Format(time.DateOnly), loc)
	fmt.Fprintln(out, "| rule | false alarms a host-week | of them in the first week | found | from 8:00 to 20:00 | delay, median | 95 % |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|")
	var use outcome
	all := variants()
	if one {
		all = all[:1]
	}
	for i, v := range all {
		began := time.Now()
		o := simulate(first, hosts, weeks, runtime.NumCPU(), begin, loc, v)
		fmt.Fprintf(os.Stderr, "%s: %.1f s\n", v.name, time.Since(began).Seconds())
		fmt.Fprintf(out, "| %s | %.2f | %d | %d of %d (%.0f %%) | %d of %d (%.0f %%) | %s | %s |\n", v.name, o.falsePerWeek(), o.falseFirst,
			sum(o.found), sum(o.all), share(sum(o.found), sum(o.all)), o.day, o.dayAll, share(o.day, o.dayAll), minutes(o.delay(0.5)), minutes(o.delay(0.95)))
		if i == 0 {
			use = o
		}
	}
	fmt.Fprintln(out, "\n| incident | found |\n|---|---|")
	for _, k := range kindNames() {
		fmt.Fprintf(out, "| %s | %d of %d |\n", k, use.found[k], use.all[k])
	}
	for _, k := range slices.Sorted(maps.Keys(use.allInGroups)) {
		fmt.Fprintf(out, "| %s | %d of %d |\n", k, use.inGroups[k], use.allInGroups[k])
	}
	fmt.Fprintf(out, "\n| during | false alarms |\n|---|---|\n")
	for _, k := range slices.Sorted(maps.Keys(use.during)) {
		fmt.Fprintf(out, "| %s | %d |\n", k, use.during[k])
	}
	fmt.Fprintf(out, "\n%d of the false alarms began with, or were in part, what a group did.\n", use.byGroups)
	return nil
}

func share(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

func minutes(d time.Duration) string { return fmt.Sprintf("%.1f min", d.Minutes()) }
