package session

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"iocause/internal/require"
)

// inChild says, in the environment, which hook for the second signal the test below runs with
// in a process of its own.
const inChild = "IOCAUSE_TEST_INTERRUPT"

// The second Ctrl-C ends a command that does not end after the first one as if it had
// never been caught: by the signal, and without a panic. Commands that watch interval by
// interval have nothing to do on it, and pass no hook.
func TestSecondInterruptEndsTheCommand(t *testing.T) {
	if hook := os.Getenv(inChild); hook != "" {
		var onSecond func(os.Signal)
		if hook == "says" {
			onSecond = func(s os.Signal) { fmt.Println("second", s) }
		}
		ctx, stop := UntilInterrupt(context.Background(), onSecond)
		defer stop()
		fmt.Println("ready")
		<-ctx.Done()
		fmt.Println("first", SignalOf(ctx))
		time.Sleep(time.Minute) // as if it hung
		return
	}
	for _, c := range []struct {
		hook   string
		signal syscall.Signal
		want   string
	}{
		{"none", syscall.SIGINT, "ready\nfirst interrupt\n"},
		{"says", syscall.SIGINT, "ready\nfirst interrupt\nsecond interrupt\n"},
		{"none", syscall.SIGTERM, "ready\nfirst terminated\n"},
	} {
		cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), inChild+"="+c.hook)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		kill := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		var out strings.Builder
		for range 2 { // it is ready, and then it has seen the first one
			line := make([]byte, 64)
			n, err := stdout.Read(line)
			require.NoError(t, err)
			out.Write(line[:n])
			require.NoError(t, cmd.Process.Signal(c.signal))
		}
		rest, err := io.ReadAll(stdout)
		require.NoError(t, err)
		out.Write(rest)
		_ = cmd.Wait()
		kill.Stop()
		state, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if !ok || !state.Signaled() || state.Signal() != c.signal {
			t.Errorf("hook %s: ended as %s, want by %s\n%s", c.hook, cmd.ProcessState, c.signal, stderr.String())
		}
		if out.String() != c.want || strings.Contains(stderr.String(), "panic") {
			t.Errorf("hook %s: it said %q, want %q\n%s", c.hook, out.String(), c.want, stderr.String())
		}
	}
}
