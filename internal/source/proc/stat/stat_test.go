package stat

import (
	"math"
	"testing"

	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

func TestCollect(t *testing.T) {
	x := proctest.NewTree(t)
	x.Write("proc/stat", "cpu 100 10 50 1000 200 3 4 5 0 0\ncpu0 1\ncpu1 1\nprocs_running 1\nprocs_blocked 2\n")
	s := x.Open(Open)
	w := proctest.Collect(t, s, sample.First)
	proctest.WantAbsent(t, w, sample.CPUUser, sample.Entity{})
	proctest.Want(t, w, sample.ProcsBlocked, sample.Entity{}, 2)
	x.Write("proc/stat", "cpu 200 30 60 1500 190 4 6 5 0 0\ncpu0 1\nprocs_running 7\nprocs_blocked 0\n")
	w = proctest.Collect(t, s, sample.Tick)
	proctest.Want(t, w, sample.CPUUser, sample.Entity{}, 1.2)
	proctest.Want(t, w, sample.CPUNice, sample.Entity{}, 0.2)
	proctest.Want(t, w, sample.CPUSystem, sample.Entity{}, 0.13)
	proctest.Want(t, w, sample.CPUIdle, sample.Entity{}, 5)
	proctest.Want(t, w, sample.CPUIOWait, sample.Entity{}, 0) // it may fall a little
	proctest.Want(t, w, sample.CPUSteal, sample.Entity{}, 0)
	proctest.Want(t, w, sample.CPUCount, sample.Entity{}, 1)
	x.Write("proc/stat", "cpu 100 35 60 1500 210 4 6 5 0 0\ncpu0 1\n")
	w = proctest.Collect(t, s, sample.Last)
	proctest.WantAbsent(t, w, sample.CPUUser, sample.Entity{})
	proctest.Want(t, w, sample.CPUNice, sample.Entity{}, 0.05)
	proctest.Want(t, w, sample.CPUIOWait, sample.Entity{}, 0.1) // since its highest value
	if len(w.Gaps) != 1 || w.Gaps[0].Metrics[0] != sample.CPUUser {
		t.Errorf("gaps %+v, want one for the counter that fell", w.Gaps)
	}
}

// The kernel's sum of all processors counts idle time of one that is offline in
// another way: it leaps when one goes or comes.
func TestProcessorsComeAndGo(t *testing.T) {
	x := proctest.NewTree(t)
	write := func(sum string, each ...string) {
		text := "cpu " + sum + "\n"
		for _, line := range each {
			text += "cpu" + line + "\n"
		}
		x.Write("proc/stat", text)
	}
	write("0 0 0 0 0 0 0")
	s := x.Open(Open)
	for i, step := range []struct {
		sum         string
		each        []string
		idle, waits float64
	}{
		{"0 0 0 200000 200 0 0", []string{"0 0 0 0 100000 100", "1 0 0 0 100000 100"}, -1, -1},
		{"0 0 0 200180 230 0 0", []string{"0 0 0 0 100090 110", "1 0 0 0 100090 120"}, 1.8, 0.3},
		{"0 0 0 100290 120 0 0", []string{"0 0 0 0 100190 110"}, 1, 0},
		{"0 0 0 100387 120 0 0", []string{"0 0 0 0 100287 110"}, 0.97, 0},
		{"0 0 0 203000 900 0 0", []string{"0 0 0 0 100387 110", "1 0 0 0 102613 790"}, 1, 0},
		{"0 0 0 203190 905 0 0", []string{"0 0 0 0 100487 110", "1 0 0 0 102703 795"}, 1.9, 0.05},
		{"0 0 0 100500 110 0 0", []string{"0 0 0 0 100497 110", "1 0 0 0 3 0"}, 0.1, 0},
		{"0 0 0 100510 110 0 0", []string{"0 0 0 0 100497 110", "1 0 0 0 13 0"}, 0.1, 0},
	} {
		write(step.sum, step.each...)
		phase := sample.Tick
		if i == 0 {
			phase = sample.First
		}
		w := proctest.Collect(t, s, phase)
		if i == 0 {
			continue
		}
		for m, want := range map[sample.Metric]float64{sample.CPUIdle: step.idle, sample.CPUIOWait: step.waits} {
			if got, ok := w.Sum(m, sample.Entity{}); !ok || math.Abs(got-want) > 1e-9 {
				t.Errorf("step %d: %s rose by %v, want %v", i, m, got, want)
			}
		}
		if len(w.Gaps) != 0 {
			t.Errorf("step %d: %+v", i, w.Gaps)
		}
	}
}
