package cgroup

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

// files are how many files of a tree this process has open.
func files(t *testing.T, below string) (n int) {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, f := range all {
		if to, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && strings.HasPrefix(to, below) {
			n++
		}
	}
	return n
}

// TestKept lets cgroups come and go and change at random. A source that remembers what no
// event told of and one that reads everything must see the same.
func TestKept(t *testing.T) {
	for name, version := range map[string]struct {
		mounts, top string
		v2          bool
	}{
		"version 1": {"1 0 0:9 / /cg/m rw - cgroup cgroup rw,memory\n2 0 0:8 / /cg/b rw - cgroup cgroup rw,blkio\n3 0 0:7 / /cg/c rw - cgroup cgroup rw,cpu\n", "", false},
		"version 2": {"1 0 0:9 / /cg rw - cgroup2 cgroup2 rw\n", "cpu io memory\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			x := proctest.NewTree(t)
			x.Write("proc/self/mountinfo", version.mounts)
			x.Write("sys/block/vda/dev", "254:0\n")
			x.Write("cg/cgroup.controllers", version.top)
			for _, d := range []string{"m", "b", "c"} {
				require.NoError(t, os.MkdirAll(filepath.Join(x.Dir, "cg", d), 0o755))
			}
			quick, all := x.Open(Open), x.Open(Open)
			all.(*source).unwatchable = true
			r := rand.New(rand.NewPCG(1, 2))
			k := kernel{t: t, x: x, r: r, v2: version.v2, groups: map[string]*state{}}
			looks := [2]*sample.Recorder{sample.NewRecorder(x.Host().Now()), sample.NewRecorder(x.Host().Now())}
			limits := 0
			for pass := range 200 {
				for range r.IntN(4) {
					k.step()
				}
				phase := sample.IntervalEnd
				if pass == 0 {
					phase = sample.First
				}
				var seen [2]string
				for i, s := range []sample.Source{quick, all} {
					require.NoError(t, s.Collect(phase, looks[i]))
					w := looks[i].NextWindow(x.Host().Now())
					seen[i] = text(w)
					limits += strings.Count(seen[i], "limit")
				}
				if seen[0] != seen[1] {
					t.Fatalf("pass %d: the one that remembers saw\n%s\nthe other\n%s", pass, seen[0], seen[1])
				}
			}
			if limits < 100 {
				t.Errorf("only %d limits were seen", limits)
			}
			if n := files(t, x.Dir); n == 0 || n > quick.(*source).open {
				t.Errorf("%d files are open, %d are counted", n, quick.(*source).open)
			}
			require.NoError(t, quick.Close())
			if n := files(t, x.Dir); n != 0 {
				t.Errorf("%d files are open after the end", n)
			}
		})
	}
}

// text is what a window has, in order.
func text(w *sample.Window) string {
	var lines []string
	for c := range controllers {
		for _, m := range c.metrics() {
			w.Each(m, func(e sample.Entity, s *sample.Series) {
				lines = append(lines, fmt.Sprintf("%s %+v %g", m, e, s.Sum()))
			})
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// kernel writes the files of cgroups as the kernel would.
type kernel struct {
	t      *testing.T
	x      proctest.Tree
	r      *rand.Rand
	v2     bool
	groups map[string]*state
}

// state is one cgroup.
type state struct{ usage, limit, hits, reads, ioLimit, quota, periods int }

func (k *kernel) step() {
	name := fmt.Sprint("g", k.r.IntN(4))
	if k.r.IntN(3) == 0 {
		name += fmt.Sprint("/h", k.r.IntN(2))
	}
	g := k.groups[name]
	switch {
	case k.r.IntN(12) == 0:
		for _, d := range []string{"m", "b", "c", ""} {
			if err := os.RemoveAll(filepath.Join(k.x.Dir, "cg", d, name)); err != nil {
				k.t.Fatal(err)
			}
		}
		for other := range k.groups {
			if other == name || strings.HasPrefix(other, name+"/") {
				delete(k.groups, other)
			}
		}
		return
	case g == nil:
		g = &state{quota: -1}
		k.groups[name] = g
	case k.r.IntN(3) == 0:
		g.limit, g.ioLimit, g.quota = k.r.IntN(3)*1000, k.r.IntN(2)*77, k.r.IntN(2)*50001-1
	}
	if g.usage = k.r.IntN(9); g.limit > 0 {
		g.hits += k.r.IntN(3)
	}
	if g.quota > 0 {
		g.periods += k.r.IntN(3)
	}
	g.reads += k.r.IntN(2)
	k.write(name, g)
}

// write writes the files that differ: what is written says so to who watches.
func (k *kernel) write(name string, g *state) {
	var all map[string]string
	if k.v2 {
		memory, quota, io := "max\n", "max 100000\n", ""
		if g.limit > 0 {
			memory = fmt.Sprintln(g.limit)
		}
		if g.quota > 0 {
			quota = fmt.Sprintln(g.quota, 100000)
		}
		if g.ioLimit > 0 {
			io = fmt.Sprintf("254:0 rbps=max wbps=%d riops=max wiops=max\n", g.ioLimit)
		}
		all = map[string]string{
			"memory.current": fmt.Sprintln(g.usage), "memory.max": memory, "memory.high": "max\n", "memory.stat": fmt.Sprintf("anon 1\nfile %d\nshmem 0\n", g.usage),
			"memory.events": fmt.Sprintf("high 0\nmax %d\n", g.hits), "cpu.max": quota, "cpu.stat": fmt.Sprintf("nr_periods %d\nnr_throttled 0\nthrottled_usec 0\n", g.periods),
			"io.max": io, "io.stat": fmt.Sprintf("254:0 rbytes=%d wbytes=0 rios=%d wios=0\n", 4096*g.reads, g.reads), "io.pressure": fmt.Sprintf("some avg10=0.00 total=%d\n", g.usage+9*g.reads),
		}
	} else {
		memory, io := "9223372036854771712\n", ""
		if g.limit > 0 {
			memory = fmt.Sprintln(g.limit)
		}
		if g.ioLimit > 0 {
			io = fmt.Sprintf("254:0 %d\n", g.ioLimit)
		}
		all = map[string]string{
			"m/memory.usage_in_bytes": fmt.Sprintln(g.usage), "m/memory.limit_in_bytes": memory, "m/memory.failcnt": fmt.Sprintln(g.hits), "m/memory.stat": fmt.Sprintf("cache %d\n", g.usage),
			"b/blkio.throttle.io_serviced": fmt.Sprintf("254:0 Read %d\n", g.reads), "b/blkio.throttle.io_service_bytes": fmt.Sprintf("254:0 Read %d\n", 4096*g.reads),
			"b/blkio.throttle.write_bps_device": io, "c/cpu.cfs_quota_us": fmt.Sprintln(g.quota), "c/cpu.cfs_period_us": "100000\n",
			"c/cpu.stat": fmt.Sprintf("nr_periods %d\nnr_throttled 0\nthrottled_time 0\n", g.periods),
		}
	}
	for file, text := range all {
		path := "cg/" + name + "/" + file
		if d, f, ok := strings.Cut(file, "/"); ok {
			path = "cg/" + d + "/" + name + "/" + f
		}
		if before, err := os.ReadFile(filepath.Join(k.x.Dir, path)); err == nil && string(before) == text {
			continue
		}
		k.x.Write(path, text)
	}
}

// TestKeptLive sets limits of cgroups of this machine and demands them in the next pass.
func TestKeptLive(t *testing.T) {
	h := host.Live()
	c, err := h.Cgroups()
	if err != nil {
		t.Skip(err)
	}
	tree, ok := c.Controller("memory")
	if !ok {
		t.Skip("no memory controller")
	}
	dir := filepath.Join(tree.Dir, "iocause-kept")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.Remove(filepath.Join(dir, "later")); os.Remove(dir) })
	file := "memory.limit_in_bytes"
	if tree.V2 {
		file = "memory.max"
	}
	limit := func(in, to string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(in, file), []byte(to), 0); err != nil {
			t.Skip(err)
		}
	}
	opened, err := Open(h)
	require.NoError(t, err)
	s := opened.(*source)
	defer s.Close()
	r := sample.NewRecorder(h.Now())
	pass := func(phase sample.Phase) *sample.Window {
		t.Helper()
		require.NoError(t, s.Collect(phase, r))
		return r.NextWindow(h.Now())
	}
	pass(sample.First)
	pass(sample.IntervalEnd)
	if s.watch == nil {
		t.Skip("cgroups cannot be watched here")
	}
	e := sample.Entity{Cgroup: tree.Path(dir), Class: sample.ClassMax}
	proctest.WantAbsent(t, pass(sample.IntervalEnd), sample.CgroupMemLimit, e)
	limit(dir, "64M")
	proctest.Want(t, pass(sample.IntervalEnd), sample.CgroupMemLimit, e, 64<<20)
	later := filepath.Join(dir, "later")
	require.NoError(t, os.Mkdir(later, 0o755))
	limit(later, "32M")
	w := pass(sample.IntervalEnd)
	proctest.Want(t, w, sample.CgroupMemLimit, e, 64<<20)
	e.Cgroup = tree.Path(later)
	proctest.Want(t, w, sample.CgroupMemLimit, e, 32<<20)
	if err := os.Remove(later); err != nil {
		t.Fatal(err) // an open file of it must not keep it
	}
	proctest.WantAbsent(t, pass(sample.IntervalEnd), sample.CgroupMemLimit, e)
	if n := files(t, later); n != 0 {
		t.Errorf("%d files of a cgroup that is gone are open", n)
	}
	e.Cgroup = tree.Path(dir)
	if tree.V2 {
		limit(dir, "max")
	} else {
		limit(dir, "-1")
	}
	proctest.WantAbsent(t, pass(sample.IntervalEnd), sample.CgroupMemLimit, e)
}
