package threads

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
)

// watched is what the probe and the kernel say of the threads of a process.
type watched struct {
	of         map[int]Usage
	queued     map[int]time.Duration // waits for a processor in progress at either look: schedstat counts them when they end
	waits      []Waits
	cpu, delay map[int]span
	length     span
	hidden     uint64 // events that the host hid
	stolen     time.Duration
}

// span is a figure that was read before and after both looks: the truth at the
// looks lies in between.
type span struct{ least, most time.Duration }

func spanOf(a, b, c, d map[int]time.Duration) map[int]span {
	s := map[int]span{}
	for tid := range a {
		s[tid] = span{c[tid] - b[tid], d[tid] - a[tid]}
	}
	return s
}

// watchOnce looks at a process for a while.
func watchOnce(t *testing.T, p *troupe) watched {
	t.Helper()
	probe, err := Open(host.Live(), Options{PID: p.cmd.Process.Pid, Waits: true})
	bpftest.Need(t, "bpf", err)
	defer probe.Close()
	w := watched{of: map[int]Usage{}, queued: map[int]time.Duration{}}
	queued := func(u *Usage) {
		if u.Present == Runnable || u.Present == Preempted {
			w.queued[u.TID] += u.Since
		}
	}
	before := bpftest.Stolen(t)
	c0, d0 := p.clocks(), p.delays()
	first := time.Now()
	if err := probe.Begin(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for _, a := range probe.last {
		u := difference(&a.record, &a.record)
		queued(&u)
	}
	c1, d1 := p.clocks(), p.delays()
	time.Sleep(1500 * time.Millisecond)
	c2, d2 := p.clocks(), p.delays()
	w.length.least = time.Since(began)
	usages, err := probe.Read()
	if err != nil {
		t.Fatal(err)
	}
	w.length.most = time.Since(first)
	c3, d3 := p.clocks(), p.delays()
	w.stolen = bpftest.Stolen(t) - before
	if w.waits, err = probe.Waits(); err != nil {
		t.Fatal(err)
	}
	w.cpu, w.delay = spanOf(c0, c1, c2, c3), spanOf(d0, d1, d2, d3)
	for _, u := range usages {
		if u.PID != p.cmd.Process.Pid {
			t.Errorf("a thread of process %d was reported", u.PID)
		}
		w.of[u.TID] = u
		queued(&u)
	}
	losses, err := probe.Losses()
	if err != nil {
		t.Fatal(err)
	}
	for what, n := range losses {
		// This host hides events of some threads. What follows must hold nevertheless.
		if strings.Contains(what, "corrected by") || strings.Contains(what, "late") || strings.Contains(what, "interrupted") {
			t.Logf("%d %s", n, what)
			w.hidden += n
		} else {
			t.Errorf("%d %s", n, what)
		}
	}
	return w
}

// share is the share of time of the first thread with a role in some states.
func (w *watched) share(t *testing.T, p *troupe, role string, states ...State) float64 {
	t.Helper()
	u, ok := w.of[p.tids[role][0]]
	if !ok {
		t.Fatalf("no thread %s", role)
	}
	var d time.Duration
	for _, s := range states {
		d += u.In[s]
	}
	return d.Seconds() / u.Wall.Seconds()
}

func testFile(t *testing.T) string {
	t.Helper()
	path := bpftest.File(t, fileBytes/4096)
	if err := os.WriteFile(path+".mapped", make([]byte, fileBytes), 0o600); err != nil {
		t.Fatal(err)
	}
	bpftest.Drop(t, path+".mapped")
	return path
}

// wrong is where the shares of a thread do not add up, or do not agree with its
// own clock and the scheduler's account of its waiting.
func (w *watched) wrong(p *troupe) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for role, tids := range p.tids {
		for _, tid := range tids {
			u, ok := w.of[tid]
			if !ok {
				say("%s: thread %d is missing", role, tid)
				continue
			}
			tolerance := u.Wall / 50
			if l := w.length; u.Wall < l.least-l.least/50 || u.Wall > l.most+l.least/50 {
				say("%s: watched for %v to %v, but its time is %v", role, l.least, l.most, u.Wall)
			}
			if rest := u.Unaccounted().Abs(); rest > u.Wall/1000 {
				say("%s: %v of %v are not accounted for", role, rest, u.Wall)
			}
			ran, queued := u.In[Run]+u.In[ReclaimRun], u.In[Runnable]+u.In[Preempted]
			if c := w.cpu[tid]; ran < c.least-tolerance || ran > c.most+tolerance+w.stolen {
				say("%s: ran for %v, its clock says %v to %v, and the hypervisor took %v", role, ran, c.least, c.most, w.stolen)
			}
			if d := w.delay[tid]; queued < d.least-tolerance-w.queued[tid] || queued > d.most+tolerance+w.queued[tid] {
				say("%s: waited for a processor for %v, schedstat says %v to %v", role, queued, d.least, d.most)
			}
			if user, system, ok := u.Split(); !ok && u.In[Run] > w.length.least/10 || ok && (user+system-u.In[Run]).Abs() > 2 {
				say("%s: %v are %v user and %v system (known %v)", role, u.In[Run], user, system, ok)
			}
		}
	}
	return all
}

// watch looks at a troupe. Events that this host hides are corrected by, but not
// always to 2 %: then, and only then, it gets another try. also is what else is
// not as it must be.
func watch(t *testing.T, p *troupe, also ...func(w *watched) []string) watched {
	t.Helper()
	for try := 1; ; try++ {
		w := watchOnce(t, p)
		wrong := w.wrong(p)
		for _, more := range also {
			wrong = append(wrong, more(&w)...)
		}
		if w.hidden == 0 || try == 5 || len(wrong) == 0 {
			for _, what := range wrong {
				t.Error(what)
			}
			return w
		}
		t.Logf("try %d: this host hid %d events: %s", try, w.hidden, strings.Join(wrong, "; "))
	}
}

// Threads that wait for one thing are in one state; those that never move were
// there before us and are seen.
func TestQuietThreads(t *testing.T) {
	bpftest.ComparesFigures(t)
	p := start(t, "", "quiet", "sleep", "mutex", "cond", "poll", "tcp", "unix")
	watch(t, p, func(w *watched) (wrong []string) {
		for role, want := range map[string]State{
			"quiet": Idle, "mutex": Mutex, "cond": Futex, "poll": Idle, "tcp": Network, "unix": IPC,
		} {
			if got := w.share(t, p, role, want); got < 0.98 {
				wrong = append(wrong, fmt.Sprintf("%s: %.1f %% %s, want at least 98; %v", role, got*100, want.Key(), w.of[p.tids[role][0]].In))
			}
		}
		if idle, all := w.share(t, p, "sleep", Idle), w.share(t, p, "sleep", Idle, Run, Runnable, Preempted); idle < 0.2 || all < 0.98 {
			wrong = append(wrong, fmt.Sprintf("sleep: %.1f %% idle, %.1f %% with its way there and back; want 20 and 98", idle*100, all*100))
		}
		return wrong
	})
}

// More spinners than processors wait for one, and are never blocked.
func TestSpinnersQueue(t *testing.T) {
	bpftest.ComparesFigures(t)
	p := start(t, "", "spin", "spin", "spin", "spin", "spin")
	w := watch(t, p)
	queued := 0.0
	var user, ran time.Duration
	for _, tid := range p.tids["spin"] {
		u := w.of[tid]
		if blocked := u.Wall - u.In[Run] - u.In[Runnable] - u.In[Preempted]; blocked > u.Wall/50 {
			t.Errorf("a spinner was blocked for %v: %v", blocked, u.In)
		}
		mode, _, _ := u.Split()
		user += mode
		ran += u.In[Run]
		queued += u.In[Preempted].Seconds()
	}
	if user < ran/2 { // the timer's ticks say so, which on a busy virtual machine come late
		t.Errorf("spinners ran %v of %v in user mode", user, ran)
	}
	if n := 5 - len(cpus(t)); n > 0 && queued < 0.5*float64(n)*w.length.least.Seconds() {
		t.Errorf("5 spinners on %d processors were preempted for %.2f s in all", len(cpus(t)), queued)
	}
}

func cpus(t *testing.T) []int {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	return make([]int, set.Count())
}

func TestPipes(t *testing.T) {
	bpftest.ComparesFigures(t)
	p := start(t, "", "pipe")
	w := watch(t, p, func(w *watched) []string {
		if ipc, all := w.share(t, p, "pipe", IPC), w.share(t, p, "pipe", IPC, Run, Runnable, Preempted); ipc < 0.1 || all < 0.98 {
			return []string{fmt.Sprintf("%.1f %% in the pipe, %.1f %% there or on its way; want 10 and 98", ipc*100, all*100)}
		}
		return nil
	})
	if !slices.ContainsFunc(w.waits, func(x Waits) bool { return x.State == IPC && x.Lengths.N() > 1000 }) {
		t.Errorf("no thousand waits for a pipe: %v", w.waits)
	}
}

func TestDisk(t *testing.T) {
	bpftest.ComparesFigures(t)
	p := start(t, testFile(t), "direct", "fault")
	w := watch(t, p)
	for role, want := range map[string]State{"direct": Disk, "fault": FaultDisk} {
		// Of the time in which it does not work or want to: that depends on the disk.
		waits := 1 - w.share(t, p, role, Run, Runnable, Preempted)
		if got := w.share(t, p, role, want); got <= 0 || got < 0.8*waits {
			t.Errorf("%s: %.1f %% %s, want most of the %.1f %% that it waits: %v", role, got*100, want.Key(), waits*100, w.of[p.tids[role][0]].In)
		}
	}
	if got := w.share(t, p, "fault", Disk, FileSystem); got > 0.02 {
		t.Errorf("cold mapping: %.1f %% disk outside of faults", got*100)
	}
}

// journaled is a folder on a file system with a journal, on a loop device.
func journaled(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "iocause-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	image, at := filepath.Join(dir, "image"), filepath.Join(dir, "mounted")
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, 128<<20), os.Mkdir(at, 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, at}} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			bpftest.Need(t, "loop", fmt.Errorf("%v: %w: %s", command, err, out))
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", at).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return at
}

// A thread that syncs what it writes waits for the journal's commit, which is
// no I/O wait to the kernel.
func TestJournal(t *testing.T) {
	bpftest.ComparesFigures(t)
	p := start(t, filepath.Join(journaled(t), "data"), "sync")
	t.Cleanup(func() { // before the file system goes
		p.cmd.Process.Kill()
		p.cmd.Wait()
	})
	w := watch(t, p)
	journal, disk := w.share(t, p, "sync", FileSystem), w.share(t, p, "sync", Disk)
	if journal < 0.2 || journal+disk < 0.5 {
		t.Errorf("synced writes: %.1f %% journal, %.1f %% disk, want at least 20 and 50 in all: %v", journal*100, disk*100, w.of[p.tids["sync"][0]].In)
	}
}

// A process that reads more than its cgroup may cache looks for memory itself.
func TestReclaim(t *testing.T) {
	bpftest.ComparesFigures(t)
	path := bpftest.File(t, 4*fileBytes/4096)
	p := start(t, path, "reread")
	dir, limit := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	if _, err := os.Stat(filepath.Join(dir, limit)); err != nil {
		dir, limit = "/sys/fs/cgroup", "memory.max"
	}
	dir = filepath.Join(dir, fmt.Sprintf("iocause-threads-%d", os.Getpid()))
	bpftest.Need(t, "cgroup", os.Mkdir(dir, 0o755))
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		p.cmd.Wait()
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	bpftest.Need(t, "cgroup", errors.Join(
		os.WriteFile(filepath.Join(dir, limit), []byte("25165824"), 0o600),
		os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(p.cmd.Process.Pid)), 0o600)))
	bpftest.Drop(t, path) // what is cached is another cgroup's
	w := watch(t, p)
	// how much of its time that is depends on the disk and on who else runs
	reclaims, runs := w.share(t, p, "reread", ReclaimRun, Reclaim), w.share(t, p, "reread", Run, ReclaimRun, Reclaim)
	if reclaims < 0.01*runs || reclaims == 0 {
		t.Errorf("%.2f %% in direct reclaim, and %.2f %% on a processor; want at least a hundredth: %v", reclaims*100, runs*100, w.of[p.tids["reread"][0]].In)
	}
}

func TestMmapLock(t *testing.T) {
	bpftest.ComparesFigures(t)
	p := start(t, "", "mapping", "mapping", "mapping", "mapping", "mapping", "mapping")
	w := watch(t, p)
	var locked, other float64
	for _, tid := range p.tids["mapping"] {
		u := w.of[tid]
		locked += u.In[MmapLock].Seconds() / u.Wall.Seconds() / 6
		other += (u.In[KernelLock] + u.In[Other]).Seconds() / u.Wall.Seconds() / 6
	}
	if locked < 0.1 || other > 0.05 {
		t.Errorf("%.1f %% waiting for mmap_lock, want at least 10; %.1f %% for others, want at most 5", locked*100, other*100)
	}
}

// A process that was stopped before we looked is seen as such.
func TestStopped(t *testing.T) {
	bpftest.ComparesFigures(t)
	p := start(t, "", "sleep")
	if err := p.cmd.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, &info, unix.WSTOPPED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	probe, err := Open(host.Live(), Options{PID: p.cmd.Process.Pid})
	bpftest.Need(t, "bpf", err)
	defer probe.Close()
	if err := probe.Begin(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	usages, err := probe.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range usages {
		if u.In[Stopped] != u.Wall {
			t.Errorf("thread %d: stopped for %v of %v", u.TID, u.In[Stopped], u.Wall)
		}
	}
	if len(usages) < 2 {
		t.Errorf("%d threads", len(usages))
	}
}

// Threads that end between two looks are accounted for to their end.
func TestEndedThreads(t *testing.T) {
	bpftest.ComparesFigures(t)
	probe, err := Open(host.Live(), Options{})
	bpftest.Need(t, "bpf", err)
	defer probe.Close()
	if err := probe.Begin(); err != nil {
		t.Fatal(err)
	}
	used, before := map[int]time.Duration{}, bpftest.Stolen(t)
	for range 7 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "THREADS_ROLES=brief")
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		used[cmd.Process.Pid] = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	usages, err := probe.Read()
	if err != nil {
		t.Fatal(err)
	}
	took := bpftest.Stolen(t) - before
	ran, exec, beyond, threads := map[int]time.Duration{}, map[int]time.Duration{}, map[int]time.Duration{}, map[int]int{}
	for _, u := range usages {
		if _, ours := used[u.PID]; !ours {
			continue
		}
		if !u.Ended || u.Present != Unseen {
			t.Errorf("thread %d of process %d has not ended: %v", u.TID, u.PID, u.Present)
		}
		if rest := u.Unaccounted().Abs(); rest > u.Wall/1000+time.Microsecond {
			t.Errorf("thread %d: %v of %v are not accounted for", u.TID, rest, u.Wall)
		}
		ran[u.PID] += u.In[Run] + u.In[ReclaimRun]
		exec[u.PID] += u.Exec
		// The scheduler's clock may run ahead of the time that passes, as in a guest
		// that gets too little of a processor: that long the thread did not run.
		beyond[u.PID] += max(0, u.Exec+u.RunDelay-u.Wall)
		threads[u.PID]++
	}
	for pid, want := range used {
		got, exec := ran[pid], exec[pid]
		if got < exec-exec/20-beyond[pid] || got > exec+exec/20+took || threads[pid] < 2 {
			t.Errorf("process %d: %d threads ran for %v, by the scheduler's account %v, of which no time was for %v, and the hypervisor took %v", pid, threads[pid], got, exec, beyond[pid], took)
		}
		// What a thread ran since its last tick is not in the rusage when it ends.
		if exec < want-want/20 || exec > want+want/10+took {
			t.Errorf("process %d: %v by the scheduler's account, its rusage says %v, and the hypervisor took %v", pid, exec, want, took)
		}
	}
	again, err := probe.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range again {
		if _, ours := used[u.PID]; ours {
			t.Errorf("thread %d of process %d was reported twice", u.TID, u.PID)
		}
	}
}

// Five thousand threads are looked at in a moment, and each is there.
func TestManyThreads(t *testing.T) {
	bpftest.ComparesFigures(t)
	p := start(t, "", slices.Repeat([]string{"quiet"}, 4999)...)
	probe, err := Open(host.Live(), Options{})
	bpftest.Need(t, "bpf", err)
	defer probe.Close()
	if err := probe.Begin(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	usages, err := probe.Read()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d threads in %v", len(usages), time.Since(began))
	met := 0
	for _, u := range usages {
		if u.PID == p.cmd.Process.Pid && u.In[Idle] == u.Wall {
			met++
		}
	}
	if met < 4999 {
		t.Errorf("%d of 4999 quiet threads are idle", met)
	}
}
