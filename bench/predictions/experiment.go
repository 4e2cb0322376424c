package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/tool/predict"
)

// experiment is one load, predicted at one limit and measured at others.
type experiment struct {
	Name   string
	Load   []string // flags of runLoad
	Pages  int      // of the file
	Limit  int64    // bytes: where it is predicted
	Others []float64
}

const mib = 1 << 20

// experiments are all. Programs take some 20 MiB of each limit, beside the cache.
func experiments() []experiment {
	factors := []float64{0.5, 1.5, 2, 4}
	var all []experiment
	add := func(name string, limit int64, pages int, load ...string) {
		all = append(all, experiment{name, load, pages, limit, factors})
	}
	p := func(n int) string { return strconv.Itoa(n) }
	const m = mib / pageSize // pages of a MiB
	add("uniform 256 MiB", 128*mib, 256*m, "-pattern", "uniform", "-pages", p(256*m))
	add("uniform 256 MiB with read-ahead", 128*mib, 256*m, "-pattern", "uniform", "-pages", p(256*m), "-read-ahead")
	add("zipf 1.0 800 MiB with read-ahead", 128*mib, 800*m, "-pattern", "zipf", "-skew", "1.0", "-pages", p(800*m), "-read-ahead")
	add("uniform 600 MiB", 160*mib, 600*m, "-pattern", "uniform", "-pages", p(600*m))
	for _, skew := range []string{"0.6", "0.8", "1.0", "1.2"} {
		add("zipf "+skew+" 800 MiB", 128*mib, 800*m, "-pattern", "zipf", "-skew", skew, "-pages", p(800*m))
	}
	add("zipf 0.9 of 16 KiB 800 MiB", 128*mib, 800*m, "-pattern", "zipf", "-skew", "0.9", "-pages", p(800*m), "-request", "4")
	add("loop 160 MiB", 128*mib, 160*m, "-pattern", "loop", "-pages", p(160*m), "-threads", "1", "-request", "4", "-read-ahead")
	add("loop 300 MiB", 128*mib, 300*m, "-pattern", "loop", "-pages", p(300*m), "-threads", "1", "-request", "16", "-read-ahead")
	add("zipf 1.0 300 MiB and scan 400 MiB", 128*mib, 700*m, "-pattern", "mix", "-skew", "1.0", "-pages", p(300*m), "-scan", p(400*m), "-every", "4")
	add("zipf 0.8 200 MiB and scan 200 MiB", 160*mib, 400*m, "-pattern", "mix", "-skew", "0.8", "-pages", p(200*m), "-scan", p(200*m), "-every", "2")
	add("uniform 100 MiB and scan 300 MiB", 128*mib, 400*m, "-pattern", "mix", "-skew", "0.0", "-pages", p(100*m), "-scan", p(300*m), "-every", "3")
	return all
}

// pair is what was predicted for a limit, and what came of it.
type pair struct {
	Experiment string     `json:"experiment"`
	Limit      int64      `json:"limit_bytes"`     // where it was predicted
	Factor     float64    `json:"factor"`          // of that
	Hit        float64    `json:"hit_predicted"`   // ratio
	Low        float64    `json:"hit_low"`         // of the stated interval
	High       float64    `json:"hit_high"`        //
	Open       bool       `json:"open"`            // the window was said to be too short
	LRU        float64    `json:"hit_lru"`         // exact LRU of the same sample
	Truth      float64    `json:"hit_measured"`    // pages read from disk (/proc/PID/io) of those asked for
	Before     float64    `json:"hit_before"`      // the same where it was predicted
	Seen       float64    `json:"hit_before_seen"` // what iocause saw of it
	Model      float64    `json:"hit_before_model"`
	Faster     [2]float64 `json:"faster_predicted"` // interval, 0 where not told
	Likely     float64    `json:"faster_likely"`    // within it
	Speed      float64    `json:"faster_measured"`
	Disk       float64    `json:"disk_predicted"` // pages from disk for each that is asked for
	DiskTruth  float64    `json:"disk_measured"`
	Kernel     string     `json:"kernel"`
	At         string     `json:"at"`
}

const (
	settle = 3 * time.Second  // for a cache to turn over
	look   = 12 * time.Second // of the prediction
	truth  = 3 * time.Second
)

// run runs it in a cgroup of its own.
func (e *experiment) run(dir string, stop <-chan os.Signal) (pairs []pair, err error) {
	file := filepath.Join(dir, fmt.Sprintf("iocause-predictions-%d", os.Getpid()))
	defer os.Remove(file)
	if err := makeFile(file, e.Pages); err != nil {
		return nil, err
	}
	group := fmt.Sprintf("/sys/fs/cgroup/memory/iocause-predictions-%d", os.Getpid())
	if err := os.Mkdir(group, 0o755); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, removeGroup(group)) }()
	set := func(factor float64) error {
		n := int64(float64(e.Limit)*factor) / pageSize * pageSize
		return os.WriteFile(filepath.Join(group, "memory.limit_in_bytes"), []byte(strconv.FormatInt(n, 10)), 0o600)
	}
	if err := set(1); err != nil {
		return nil, err
	}
	back, err := readAhead(dir, "128")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, back()) }()
	load := exec.Command(os.Args[0], append([]string{"load", "-file", file}, e.Load...)...)
	load.Stderr = os.Stderr
	start, err := load.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := load.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = load.Process.Kill()
		_ = load.Wait()
	}()
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(load.Process.Pid)), 0o600); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(start, "\n"); err != nil {
		return nil, err
	}
	pid := load.Process.Pid
	if _, err := measure(pid, settle+3*time.Second, stop); err != nil {
		return nil, err
	}
	said, err := observe(host.Live(), group, e.Others, e.Limit, stop)
	if err != nil {
		return nil, err
	}
	before, err := measure(pid, truth, stop)
	if err != nil {
		return nil, err
	}
	fmt.Printf("  now: %.3f measured, %.3f seen, %.3f by the model\n", before.hit, said.Curve.Now, said.Curve.Model)
	for _, factor := range e.Others {
		if err := set(factor); err != nil {
			return nil, err
		}
		if _, err := measure(pid, settle+time.Duration(max(0, factor-1)*2)*time.Second, stop); err != nil {
			return nil, err
		}
		now, err := measure(pid, truth, stop)
		if err != nil {
			return nil, err
		}
		x := said.Curve.At(int64(float64(e.Limit)*factor) / pageSize * pageSize)
		if x == nil {
			continue // less than the programs need
		}
		p := pair{Experiment: e.Name, Limit: e.Limit, Factor: factor, Hit: x.Hit, Low: x.Low, High: x.High, Open: x.Open, LRU: x.LRU,
			Truth: now.hit, Before: before.hit, Seen: said.Curve.Now, Model: said.Curve.Model, Speed: now.rate / before.rate, Disk: x.Disk / said.Curve.Asked, DiskTruth: 1 - now.hit, Kernel: kernel(), At: time.Now().UTC().Format("2006-01-02")}
		if f, ok := said.Faster(x); ok {
			p.Faster, p.Likely = [2]float64{f.Low, f.High}, f.Value
		}
		pairs = append(pairs, p)
		fmt.Printf("  %.2fx: %.3f (%.3f to %.3f, LRU %.3f), measured %.3f; %.2f (%.2f to %.2f) times as fast, measured %.2f; disk %.3f, measured %.3f\n", factor, p.Hit, p.Low, p.High, p.LRU, p.Truth, p.Likely, p.Faster[0], p.Faster[1], p.Speed, p.Disk, p.DiskTruth)
	}
	return pairs, nil
}

// observe is what 'iocause predict --cgroup' does.
func observe(h *host.Host, group string, factors []float64, limit int64, stop <-chan os.Signal) (*predict.Prediction, error) {
	o, err := predict.Open(h, predict.Filter{Cgroup: strings.TrimPrefix(group, "/sys/fs/cgroup/memory")})
	if err != nil {
		return nil, err
	}
	defer o.Close()
	for began := time.Now(); time.Since(began) < look; time.Sleep(predict.Poll) {
		select {
		case <-stop:
			return nil, errors.New("interrupted")
		default:
		}
		if err := o.Poll(); err != nil {
			return nil, err
		}
	}
	var asks []predict.Ask
	for _, f := range factors {
		asks = append(asks, predict.Ask{Bytes: float64(int64(float64(limit)*f) / pageSize * pageSize)})
	}
	began := time.Now()
	p, err := o.Predict(asks)
	if err != nil {
		return nil, err
	}
	if p.Curve == nil {
		return nil, errors.New(strings.Join(p.Advice, " "))
	}
	fmt.Printf("  %d accesses of %d pages, one in %d; worked out in %v; %s\n", p.Curve.Sampled, p.Curve.Pages, p.Curve.Scale, time.Since(began).Round(time.Millisecond), strings.Join(p.Notes, "; "))
	fmt.Printf("  %+v\n", *p.Reading)
	return p, nil
}

// measured is what a process did in a time.
type measured struct{ hit, rate float64 } // of pages, and pages a second

func measure(pid int, length time.Duration, stop <-chan os.Signal) (m measured, err error) {
	a, b, err := counters(pid)
	if err != nil {
		return m, err
	}
	began := time.Now()
	select {
	case <-time.After(length):
	case <-stop:
		return m, errors.New("interrupted")
	}
	c, d, err := counters(pid)
	if err != nil {
		return m, err
	}
	return measured{1 - float64(d-b)/float64(c-a), float64(c-a) / time.Since(began).Seconds()}, nil
}

// counters are the pages that a process has asked for and had read from disk.
func counters(pid int) (asked, disk int64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case "rchar":
			asked = n / pageSize
		case "read_bytes":
			disk = n / pageSize
		}
	}
	return asked, disk, err
}

// makeFile writes a file and drops it from the cache.
func makeFile(path string, pages int) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	buf := make([]byte, mib)
	for i := range buf {
		buf[i] = byte(i * 7)
	}
	for range pages / (mib / pageSize) {
		if _, err := f.Write(buf); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	err = f.Sync()
	return errors.Join(err, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED), f.Close())
}

// readAhead sets the read-ahead of the disk below a directory, in KiB, and
// returns what sets it back.
func readAhead(dir, kib string) (back func() error, err error) {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return nil, err
	}
	at := fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
	if _, err := os.Stat(at + "/queue"); err != nil {
		at += "/.." // a partition
	}
	at += "/queue/read_ahead_kb"
	old, err := os.ReadFile(at)
	if err != nil {
		return nil, fmt.Errorf("looking for the disk's read-ahead: %w", err)
	}
	return func() error { return os.WriteFile(at, old, 0o600) }, os.WriteFile(at, []byte(kib), 0o600)
}

// removeGroup waits for the last process to be gone.
func removeGroup(dir string) (err error) {
	for range 50 {
		if err = os.Remove(dir); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}
