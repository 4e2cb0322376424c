package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Sizes of the day: the data fits the memory of the cgroup, with half as much
// again to spare.
const (
	scale      = 60       // of pgbench: some 900 MB
	roomMiB    = 1500     // of the cgroup
	eatMiB     = 1200     // what the squeeze takes of it
	clients    = "6"      // of pgbench
	bufferSize = "64MB"   // PostgreSQL's own: the page cache matters
	slowOps    = 40       // a second, what the slow device does
	dirtyBytes = 16 << 20 // allowed to be dirty during the bulk load
)

// postgres is a database server of our own.
type postgres struct {
	*process
	bin, data, socket string
	as                *syscall.Credential
}

func startPostgres(ctx context.Context, d *day) (*postgres, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(found) == 0 {
		return nil, errors.New("looking for PostgreSQL: it is not in /usr/lib/postgresql: apt-get install postgresql")
	}
	slices.Sort(found)
	p := &postgres{bin: found[len(found)-1], data: filepath.Join(d.dir, "pg"), socket: filepath.Join(d.dir, "socket")}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("looking for PostgreSQL's user: %w", err)
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	p.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	for _, dir := range []string{p.data, p.socket} {
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, uid, gid)); err != nil {
			return nil, err
		}
	}
	if err := run(ctx, p.as, filepath.Join(p.bin, "initdb"), "-D", p.data, "-A", "trust", "-U", "postgres"); err != nil {
		return nil, err
	}
	if err := d.group.limitMemory(roomMiB << 20); err != nil {
		return nil, err
	}
	if p.process, err = start("postgres", d.group, p.as, filepath.Join(p.bin, "postgres"), "-D", p.data, "-k", p.socket,
		"-c", "listen_addresses=", "-c", "shared_buffers="+bufferSize, "-c", "checkpoint_timeout=2min", "-c", "max_wal_size=512MB"); err != nil {
		return nil, err
	}
	for range 100 {
		if err = run(ctx, p.as, filepath.Join(p.bin, "pg_isready"), "-h", p.socket); err == nil {
			break
		}
		if gone := errors.Join(p.alive(), wait(ctx, 200*time.Millisecond)); gone != nil {
			return nil, errors.Join(gone, p.stop())
		}
	}
	d.say("the database is filled")
	for _, args := range [][]string{
		{"pgbench", "-h", p.socket, "-U", "postgres", "-i", "-q", "-s", strconv.Itoa(scale), "postgres"},
		{"psql", "-h", p.socket, "-U", "postgres", "-c", "checkpoint", "-c", "select count(*) from pgbench_accounts", "postgres"},
	} {
		if err == nil {
			err = run(ctx, p.as, append([]string{filepath.Join(p.bin, args[0])}, args[1:]...)...)
		}
	}
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// stop is PostgreSQL's fast shutdown.
func (p *postgres) stop() error { return p.stopWith(syscall.SIGINT) }

// load is the daily load: as much as the clients get, one transaction in four
// writes.
func (p *postgres) load(ctx context.Context) (*process, error) {
	l, err := start("pgbench", nil, p.as, filepath.Join(p.bin, "pgbench"), "-h", p.socket, "-U", "postgres", "-n", "-c", clients, "-j", "2",
		"-T", "86400", "-b", "select-only@3", "-b", "tpcb-like@1", "postgres")
	if err != nil {
		return nil, err
	}
	if err := wait(ctx, 30*time.Second); err != nil { // until it is warm
		return nil, errors.Join(err, l.stop())
	}
	return l, l.alive()
}

// commits is how many transactions the database has committed.
func (p *postgres) commits(ctx context.Context) (float64, error) {
	c := exec.CommandContext(ctx, filepath.Join(p.bin, "psql"), "-h", p.socket, "-U", "postgres", "-AtX", "-c",
		"select xact_commit from pg_stat_database where datname = 'postgres'", "postgres")
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: p.as}
	out, err := c.Output()
	if err != nil {
		return 0, fmt.Errorf("asking for the transactions so far: %w", err)
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}

// pace is how many transactions a second there were since a moment.
type pace struct {
	at      time.Time
	commits float64
}

func (p *postgres) pace(ctx context.Context) (pace, error) {
	n, err := p.commits(ctx)
	return pace{time.Now(), n}, err
}

func (a pace) until(b pace) float64 { return (b.commits - a.commits) / b.at.Sub(a.at).Seconds() }
