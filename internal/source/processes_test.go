package source

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

// A process that rests in some windows and reads in others is told to the byte in
// those where it read, and not at all in those where it rested.
func TestProcessThatRestsNowAndThen(t *testing.T) {
	s := watched(t)
	c := exec.Command("cat")
	pipe, err := c.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	defer func() {
		pipe.Close()
		_ = c.Wait()
	}()
	has := func() uint64 {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", c.Process.Pid))
		require.NoError(t, err)
		io, err := procfile.ParseIO(b)
		require.NoError(t, err)
		return io.ReadChars
	}
	write := func(n int) {
		want := has() + uint64(n)
		if _, err := pipe.Write(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(10 * time.Second); has() < want && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(20 * time.Millisecond) // it waits for more
	}
	write(1) // it has begun
	r := sample.NewRecorder(time.Now())
	bpftest.Collect(t, s, sample.First, r)
	e := sample.Entity{PID: c.Process.Pid}
	for window, n := range []int{0, 1009, 0, 0, 50021, 7} {
		if n > 0 {
			write(n)
		}
		r.At(time.Now())
		bpftest.Collect(t, s, sample.IntervalEnd, r)
		got, ok := r.NextWindow(time.Now()).Sum(sample.ProcReadChars, e)
		if got != float64(n) || ok != (n > 0) {
			t.Errorf("window %d: it read %g bytes (%v), want %d", window, got, ok, n)
		}
	}
}

func watched(t testing.TB) *processes {
	s, err := openProcesses(host.Live())
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	p := s.(*processes)
	if p.ended == nil {
		bpftest.Need(t, "bpf", errors.New("a kernel program that tells of all threads"))
	}
	return p
}

// BenchmarkProcesses is an interval beside so many sleeping processes.
func BenchmarkProcesses(b *testing.B) {
	for _, n := range []int{500, 5000} {
		if n > 500 && testing.Short() {
			continue
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			proctest.Sleepers(b, n)
			s := watched(b)
			r := sample.NewRecorder(time.Now())
			require.NoError(b, s.Collect(sample.First, r))
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, s.Collect(sample.IntervalEnd, r))
				r.NextWindow(time.Now())
			}
		})
	}
}
