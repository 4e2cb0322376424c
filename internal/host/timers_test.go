package host_test

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"testing"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/require"
)

// TestRelaxTimers relaxes the timers of all threads, those that are started meanwhile as
// well, and sets all back.
func TestRelaxTimers(t *testing.T) {
	const capSysNice = 23
	if !host.Live().HasCapability(capSysNice) {
		bpftest.Need(t, "root", errors.New("CAP_SYS_NICE, to change timers of other threads"))
	}
	slacks := func() map[string]int {
		n := map[string]int{}
		threads, err := os.ReadDir("/proc/self/task")
		require.NoError(t, err)
		for _, d := range threads {
			if b, err := os.ReadFile("/proc/" + d.Name() + "/timerslack_ns"); err == nil {
				n[string(bytes.TrimSpace(b))]++
			}
		}
		return n
	}
	before := slacks()
	undo := host.Live().RelaxTimers()
	hold, held := make(chan bool), make(chan bool)
	defer close(hold)
	for range 20 { // threads of their own, each of which another one has to start
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			held <- true
			<-hold
		}()
		<-held
	}
	if got := slacks(); len(got) != 1 || got["1000000"] < 20 {
		t.Errorf("ns that timers may be late, with the number of threads: %v, want 1000000 for all", got)
	}
	host.Live().RelaxTimers()() // of who comes second nothing is undone
	if got := slacks(); len(got) != 1 || got["1000000"] < 20 {
		t.Errorf("%v after another one, want 1000000 for all", got)
	}
	undo()
	if got := slacks(); len(before) != 1 || len(got) != 1 {
		t.Errorf("%v before, %v afterwards", before, got)
	} else {
		for ns := range before {
			if got[ns] < 20 {
				t.Errorf("%v before, %v afterwards", before, got)
			}
		}
	}
}
