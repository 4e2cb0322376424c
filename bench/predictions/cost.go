package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source/probe/access"
	"iocause/internal/source/probe/reclaim"
	tool "iocause/internal/tool/predict"
)

// cost is what observing takes of a load's rate: rounds of slices without and with
// it, the order changing, while one load runs. Opening and closing lie between the slices.
func cost(dir, only string, rounds int, stop <-chan os.Signal) error {
	const m = mib / pageSize
	type part struct {
		name  string
		while func(time.Duration, func() error) error
	}
	parts := []part{
		{"sampled accesses (predict)", whileSampled},
		{"sampled accesses, programs that return at once", whileStopped},
		{"evictions and returns (diagnose, agent)", whileEvictions},
		{"evictions and returns, programs that return at once", whileIdle},
	}
	loads := []struct {
		name  string
		pages int // of a file; 0: SQLite's rows
		limit int64
		flags []string
	}{
		{"cached, 4 KiB, 1 thread", 32 * m, 96 * mib, []string{"-pattern", "uniform", "-threads", "1"}},
		{"cached, 64 KiB, 1 thread", 32 * m, 96 * mib, []string{"-pattern", "uniform", "-threads", "1", "-request", "16"}},
		{"cached, SQLite, rows at random, 1 process", 0, 96 * mib, nil},
		{"uncached, 4 KiB, 4 threads", 512 * m, 64 * mib, []string{"-pattern", "uniform", "-threads", "4"}},
		{"uncached, 64 KiB in order, 1 thread", 512 * m, 64 * mib, []string{"-pattern", "loop", "-threads", "1", "-request", "16", "-read-ahead"}},
	}
	for _, l := range loads {
		asked := slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return !strings.Contains(l.name+": "+p.name, only) })
		if len(asked) == 0 {
			continue
		}
		err := underLoad(dir, l.pages, l.limit, l.flags, func(load byIO) error {
			for _, part := range asked {
				ratios, rate, err := ratiosOf(load, rounds, part.while, stop)
				if err != nil {
					return err
				}
				fmt.Printf("%-36s %-52s keeps %.1f %% of its rate in the median (%.1f to %.1f), at best %.0f ns a page\n", l.name, part.name, 100*at(ratios, 0.5), 100*at(ratios, 0), 100*at(ratios, 1), 1e9/rate)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// underLoad calls f while a load runs in a cgroup.
func underLoad(dir string, pages int, limit int64, flags []string, f func(byIO) error) (err error) {
	g, err := newGroup()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.remove()) }()
	data, err := os.MkdirTemp(dir, "iocause-predictions-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	var load *exec.Cmd
	if pages == 0 {
		const rows = 80000 // 55 MiB
		if out, err := shell(data, table(rows)).CombinedOutput(); err != nil {
			return fmt.Errorf("making a table: %w\n%s", err, out)
		}
		err = forget(data)
		load = shell(data, "read line; exec "+lookUp(evenly(rows)))
	} else {
		file := filepath.Join(data, "data")
		err = makeFile(file, pages)
		load = loadCommand(file, append(flags, "-pages", fmt.Sprint(pages)))
	}
	if err := errors.Join(err, g.limit(limit)); err != nil {
		return err
	}
	end, err := g.start(load)
	if err != nil {
		return err
	}
	defer end()
	time.Sleep(2 * time.Second) // until all that fits is cached
	return f(byIO{pids: []int{load.Process.Pid}})
}

// ratiosOf are the load's rates while it is observed, each as a part of the rate without,
// of which best is the highest.
func ratiosOf(load byIO, rounds int, while func(time.Duration, func() error) error, stop <-chan os.Signal) (ratios []float64, best float64, err error) {
	const slice = 5 * time.Second // after which predict measures itself once
	var rate [2]float64
	for round := range rounds {
		for _, with := range []bool{round%2 == 0, round%2 == 1} {
			var n float64
			count := func() error {
				n, err = load.rateFor(slice, stop)
				return err
			}
			if with {
				err = while(slice, count)
				rate[1] = n
			} else {
				err = count()
				rate[0] = n
			}
			if err != nil {
				return nil, 0, err
			}
		}
		ratios, best = append(ratios, rate[1]/rate[0]), max(best, rate[0])
	}
	return ratios, best, nil
}

// rateFor is how many pages a second the load asks for.
func (load byIO) rateFor(length time.Duration, stop <-chan os.Signal) (float64, error) {
	a, _, err := load.counters()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := wait(length, stop); err != nil {
		return 0, err
	}
	b, _, err := load.counters()
	return float64(b-a) / time.Since(began).Seconds(), err
}

// whileSampled calls f while accesses are sampled, and taken as predict does.
func whileSampled(length time.Duration, f func() error) error {
	o, err := tool.Open(host.Live(), tool.Filter{})
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	end := time.Now().Add(length)
	go func() {
		var err error
		for err == nil && time.Now().Before(end) {
			err = o.Poll()
			time.Sleep(tool.Poll)
		}
		done <- err
	}()
	return errors.Join(f(), <-done, o.Close())
}

// whileStopped calls f while the programs that sample accesses are attached and do nothing.
func whileStopped(_ time.Duration, f func() error) error {
	o, err := access.Open(host.Live(), 8)
	if err != nil {
		return err
	}
	return errors.Join(o.Stop(), f(), o.Close())
}

// whileIdle calls f while the programs that count evictions are attached and do nothing.
func whileIdle(_ time.Duration, f func() error) error {
	probe, err := reclaim.Open(host.Live()) // they begin to count with the first Collect
	if err != nil {
		return err
	}
	err = f()
	if c, ok := probe.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}

// whileEvictions calls f while evictions and returns are counted.
func whileEvictions(_ time.Duration, f func() error) error {
	probe, err := reclaim.Open(host.Live())
	if err != nil {
		return err
	}
	r := sample.NewRecorder(time.Now())
	err = probe.Collect(sample.First, r)
	err = errors.Join(err, f(), probe.Collect(sample.Last, r))
	if c, ok := probe.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}
