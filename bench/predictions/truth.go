package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/procfile"
	"iocause/internal/sample"
	"iocause/internal/source/probe/pagecache"
)

// group is a memory cgroup.
type group struct {
	dir, name string // folder, and path below the hierarchy's top
	v2        bool
}

// newGroup makes one of this machine's version.
func newGroup() (*group, error) {
	groups, err := host.Live().Cgroups()
	if err != nil {
		return nil, err
	}
	tree, ok := groups.Controller("memory")
	if !ok {
		return nil, errors.New("this machine has no memory cgroups")
	}
	g := &group{name: fmt.Sprintf("/iocause-predictions-%d", os.Getpid()), v2: tree.V2}
	if g.dir, err = tree.Join(g.name); err != nil {
		return nil, err
	}
	return g, os.Mkdir(g.dir, 0o755)
}

func (g *group) limit(bytes int64) error {
	file := "memory.limit_in_bytes"
	if g.v2 {
		file = "memory.max"
	}
	return lab.WriteLimit(g.dir, file, strconv.FormatInt(bytes, 10))
}

// start starts a program that waits for a line on its standard input, puts it into
// the cgroup, and lets it go on. end ends it and all that it started.
func (g *group) start(c *exec.Cmd) (end func(), err error) {
	c.Stderr = os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	end = func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		for range 50 { // those with a process group of their own, as PostgreSQL's
			members, err := g.members()
			if err != nil || len(members) == 0 {
				break
			}
			for _, line := range members {
				if pid, err := strconv.Atoi(line); err == nil {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
			time.Sleep(50 * time.Millisecond)
		}
		_ = c.Wait()
	}
	err = os.WriteFile(filepath.Join(g.dir, "cgroup.procs"), []byte(strconv.Itoa(c.Process.Pid)), 0o600)
	if err == nil {
		_, err = io.WriteString(in, "\n")
	}
	if err != nil {
		end()
		return nil, err
	}
	return end, nil
}

// settle waits until the cache is full or grows no more, and has turned over since:
// 3 times a second after that, at most 20 times.
func (g *group) settle(limit int64, second time.Duration, stop <-chan os.Signal) error {
	last := int64(0)
	for range 17 {
		now, err := procfile.ReadMemoryUsage(g.dir, g.v2)
		if err != nil {
			return err
		}
		used := int64(now)
		if used > limit-limit/50 || last > 0 && used-last < limit/300 {
			break
		}
		last = used
		if err := wait(second, stop); err != nil {
			return err
		}
	}
	return wait(3*second, stop)
}

// remove waits for the last process to be gone.
func (g *group) remove() (err error) {
	for range 50 {
		if err = os.Remove(g.dir); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

var errInterrupted = errors.New("interrupted")

func wait(length time.Duration, stop <-chan os.Signal) error {
	select {
	case <-time.After(length):
		return nil
	case <-stop:
		return errInterrupted
	}
}

func shell(dir, script string) *exec.Cmd {
	c := exec.Command("bash", "-c", script)
	c.Dir = dir
	return c
}

// forget drops the files below a directory from the cache.
func forget(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED), f.Close())
	})
}

// measured is what a load did in a time: the hit ratio of pages, pages from disk for
// each that was asked for, pages asked for a second, and the median and the 99th
// percentile of how long a read call took, in seconds, 0 where that was not measured; and
// how many processors other programs had.
type measured struct{ hit, disk, rate, median, p99, others float64 }

// meter measures it, by other means than the prediction.
type meter interface {
	measure(length time.Duration, stop <-chan os.Signal) (measured, error)
}

// byIO are processes that read whole pages: the kernel counts in /proc/PID/io what
// they ask for and what comes from disk.
type byIO struct {
	pids  []int
	times string // file of the times of their calls
}

func (load byIO) measure(length time.Duration, stop <-chan os.Signal) (m measured, err error) {
	t, err := readTimes(load.times)
	if err != nil {
		return m, err
	}
	a, b, err := load.counters()
	if err != nil {
		return m, err
	}
	began := time.Now()
	if err := wait(length, stop); err != nil {
		return m, err
	}
	c, d, err := load.counters()
	if err != nil {
		return m, err
	}
	rate := float64(c-a) / time.Since(began).Seconds()
	u, err := readTimes(load.times)
	if err != nil {
		return m, err
	}
	disk := float64(d-b) / float64(c-a)
	return measured{hit: 1 - disk, disk: disk, rate: rate, median: quantile(t, u, 0.5), p99: quantile(t, u, 0.99)}, nil
}

// counters are the pages that they have asked for and had read from disk.
func (load byIO) counters() (asked, disk int64, err error) {
	for _, pid := range load.pids {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
		if err != nil {
			return 0, 0, err
		}
		for line := range strings.Lines(string(b)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			n, _ := strconv.ParseInt(value, 10, 64)
			switch name {
			case "rchar":
				asked += n / pageSize
			case "read_bytes":
				disk += n / pageSize
			}
		}
	}
	return asked, disk, nil
}

// byFiles counts every access to the pages of the files below a directory.
type byFiles struct{ below string }

func (b *byFiles) measure(length time.Duration, stop <-chan os.Signal) (m measured, err error) {
	probe, err := pagecache.Open(host.Live())
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, probe.Close()) }()
	began := time.Now()
	r := sample.NewRecorder(began)
	if err := probe.Collect(sample.First, r); err != nil {
		return m, err
	}
	if err := wait(length, stop); err != nil {
		return m, err
	}
	r.At(time.Now())
	if err := probe.Collect(sample.Last, r); err != nil {
		return m, err
	}
	seconds := time.Since(began).Seconds()
	w := r.Window(time.Now())
	var asked, missed, disk float64
	for metric, to := range map[sample.Metric]*float64{sample.CacheAccesses: &asked, sample.CacheMisses: &missed, sample.CacheInserted: &disk} {
		w.Each(metric, func(e sample.Entity, s *sample.Series) {
			if strings.HasPrefix(w.Files[e.File].Path, b.below) {
				*to += s.Sum()
			}
		})
	}
	if asked == 0 {
		return m, errors.New("no access to its files was seen")
	}
	return measured{hit: 1 - missed/asked, disk: disk / asked, rate: asked / seconds}, nil
}

// rate is how many pages a second the group's processes read, while nobody observes them;
// 0 where others came and went.
func (g *group) rate(length time.Duration, stop <-chan os.Signal) (float64, error) {
	read := func() (pids []string, bytes uint64) {
		pids, _ = g.members() // none reads nothing, which is said with 0
		for _, pid := range pids {
			if io, err := procfile.ReadIO(host.Live().Proc(pid, "io")); err == nil {
				bytes += io.ReadChars
			}
		}
		return pids, bytes
	}
	were, before := read()
	began := time.Now()
	if err := wait(length, stop); err != nil {
		return 0, err
	}
	are, now := read()
	if !slices.Equal(are, were) || now <= before {
		return 0, nil
	}
	return float64(now-before) / pageSize / time.Since(began).Seconds(), nil
}

// stable measures until the hit ratio is that of the time before, within 0.01, or six
// times: a cache goes on to learn for a while what is worth keeping.
func (g *group) stable(m meter, length time.Duration, stop <-chan os.Signal) (measured, error) {
	now, err := g.watch(m, length, stop)
	for range 5 {
		before := now
		if err != nil {
			break
		}
		if now, err = g.watch(m, length, stop); math.Abs(now.hit-before.hit) < 0.01 {
			break
		}
	}
	return now, err
}

// watch measures, and says what the load spends meanwhile.
func (g *group) watch(m meter, length time.Duration, stop <-chan os.Signal) (measured, error) {
	a, err := g.spent()
	if err != nil {
		return measured{}, err
	}
	all, began := allUser(), time.Now()
	rate, err := g.rate(length, stop)
	if err != nil {
		return measured{}, err
	}
	b, err := g.spent()
	if err != nil {
		return measured{}, err
	}
	seconds := time.Since(began).Seconds()
	others := (allUser() - all - (b.user - a.user)) / seconds
	x, err := m.measure(length, stop)
	if rate > 0 {
		fmt.Printf("  measured: %.0f pages a second, %s; others have %.2f of a processor\n", rate, b.each(a, rate*seconds), others)
		x.rate = rate
	}
	x.others = others
	return x, err
}

// allUser is the time that all programs of the machine have run themselves, in seconds.
func allUser() (seconds float64) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	s, err := procfile.ParseCPUStat(b, nil)
	if err != nil {
		return 0
	}
	return float64(s.Times[procfile.CPUUser]+s.Times[procfile.CPUNice]) / host.TickHz
}
