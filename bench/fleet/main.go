// Fleet has thousands of simulated hosts send to a real engine on this machine, as
// agents do: the series of an agent that watches this machine, with values that
// move, beside the facts, findings and disks of a made-up fleet, one request a host
// and interval, by remote write.
//
//	go run ./bench/fleet [-hosts 100,1000,10000] [-engines victoria-metrics,prometheus] [-rounds 8] [-every 15s] [-fast 20] [-serve]
//
// It tells whether the engine keeps up with a value of each series every interval,
// how many values it takes at most, what it takes for that, and how large they are
// on the disk. It needs no root.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var p plan
	sizes := flag.String("hosts", "100,1000,10000", "how many hosts, one after the other")
	names := flag.String("engines", "victoria-metrics,prometheus", "what they send to")
	flag.IntVar(&p.rounds, "rounds", 8, "intervals in real time")
	flag.DurationVar(&p.every, "every", 15*time.Second, "length of an interval")
	flag.IntVar(&p.fast, "fast", 20, "intervals as fast as the engine takes them")
	flag.BoolVar(&p.serve, "serve", false, "leave the engine running until Ctrl-C, to ask it")
	flag.Parse()
	pattern, err := observed(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("an agent here has %d series\n", len(pattern))
	fmt.Printf("%-18s %7s %9s %10s %10s %12s %10s %8s %12s %14s\n", "", "hosts", "series", "sent", "slowest", "processors", "memory", "refused", "at most", "bytes a value")
	for name := range strings.SplitSeq(*names, ",") {
		for size := range strings.SplitSeq(*sizes, ",") {
			hosts, err := strconv.Atoi(size)
			if err != nil {
				return fmt.Errorf("reading -hosts: %w", err)
			}
			r, err := p.try(ctx, name, hosts, pattern)
			if err != nil {
				return fmt.Errorf("%s, %d hosts: %w", name, hosts, err)
			}
			fmt.Printf("%-18s %7d %9d %8.0f/s %10v %12.2f %6.0f MiB %8d %10.0f/s %14.2f\n", name, hosts, r.series, r.sent, r.slowest.Round(time.Millisecond), r.processors, r.memory/(1<<20), r.refused, r.most, r.bytes)
		}
	}
	return nil
}
