package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/predict"
	tool "iocause/internal/tool/predict"
	"iocause/internal/version"
)

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
	Median     *span      `json:"read_p50_seconds,omitempty"` // of read calls; nil where that was not told or measured
	P99        *span      `json:"read_p99_seconds,omitempty"`
	Mixed      bool       `json:"mixed,omitempty"`
	Unstable   string     `json:"unstable,omitempty"`    // why the load is not the same all the time
	Warned     bool       `json:"warned,omitempty"`      // the prediction said that
	Quiet      bool       `json:"quiet,omitempty"`       // nothing else ran: speeds count
	Change     float64    `json:"rate_change,omitempty"` // the rate where it was predicted, after the watch as a part of before it: what the disk did
	Others     float64    `json:"others,omitempty"`      // processors that other programs had while speeds were measured
	Lists      string     `json:"lists,omitempty"`       // MGLRU; "" for two lists
	Cgroups    int        `json:"cgroups,omitempty"`     // version; 0 for 1
	Kernel     string     `json:"kernel"`
	At         string     `json:"at"`
	Commit     string     `json:"commit,omitempty"` // of the code that predicted it
}

// span is a figure as it was predicted, with its interval, and measured.
type span struct {
	predict.Share
	Truth  float64 `json:"measured"`
	Before float64 `json:"before"` // measured where it was predicted
}

// spanOf is nil where one of both is not known.
func spanOf(said *predict.Share, measured, before float64) *span {
	if said == nil || !(measured > 0 && before > 0) {
		return nil
	}
	return &span{*said, measured, before}
}

func (s *span) String() string {
	if s == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f us (%.1f to %.1f), measured %.1f, before %.1f", 1e6*s.Value, 1e6*s.Low, 1e6*s.High, 1e6*s.Truth, 1e6*s.Before)
}

const (
	warm  = 6 * time.Second  // for a cache to fill before the prediction
	look  = 12 * time.Second // of the prediction
	truth = 3 * time.Second
)

// run runs it in a cgroup of its own.
func (e *experiment) run(dir string, stop <-chan os.Signal) (pairs []pair, err error) {
	g, err := newGroup()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.remove()) }()
	back, err := readAhead(dir, "128")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, back()) }()
	data, err := os.MkdirTemp(dir, "iocause-predictions-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	if err := os.Chmod(data, 0o755); err != nil {
		return nil, err
	}
	m, end, err := e.start(g, data)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := wait(e.slower(warm), stop); err != nil {
		return nil, err
	}
	first, err := g.rate(e.slower(truth), stop)
	if err != nil {
		return nil, err
	}
	said, err := observe(host.Live(), g.name, e.slower(look), e.Factors, e.Limit, stop)
	if err != nil {
		return nil, err
	}
	if r := said.Reading; r != nil {
		pages := r.Pages
		fmt.Printf("  watched: %.0f pages a second, %s, %.2f blocked; a hit taken for %.2f\n", pages/said.Seconds, spent{r.User, r.System, r.Queued}.each(spent{}, pages), 1e6*r.Blocked/pages, 1e6*(r.PerCall*r.Calls/pages+r.PerPage))
	}
	before, err := g.watch(m, e.slower(truth), stop)
	if err != nil {
		return nil, err
	}
	fmt.Printf("  now: %.3f measured, %.3f seen, %.3f by the model\n", before.hit, said.Curve.Now, said.Curve.Model)
	if x := said.Curve.At(e.Limit); x != nil {
		fmt.Printf("  now: half of the calls within %v; 99 of 100 within %v\n", spanOf(x.Median, before.median, before.median), spanOf(x.P99, before.p99, before.p99))
	}
	for _, factor := range e.Factors {
		limit := e.limit(factor)
		if err := g.limit(limit); err != nil {
			return nil, err
		}
		if err := g.settle(limit, e.slower(time.Second), stop); err != nil {
			return nil, err
		}
		now, err := g.stable(m, e.slower(truth), stop)
		if err != nil {
			return nil, err
		}
		x := said.Curve.At(limit)
		if x == nil {
			continue // less than the programs need
		}
		p := pair{Experiment: e.Name, Limit: e.Limit, Factor: factor, Hit: x.Hit, Low: x.Low, High: x.High, Open: x.Open, LRU: x.LRU, Mixed: e.Mixed, Unstable: e.Unstable, Warned: said.Warned,
			Truth: now.hit, Before: before.hit, Seen: said.Curve.Now, Model: said.Curve.Model, Speed: now.rate / before.rate, Disk: x.Disk / said.Curve.Asked, DiskTruth: now.disk, Kernel: kernel(), At: time.Now().UTC().Format("2006-01-02"), Commit: commit(), Others: max(before.others, now.others)}
		if first > 0 {
			p.Change = before.rate / first
		}
		if lists() != twoLists {
			p.Lists = lists()
		}
		if g.v2 {
			p.Cgroups = 2
		}
		if f, ok := said.Faster(x); ok {
			p.Faster, p.Likely = [2]float64{f.Low, f.High}, f.Value
		}
		p.Median, p.P99 = spanOf(x.Median, now.median, before.median), spanOf(x.P99, now.p99, before.p99)
		pairs = append(pairs, p)
		fmt.Printf("  %.2fx: half of the calls within %v; 99 of 100 within %v\n", factor, p.Median, p.P99)
		fmt.Printf("  %.2fx: %.3f (%.3f to %.3f, LRU %.3f), measured %.3f; %.2f (%.2f to %.2f) times as fast, measured %.2f; disk %.3f, measured %.3f\n", factor, p.Hit, p.Low, p.High, p.LRU, p.Truth, p.Likely, p.Faster[0], p.Faster[1], p.Speed, p.Disk, p.DiskTruth)
	}
	return pairs, nil
}

// limit is that of a factor, in bytes.
func (e *experiment) limit(factor float64) int64 {
	return int64(float64(e.Limit)*factor) / pageSize * pageSize
}

// start lets the load begin in the cgroup, under the limit of the prediction.
func (e *experiment) start(g *group, data string) (m meter, end func(), err error) {
	if e.Program != nil {
		if out, err := shell(data, e.Program.setup).CombinedOutput(); err != nil {
			return nil, nil, fmt.Errorf("setting it up: %w\n%s", err, out)
		}
		if err := errors.Join(forget(data), g.limit(e.Limit)); err != nil {
			return nil, nil, err
		}
		end, err = g.start(shell(data, "read line; "+e.Program.run))
		return &byFiles{below: data}, end, err
	}
	file := filepath.Join(data, "data")
	if err := errors.Join(makeFile(file, e.Pages), g.limit(e.Limit)); err != nil {
		return nil, nil, err
	}
	reads := byIO{times: filepath.Join(data, "times")}
	end = func() {}
	for _, flags := range e.Loads {
		load := loadCommand(file, append([]string{"-times", reads.times}, flags...))
		stop, err := g.start(load)
		if err != nil {
			end()
			return nil, nil, err
		}
		before := end
		end = func() { stop(); before() }
		if !slices.Contains(flags, "-mapped") {
			reads.pids = append(reads.pids, load.Process.Pid)
		}
	}
	if e.Mixed {
		return &byFiles{below: data}, end, nil
	}
	return reads, end, nil
}

// loadCommand is this program as a load.
func loadCommand(file string, flags []string) *exec.Cmd {
	return exec.Command(os.Args[0], append([]string{"load", "-file", file}, flags...)...)
}

// said is a prediction, and whether it warns of itself.
type said struct {
	*tool.Prediction
	Warned bool
}

// observe is what 'iocause predict --cgroup' does.
func observe(h *host.Host, group string, look time.Duration, factors []float64, limit int64, stop <-chan os.Signal) (*said, error) {
	o, err := tool.Open(h, tool.Filter{Cgroup: group})
	if err != nil {
		return nil, err
	}
	defer o.Close()
	for began := time.Now(); time.Since(began) < look; time.Sleep(tool.Poll) {
		select {
		case <-stop:
			return nil, errInterrupted
		default:
		}
		if err := o.Poll(); err != nil {
			return nil, err
		}
	}
	var asks []tool.Ask
	for _, f := range factors {
		asks = append(asks, tool.Ask{Bytes: float64(int64(float64(limit)*f) / pageSize * pageSize)})
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
	warned := false
	for _, line := range p.Advice {
		fmt.Println("  " + line)
		warned = warned || strings.HasPrefix(line, "The access pattern changed")
	}
	return &said{p, warned}, nil
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

const twoLists = "two lists"

// lists is how this kernel keeps pages.
func lists() string {
	b, err := os.ReadFile("/sys/kernel/mm/lru_gen/enabled")
	if err != nil || strings.TrimSpace(string(b)) == "0x0000" {
		return twoLists
	}
	return "MGLRU"
}

// commit is what this was built from, "" where the go command did not record it.
func commit() string {
	r := version.Build().Revision
	return r[:min(8, len(r))]
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}
