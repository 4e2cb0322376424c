package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/klauspost/compress/snappy"

	"iocause/internal/fleet/fleettest"
)

// plan is what is tried.
type plan struct {
	rounds, fast int
	every        time.Duration
	serve        bool
}

// result is what came of it.
type result struct {
	series     int
	sent       float64 // values a second, in real time
	slowest    time.Duration
	processors float64 // that the engine took meanwhile
	memory     float64 // bytes resident, at the end
	refused    int64   // requests that were not taken at once
	most       float64 // values a second, as fast as it goes
	bytes      float64 // of a value on the disk
}

func command(name, dir, at string) (*exec.Cmd, error) {
	switch name {
	case "victoria-metrics":
		return exec.Command(name, "-storageDataPath="+dir+"/data", "-httpListenAddr="+at, "-search.latencyOffset=0s", "-retentionPeriod=1y", "-search.maxUniqueTimeseries=5000000"), nil
	case "prometheus":
		err := os.WriteFile(dir+"/config.yaml", nil, 0o600)
		return exec.Command(name, "--config.file="+dir+"/config.yaml", "--storage.tsdb.path="+dir+"/data", "--web.enable-remote-write-receiver", "--web.listen-address="+at), err
	}
	return nil, fmt.Errorf("the engine %q is not known", name)
}

// try has so many hosts send to an engine.
func (p *plan) try(ctx context.Context, name string, hosts int, all []pattern) (r result, err error) {
	dir, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "iocause-fleet")
	if err != nil {
		return r, fmt.Errorf("making the engine's directory: %w", err)
	}
	defer os.RemoveAll(dir)
	at, err := free()
	if err != nil {
		return r, err
	}
	engine, err := command(name, dir, at)
	if err != nil {
		return r, err
	}
	engine.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us, who end it
	if err := engine.Start(); err != nil {
		return r, fmt.Errorf("starting the engine: %w", err)
	}
	defer func() {
		_ = engine.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = engine.Wait()
	}()
	f := fleettest.New(11, fleettest.Options{Hosts: hosts, Planted: 1, SlowDisks: min(20, hosts/50), Intervals: 1})
	senders := make([]*sender, hosts)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range f.Hosts {
		senders[i] = senderOf(&f.Hosts[i], i, all, random)
		r.series += len(senders[i].values)
	}
	if err := answers(ctx, at); err != nil {
		return r, err
	}
	way := "http://" + at + "/api/v1/write"
	// One interval that is not counted: the engine makes the series in it.
	now := time.Now().Truncate(p.every).Add(-time.Duration(p.fast) * p.every)
	if _, err = r.round(ctx, way, senders, p.every, now); err != nil {
		return r, err
	}
	began := time.Now()
	for range p.fast {
		now = now.Add(p.every)
		if _, err = r.round(ctx, way, senders, p.every, now); err != nil {
			return r, err
		}
	}
	r.most = float64(r.series*p.fast) / time.Since(began).Seconds()
	began = time.Now()
	took := processorTime(engine.Process.Pid)
	for range p.rounds {
		now = now.Add(p.every)
		next := time.Now().Add(p.every)
		one, err := r.round(ctx, way, senders, p.every, now)
		if err != nil {
			return r, err
		}
		r.slowest = max(r.slowest, one)
		select {
		case <-ctx.Done():
			return r, ctx.Err()
		case <-time.After(time.Until(next)):
		}
	}
	lasted := time.Since(began).Seconds()
	r.sent = float64(r.series*p.rounds) / lasted
	r.processors = (processorTime(engine.Process.Pid) - took).Seconds() / lasted
	r.memory = resident(engine.Process.Pid)
	if name == "victoria-metrics" {
		for _, path := range []string{"/internal/force_flush", "/internal/force_merge"} {
			if resp, err := http.Get("http://" + at + path); err == nil {
				resp.Body.Close()
			}
		}
		time.Sleep(5 * time.Second) // it merges beside
		r.bytes = size(dir+"/data") / float64(r.series*(1+p.fast+p.rounds))
	} // Prometheus has two hours in memory and in its log: that tells nothing of a day
	if p.serve {
		fmt.Printf("%s is at http://%s until Ctrl-C; the planted fact is %v\n", name, at, f.Planted)
		<-ctx.Done()
		return r, ctx.Err()
	}
	return r, nil
}

const connections = 4 // that send at a time

// round has every host send one value of each series, and tells how long that took.
func (r *result) round(ctx context.Context, way string, senders []*sender, every time.Duration, at time.Time) (time.Duration, error) {
	began := time.Now()
	var next atomic.Int64
	var again atomic.Int64
	var mu sync.Mutex
	var failed error
	var all sync.WaitGroup
	for n := range connections {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), uint64(at.UnixMilli())))
			var packed []byte
			for {
				i := int(next.Add(1)) - 1
				if i >= len(senders) || ctx.Err() != nil {
					return
				}
				senders[i].move(random, every.Seconds(), at)
				packed = snappy.Encode(packed[:cap(packed)], senders[i].body)
				tries, err := post(ctx, way, packed)
				again.Add(int64(tries - 1))
				if err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	all.Wait()
	r.refused += again.Load()
	return time.Since(began), errors.Join(failed, ctx.Err())
}

// post sends until it is taken.
func post(ctx context.Context, way string, packed []byte) (tries int, err error) {
	for tries = 1; tries <= 10; tries++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, way, bytes.NewReader(packed))
		if err != nil {
			return tries, err
		}
		req.Header.Set("Content-Encoding", "snappy")
		req.Header.Set("Content-Type", "application/x-protobuf")
		req.Header.Set("X-Prometheus-Remote-Write-Version", "0.1.0")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return tries, fmt.Errorf("sending: %w", err)
		}
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 300)) // only to tell why
		resp.Body.Close()
		switch resp.StatusCode / 100 {
		case 2:
			return tries, nil
		case 4:
			return tries, fmt.Errorf("sending: %s: %s", resp.Status, said)
		}
		time.Sleep(time.Duration(tries) * 100 * time.Millisecond)
	}
	return tries, errors.New("sending: it was refused ten times")
}

func answers(ctx context.Context, at string) error {
	for began := time.Now(); time.Since(began) < time.Minute && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		if resp, err := http.Get("http://" + at + "/api/v1/query?query=1"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
	}
	return errors.New("the engine does not answer")
}

// processorTime is what a process took so far.
func processorTime(pid int) time.Duration {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // it is there as long as we have not waited for it
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

func resident(pid int) float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid)) // as above
	pages, _ := strconv.Atoi(strings.Fields(string(b))[1])
	return float64(pages * os.Getpagesize())
}

func size(dir string) (sum float64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				sum += float64(info.Size())
			}
		}
		return nil
	})
	return sum
}
