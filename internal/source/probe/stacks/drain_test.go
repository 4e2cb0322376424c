package stacks

import (
	"io"
	"os/exec"
	"testing"
	"time"

	"iocause/internal/bpf"
	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// Waits that come while those before them are taken over are left for the next time: a
// program that waits more often than its stacks can be unwound would keep an observation
// for ever.
func TestDrainsWhatWasThere(t *testing.T) {
	cat := exec.Command("cat")
	to, err := cat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	from, err := cat.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cat.Process.Kill()
		_ = cat.Wait()
	}()
	wait := func() { // it waited until now, and goes on
		if _, err := to.Write([]byte("x")); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadFull(from, make([]byte, 1)); err != nil {
			t.Error(err)
		}
	}
	const most = 1000
	unwound := 0
	p, err := Open(host.Live(), Options{PID: cat.Process.Pid, Unwind: func(_ int, r bpf.Registers, _ func(uint64) (uint64, bool)) ([]uint64, bool) {
		if unwound++; unwound < most {
			wait()
		}
		return []uint64{r.IP}, false
	}})
	bpftest.Need(t, "bpf", err)
	defer p.Close()
	if p.Eager() {
		t.Skip("this kernel lacks the tracepoint sched_exit_tp: stacks are not copied to be unwound")
	}
	into := sample.NewRecorder(time.Now())
	if err := p.Begin(into); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		wait()
	}
	for range 2 {
		before := unwound
		if err := p.Tick(into, false); err != nil {
			t.Fatal(err)
		}
		if n := unwound - before; n == 0 || unwound >= most {
			t.Fatalf("%d stacks were unwound at once, %d in all", n, unwound)
		}
	}
}
