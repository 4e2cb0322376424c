// Day lets iocause agent watch a real day of a database, compressed: PostgreSQL
// with pgbench is the daily load, four causes are planted one after the other,
// and of each must be found that something is off, why, and with what evidence.
// It runs as root, for about an hour; it sets limits of dirty pages of the
// machine for a while, and sets them back.
//
//	go run ./bench/day [-learn 10m] [-quiet 6m] [-plant 8m] [-only CAUSE] [-iocause BINARY]
//
// It needs Debian's postgresql.
//
// What is learned in -learn stands for every hour of the two weeks before: the
// baselines need days, and the load is the same all the time. Each cause gets an
// agent of its own with that history, so that one incident is over when the next
// begins.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	d := &day{out: os.Stdout}
	flag.DurationVar(&d.learn, "learn", 10*time.Minute, "how long the load is learned")
	flag.DurationVar(&d.quiet, "quiet", 6*time.Minute, "before each cause: the agent looks at better times after one, and compares with the last five at least")
	flag.DurationVar(&d.plant, "plant", 8*time.Minute, "how long each cause is there at most")
	flag.StringVar(&d.only, "only", "", "plant this cause alone")
	flag.StringVar(&d.bin, "iocause", "", "the program; built from here without it")
	flag.BoolVar(&d.keep, "keep", false, "leave the scratch folder, with the incidents, where it is")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := d.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "day:", err)
		stop()
		os.Exit(1)
	}
}

// errMissed is a day on which not all was found.
var errMissed = errors.New("not all that was planted was found")

func (d *day) run(ctx context.Context) (err error) {
	if os.Geteuid() != 0 {
		return errors.New("starting: it makes cgroups and limits, and so runs as root")
	}
	parent := os.Getenv("BENCH_DIR")
	if parent == "" {
		parent = "/var/tmp"
	}
	if d.dir, err = os.MkdirTemp(parent, "iocause-day-"); err != nil {
		return err
	}
	defer func() {
		if d.keep {
			fmt.Fprintln(d.out, "\nKept:", d.dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(d.dir))
	}()
	if err := os.Chmod(d.dir, 0o755); err != nil { // the database's user passes
		return err
	}
	if d.bin == "" {
		d.bin = filepath.Join(d.dir, "iocause")
		build := exec.CommandContext(ctx, "go", "build", "-o", d.bin, "iocause")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building iocause: %w: %s", err, out)
		}
	}
	if d.group, err = newGroup(d.dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.group.remove()) }()
	p, err := startPostgres(ctx, d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	d.database = p
	load, err := p.load(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, load.stop()) }()
	d.say("the load is learned for %v", d.learn)
	if err := d.learnLoad(ctx); err != nil {
		return err
	}
	var missed []string
	fmt.Fprintln(d.out, "\n| planted | transactions/s before | with it | incident after | what was off | primary cause | also | culprit | evidence |\n|---|---|---|---|---|---|---|---|---|")
	for _, c := range causes() {
		if d.only != "" && d.only != c.id {
			continue
		}
		r, err := d.try(ctx, &c)
		if err != nil {
			return fmt.Errorf("planting %s: %w", c.id, err)
		}
		fmt.Fprintln(d.out, r.row())
		if why := r.missed(); why != "" {
			missed = append(missed, c.id+": "+why)
		}
		if err := load.alive(); err != nil {
			return fmt.Errorf("after %s: the load ended: %w", c.id, err)
		}
	}
	if len(missed) > 0 {
		return fmt.Errorf("%w: %s", errMissed, strings.Join(missed, "; "))
	}
	return nil
}

// say tells what goes on, beside the results.
func (d *day) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}
