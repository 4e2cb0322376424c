package pid

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"iocause/internal/host"
	"iocause/internal/sample"
	"iocause/internal/source/proc/proctest"
)

// TestMain lets the test program be the children of TestChildrenThatEnd.
func TestMain(m *testing.M) {
	if name := os.Getenv("IOCAUSE_TEST_READ"); name != "" {
		os.Exit(readAndWait(name))
	}
	os.Exit(m.Run())
}

const (
	beforeWindow = 3_000_017 // bytes
	inWindow     = 500_009
)

// readAndWait reads a part of a file, says so, is told to go on, and reads another.
func readAndWait(name string) int {
	f, err := os.Open(name)
	if err != nil {
		return 1
	}
	if n, err := io.ReadFull(f, make([]byte, beforeWindow)); n != beforeWindow || err != nil {
		return 1
	}
	os.Stdout.WriteString("read\n")
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		return 1
	}
	if n, err := io.ReadFull(f, make([]byte, inWindow)); n != inWindow || err != nil {
		return 1
	}
	return 0
}

// TestChildrenThatEnd has children of a shell end in the window, at one time with
// another shell between: what the shell takes over from them counts only as far as
// they read it in the window.
func TestChildrenThatEnd(t *testing.T) {
	name := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(name, make([]byte, beforeWindow+inWindow), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, script string
	}{
		{"waited for", `"$0"`},
		{"waited for by one that ends as well", `sh -c '"$0"; true' "$0"`},
	} {
		t.Run(c.what, func(t *testing.T) { childrenThatEnd(t, name, c.script) })
	}
}

// A parent that ignores SIGCHLD takes nothing over.
func TestChildrenThatNobodyWaitsFor(t *testing.T) {
	before, child := IO{ReadBytes: 100, ReadCalls: 2}, IO{ReadBytes: 1000, WriteBytes: 5}
	if got := before.plus(child, &IO{ReadBytes: 1200, ReadCalls: 2}); got != before {
		t.Errorf("not taken over, as no byte was written: %+v", got)
	}
	if got := before.plus(child, &IO{ReadBytes: 1200, ReadCalls: 2, WriteBytes: 5}); got != (IO{ReadBytes: 1100, ReadCalls: 2, WriteBytes: 5}) {
		t.Errorf("taken over: %+v", got)
	}
}

func childrenThatEnd(t *testing.T, name, script string) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sh := exec.CommandContext(t.Context(), "bash", "-c", script+"; echo done; read line; true", self)
	sh.Env = append(os.Environ(), "IOCAUSE_TEST_READ="+name)
	in, err := sh.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := sh.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sh.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		if err := sh.Wait(); err != nil {
			t.Error(err)
		}
	}()
	lines := bufio.NewReader(out)
	await := func(want string) {
		t.Helper()
		if line, err := lines.ReadString('\n'); line != want+"\n" {
			t.Fatalf("%q, %v; want %q", line, err, want)
		}
	}
	await("read")
	s, err := Open(host.Live())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	proctest.Collect(t, s, sample.First)
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	await("done")
	w := proctest.Collect(t, s, sample.Last)
	got, ok := w.Value(sample.ProcReadChars, sample.Entity{PID: sh.Process.Pid})
	if !ok || got < inWindow || got > inWindow+20_000 {
		t.Errorf("the shell read %v bytes, %v; want %v and a little", got, ok, inWindow)
	}
}
