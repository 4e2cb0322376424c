package pid

import (
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/sample"
)

// Of a pipeline with one that computes all the time it is told who writes to whom.
func TestPipelineOfOneThatComputes(t *testing.T) {
	cmd := exec.Command("sh", "-c", "cat /dev/zero | cat | gzip > /dev/null")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	}()
	for try := 1; ; try++ {
		s, err := Open(host.Live())
		require.NoError(t, err)
		r := sample.NewRecorder(time.Now())
		require.NoError(t, s.Collect(sample.First, r))
		time.Sleep(500 * time.Millisecond)
		require.NoError(t, s.Collect(sample.Last, r))
		w := r.Window(time.Now())
		comm := func(pid int) string { return w.Processes[pid].Comm }
		got := map[string]int{}
		var gzip float64
		w.Each(sample.ProcFeeds, func(e sample.Entity, _ *sample.Series) {
			reader, err := strconv.Atoi(e.Class)
			require.NoError(t, err)
			if group, err := syscall.Getpgid(reader); err == nil && group == cmd.Process.Pid {
				got[comm(e.PID)+" to "+comm(reader)]++
			}
		})
		w.Each(sample.ProcUser, func(e sample.Entity, x *sample.Series) {
			if group, err := syscall.Getpgid(e.PID); err == nil && group == cmd.Process.Pid && comm(e.PID) == "gzip" {
				gzip = x.Sum()
			}
		})
		switch {
		case got["cat to cat"] == 1 && got["cat to gzip"] == 1 && len(got) == 2:
			return
		case len(got) > 0 || gzip > 0.45 || try == 20:
			t.Fatalf("%v, with %g s of gzip's own time in %g s", got, gzip, w.Seconds())
		}
	}
}
