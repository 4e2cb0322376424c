package source

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

func TestMain(m *testing.M) { proctest.Main(m) }

// TestShortLived starts and ends IOCAUSE_TEST_ENDS processes (3,000), each of which reads
// past the cache, beside one that lives. No row may be lost, each process must have its
// own, and be told of its read as often as the kernel runs any program for the completion
// of one. The figures of the one that lives lack no more than completions for which it runs
// none.
func TestShortLived(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts thousands of processes")
	}
	bpftest.Root(t)
	ends := 3000
	if s := os.Getenv("IOCAUSE_TEST_ENDS"); s != "" {
		var err error
		if ends, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	h := host.Live()
	const size = 61 * 4096 // few others have that size
	file := bpftest.File(t, 64)
	w := proctest.StartWorker(t, file, 1)
	c := Open(context.Background(), h, List())
	defer c.Close()
	for _, s := range c.Statuses() {
		if s.Name == "blockio" || s.Name == "pagecache" {
			bpftest.Need(t, "bpf", s.OpenErr)
		}
	}
	completed, told := bpftest.Completions(t, size)
	unseen := bpftest.Hidden(t, 0)
	c.Begin()
	const shells = 4
	over := make(chan error, shells)
	began := time.Now()
	for range shells {
		script := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do dd if="$0" of=/dev/null bs=%d count=1 iflag=direct status=none || exit 1; i=$((i+1)); done`, ends/shells, size)
		shell := exec.Command("/bin/sh", "-c", script, file)
		require.NoError(t, shell.Start())
		t.Cleanup(func() { _ = shell.Process.Kill() })
		go func() { over <- shell.Wait() }()
	}
	var works int
	var bytes, missed float64
	read := map[int]float64{} // by process
	ofOurs := map[int]bool{}  // those whose name is known: one may end before it is asked for
	see := func(window *sample.Window) {
		window.Each(sample.CostLost, func(e sample.Entity, s *sample.Series) {
			switch e.Class {
			case "pagecache lost_paths": // written down at the next access
			case "blockio missed_completions": // of requests, and said; not for want of room
				missed += s.Sum()
			default:
				if s.Sum() > 0 && e.Class != "on_lock recursion" { // of waits for locks
					t.Errorf("%g events lost (%s)", s.Sum(), e.Class)
				}
			}
		})
		n, _ := window.SumWhere(sample.BlockBytes, func(e sample.Entity) bool { return e.PID == w.PID })
		bytes += n
		window.Each(sample.BlockBytes, func(e sample.Entity, s *sample.Series) {
			if e.PID > 0 && e.PID != w.PID && e.Class == "read" {
				read[e.PID] += s.Sum()
				ofOurs[e.PID] = ofOurs[e.PID] || window.Processes[e.PID].Comm == "dd"
			}
		})
	}
	for left, next := shells, time.Now(); left > 0; {
		select {
		case err := <-over:
			if left--; err != nil {
				t.Fatal(err)
			}
		case <-time.After(100 * time.Millisecond):
			w.Work(t)
			works++
			require.NoError(t, c.Tick())
			if time.Since(next) > 10*time.Second {
				see(c.Next(false))
				next = time.Now()
			}
		}
	}
	lasted := time.Since(began)
	see(c.Next(true))
	begun, reads := 0, uint64(0)
	for pid, n := range read {
		// one of ours may have read its program from disk, too
		if times := uint64(n) / size; ofOurs[pid] || n > 0 && n == float64(times*size) {
			begun += int(max(1, times)) // process IDs come round
			reads += times
		}
	}
	t.Logf("%d processes in %.0f s, %d seen, %d of their reads; %d completions, %d with a program; %d times work, %g of %g bytes, %g completions missed", ends, lasted.Seconds(),
		begun, reads, completed(), told(), works, bytes, float64(works*(proctest.WorkerRead+proctest.WorkerWritten)), missed)
	hidden := unseen()
	if want := float64(works * (proctest.WorkerRead + proctest.WorkerWritten)); bytes > want || bytes < want-hidden*proctest.WorkerWritten {
		t.Errorf("the one that lives read and wrote %g bytes, want %g; of %g requests the host hid the completion", bytes, want, hidden)
	}
	if ends > 30000 { // IDs came round: of one that had three processes it is not known which lacks a read
		begun = ends
	}
	// where the completion was hidden the row has no read, and is not told if it rests before a window ends
	if begun > ends || uint64(begun) < told() || completed() != uint64(ends) {
		t.Errorf("%d short processes were seen, and %d reads of that size, want %d; %d were told of", begun, completed(), ends, told())
	}
	// one that completes while the program of two lines runs may be counted by the copy of ours
	if reads < told() || reads > completed() {
		t.Errorf("%d reads of %d short processes were seen; the kernel ran a program for %d of %d completions", reads, ends, told(), completed())
	}
}
