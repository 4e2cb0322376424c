package diagnose

import (
	"strings"
	"testing"
	"time"

	"iocause/internal/sample"
)

// checkPromise holds what an advice promises in words to its numbers.
func checkPromise(t *testing.T, cause ID, a *Advice) {
	t.Helper()
	for _, x := range []float64{a.Low, a.High} {
		if x != 0 && (x < 1 || !strings.Contains(a.Expect, factor(x)+"x")) {
			t.Errorf("%s: the promise %g is not in %q", cause, x, a.Expect)
		}
	}
	if a.High != 0 && a.High < a.Low {
		t.Errorf("%s: at least %g and at most %g", cause, a.Low, a.High)
	}
	if a.Low == 0 && a.High == 0 && strings.Contains(a.Expect, "x as fast") || strings.Contains(a.Expect, "x faster") {
		t.Errorf("%s: %q has no number", cause, a.Expect)
	}
}

// worker is the account of a process for a window of ten seconds.
type worker struct {
	read, stall, user, system float64 // seconds
	threads                   float64
	processors, others        float64 // of the host; that others keep busy
}

func (k *worker) fill(r *sample.Recorder) {
	e := sample.Entity{PID: 7}
	r.PutProcess(7, sample.Process{Comm: "worker"})
	r.Put(sample.WaitIO, sample.Entity{PID: 7, Class: "read"}, k.read, "test")
	r.Put(sample.WaitThreads, e, k.threads, "test")
	r.Put(sample.ReclaimTime, sample.Entity{PID: 7, Class: "cgroup"}, k.stall, "test")
	r.Put(sample.ReclaimThreads, e, k.threads, "test")
	r.Put(sample.ProcUser, e, k.user, "test")
	r.Put(sample.ProcSystem, e, k.system, "test")
	r.Put(sample.CPUCount, sample.Entity{}, k.processors, "test")
	r.Put(sample.CPUUser, sample.Entity{}, k.user+k.system+10*k.others, "test")
}

// What is left of a program's time bounds what it can gain.
func TestPromise(t *testing.T) {
	for _, c := range []struct {
		name string
		worker
		removal
		want string
	}{
		{"half of the time goes, the rest is its own work", worker{read: 5, user: 5, threads: 1, processors: 4}, removal{sure: 5}, "1.9x to 2.7x as fast"},
		{"half of it is idle: for whom it works may be as slow", worker{read: 5, threads: 1, processors: 4}, removal{sure: 5}, "at least 1.9x as fast"},
		{"most of it is idle: it may keep to a rate", worker{read: 2, user: 2, threads: 1, processors: 4}, removal{sure: 2}, "at most 2.7x as fast"},
		{"and hardly ran", worker{read: 4, user: 0.5, threads: 1, processors: 4}, removal{sure: 4}, "the gain is not known: its threads sleep most of the time, and may keep to a rate"},
		{"nearly all goes: nobody knows how fast memory is", worker{read: 9.9, user: 0.05, system: 0.05, threads: 1, processors: 4}, removal{sure: 9.9, kernel: true}, "at least 50x as fast"},
		{"eight threads have two processors to run on", worker{read: 72, user: 8, threads: 8, processors: 2}, removal{sure: 72}, "at least 2.5x as fast"},
		{"and others use one of them: eight threads get eight ninths", worker{read: 72, user: 8, threads: 8, processors: 2, others: 1}, removal{sure: 72}, "at least 2.2x as fast"},
		{"one thread beside others that use all is given its part", worker{read: 9.5, user: 0.5, threads: 1, processors: 2, others: 2}, removal{sure: 9.5}, "at least 13x as fast"},
		{"stalls count as blocking does", worker{read: 1, stall: 8, user: 1, threads: 1, processors: 4}, removal{sure: 9}, "at least 9.0x as fast"},
		{"a tenth at most", worker{read: 0.4, user: 9.6, threads: 1, processors: 4}, removal{maybe: 0.4}, "at most 1.1x as fast"},
		{"it waits for nothing", worker{user: 9.6, threads: 1, processors: 4}, removal{}, "the gain is not known: what it waits for was not measured"},
		{"nothing of what it waits for is known to go", worker{read: 9, user: 0.1, system: 0.9, threads: 1, processors: 4}, removal{maybe: 9, kernel: true}, "the gain is not known: the program hardly ran while it waited, so how fast it can go was not seen"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := sample.NewRecorder(epoch)
			c.fill(r)
			w := r.Window(epoch.Add(10 * time.Second))
			if got := newCase(w, Target{}).promise(c.removal).String(); got != c.want {
				t.Errorf("it is %q, want %q", got, c.want)
			}
			w.Told = true
			if got := newCase(w, Target{}).promise(c.removal).String(); got != "the gain is not known from a text" {
				t.Errorf("in a text it is %q", got)
			}
		})
	}
}

// What is done between processes that follow each other nobody counts, so how much
// of the whole their waiting is cannot be promised.
func TestPromiseOfManyProcesses(t *testing.T) {
	m := newMachine()
	for pid := 100; pid < 300; pid++ {
		m.process(pid, "tar", "read", thread{cpu: 0.02})
		m.put(sample.ProcRunDelay, sample.Entity{PID: pid}, 0.04)
	}
	m.put(sample.ProcThreads, sample.Entity{PID: 299}, 1) // of those that have ended nobody can ask
	m.put(sample.CPUUser, sample.Entity{}, 14)
	r := m.judge()
	if r.Primary != CPUSaturated || r.Findings[0].Advice[0].Low != 0 {
		t.Fatalf("%s, %+v: want cpu-saturated, and no promise", r.Primary, r.Findings[0].Advice)
	}
}

// Processes of a loop are one thread's time, of which 1.2 s of 10 s go; of two at a time
// it is not known how long each is there.
func TestPromiseOfARow(t *testing.T) {
	for _, c := range []struct {
		atATime int
		want    string
	}{
		{1, "1.1x to 1.3x as fast"},
		{2, "at most 1.2x as fast"},
	} {
		m := newMachine()
		m.row(c.atATime)
		m.put(sample.CPUIdle, sample.Entity{}, 5)
		k := newCase(m.Window(epoch.Add(10*time.Second)), Target{})
		if got := k.promise(removal{sure: 1.2}).String(); got != c.want {
			t.Errorf("%d at a time: it is %q, want %q", c.atATime, got, c.want)
		}
	}
}

// A faster device, or less for it to do, takes away all that is waited for at most.
func TestFasterDevice(t *testing.T) {
	for _, c := range []struct {
		name string
		worker
		want string
	}{
		{"what it computes stays, but for what waiting costs there", worker{read: 4, user: 6, threads: 1, processors: 4}, "at most 2.1x as fast"},
		{"stalls go, too: the device frees memory sooner", worker{read: 2, stall: 2, user: 6, threads: 1, processors: 4}, "at most 2.1x as fast"},
		{"the kernel's time may go with it", worker{read: 4, user: 3, system: 3, threads: 1, processors: 4}, "at most 4.2x as fast"},
		{"it hardly ran", worker{read: 9, user: 1, threads: 1, processors: 4}, "the gain is not known: the program hardly ran while it waited, so how fast it can go was not seen"},
		{"it waits for nothing", worker{user: 10, threads: 1, processors: 4}, "the gain is not known: what it waits for was not measured"},
	} {
		r := sample.NewRecorder(epoch)
		c.fill(r)
		k := newCase(r.Window(epoch.Add(10*time.Second)), Target{})
		if got := k.promise(k.fasterDevice()).String(); got != c.want {
			t.Errorf("%s: it is %q, want %q", c.name, got, c.want)
		}
	}
}
