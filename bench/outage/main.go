// Outage has iocause agent send to Debian's prometheus and victoria-metrics
// while each of them is away for a time, and the agent is killed and started
// anew in the middle of that: afterwards the engine must have every value that
// the agent recorded, once, and none that it did not.
//
//	go run ./bench/outage [-before 1m] [-outage 5m] [-after 1m]
//
// It needs no root. Both engines run side by side, each with an agent of its
// own, on loopback addresses.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"iocause/internal/agent"
	"iocause/internal/host"
)

// asAgent, before the name of a configuration, makes this program the agent.
const asAgent = "as-agent"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "outage:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) == 3 && os.Args[1] == asAgent {
		return runAgent(ctx, os.Args[2])
	}
	p := plan{}
	flag.DurationVar(&p.before, "before", time.Minute, "how long the engine is there at first")
	flag.DurationVar(&p.outage, "outage", 5*time.Minute, "how long it is away")
	flag.DurationVar(&p.after, "after", time.Minute, "how long it is there again")
	flag.Parse()
	var all []engine
	for _, e := range engines() {
		if why := e.find(); why != nil {
			fmt.Fprintf(os.Stderr, "outage: %v: left out\n", why)
			continue
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		return errors.New("no engine is here: apt-get install prometheus victoria-metrics")
	}
	fmt.Printf("%-18s %8s %8s %10s %10s %10s %10s %12s\n", "", "outage", "series", "recorded", "arrived", "missing", "twice", "caught up in")
	errs := make([]error, len(all))
	var both sync.WaitGroup
	for i, e := range all {
		both.Go(func() {
			r, err := p.try(ctx, e)
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", e.name, err)
				return
			}
			fmt.Printf("%-18s %8v %8d %10d %10d %10d %10d %12v\n", e.name, p.outage, r.series, r.recorded, r.arrived, r.missing, r.twice, r.behind.Round(100*time.Millisecond))
			errs[i] = r.wrong()
		})
	}
	both.Wait()
	return errors.Join(errs...)
}

// runAgent is iocause agent.
func runAgent(ctx context.Context, config string) error {
	c, err := agent.LoadConfig(config)
	if err != nil {
		return err
	}
	return agent.New(host.Live(), c, slog.New(slog.NewTextHandler(os.Stderr, nil)), nil, "outage").Run(ctx)
}
