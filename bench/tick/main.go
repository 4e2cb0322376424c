// Command tick measures what one pass over every source costs: the first one
// of a window, those in between, and the last, by source.
//
//	go run ./bench/tick [-processes 5000] [-rounds 5]
//
// It starts processes that sleep, observes windows as diagnose does, and takes
// the times that the collector itself notes as cost.collect_time.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source"
)

func main() {
	processes := flag.Int("processes", 100, "how many to start")
	rounds := flag.Int("rounds", 5, "windows to observe")
	ticks := flag.Int("ticks", 4, "in each window")
	flag.Parse()
	if err := run(os.Stdout, *processes, *rounds, *ticks); err != nil {
		fmt.Fprintln(os.Stderr, "tick:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, processes, rounds, ticks int) error {
	all, err := sleepers(processes)
	defer func() {
		for _, p := range all {
			p.Kill()
		}
		for _, p := range all {
			p.Wait()
		}
	}()
	if err != nil {
		return err
	}
	t := times{}
	var peak int64
	for range rounds {
		if peak, err = t.window(ticks); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%d processes started, %d windows of %d ticks, %d MiB at most; ms, min / median / max\n", processes, rounds, ticks, peak>>20)
	return t.print(out)
}

// sleepers starts real processes: a pass over them costs what the kernel
// makes of it. Those that were started are returned with the error.
func sleepers(n int) ([]*os.Process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	var all []*os.Process
	for range n {
		p, err := os.StartProcess("/bin/sleep", []string{"sleep", "3600"}, &os.ProcAttr{Files: []*os.File{null, null, null}})
		if err != nil {
			return all, fmt.Errorf("starting process %d of %d: %w", len(all)+1, n, err)
		}
		all = append(all, p)
	}
	return all, nil
}

// kinds of passes.
const (
	first = iota
	middle
	last
	kinds
)

// times are the ms of every pass, by source and kind; "all" is their sum.
type times map[string]*[kinds][]float64

func (t times) add(name string, kind int, ms float64) {
	if t[name] == nil {
		t[name] = &[kinds][]float64{}
	}
	t[name][kind] = append(t[name][kind], ms)
}

// window observes one window and returns the peak memory so far, in bytes.
func (t times) window(ticks int) (int64, error) {
	h := host.Live()
	c := source.Open(context.Background(), h, source.List())
	defer c.Close()
	c.Begin()
	begun := map[string]float64{} // seconds
	sum := 0.0
	for _, s := range c.Statuses() {
		if s.OpenErr != nil { // prints "-"
			continue
		}
		begun[s.Name] = s.Spent.Seconds()
		sum += s.Spent.Seconds()
		t.add(s.Name, first, s.Spent.Seconds()*1e3)
	}
	t.add("all", first, sum*1e3)
	w := c.Observe(context.Background(), source.Observation{Length: time.Duration(ticks)*time.Second + 500*time.Millisecond})
	var sums []float64
	w.Each(sample.CostCollect, func(e sample.Entity, s *sample.Series) {
		for i, p := range s.Points {
			kind, v := middle, p.Value
			if i == 0 { // it carries what the first pass took
				v -= begun[e.Class]
			}
			if i == len(s.Points)-1 {
				kind = last
			}
			t.add(e.Class, kind, v*1e3)
			if len(sums) <= i {
				sums = append(sums, 0)
			}
			sums[i] += v
		}
	})
	for i, v := range sums {
		kind := middle
		if i == len(sums)-1 {
			kind = last
		}
		t.add("all", kind, v*1e3)
	}
	cost, err := source.ReadCost(h, w)
	return cost.RSSBytes, err
}

func (t times) print(out io.Writer) error {
	tab := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "source\tfirst\ttick\tlast\t")
	row := func(name string) {
		if t[name] == nil {
			t[name] = &[kinds][]float64{}
		}
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t\n", name, spread(t[name][first]), spread(t[name][middle]), spread(t[name][last]))
	}
	for _, e := range source.List() {
		row(e.Name)
	}
	row("all")
	return tab.Flush()
}

func spread(v []float64) string {
	if len(v) == 0 {
		return "-"
	}
	slices.Sort(v)
	m := v[len(v)/2]
	if len(v)%2 == 0 {
		m = (m + v[len(v)/2-1]) / 2
	}
	return fmt.Sprintf("%.2f %.2f %.2f", v[0], m, v[len(v)-1])
}
