package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/require"
)

// runLabTool runs a command of the lab that needs the host.
func runLabTool(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, notes require.Output // a command that it starts writes, too
	a := &env{streams: streams{stdin: strings.NewReader(stdin), stdout: &out, stderr: &notes}, host: host.Live()}
	code = runLine(t.Context(), a, append([]string{"lab"}, args...))
	return out.String(), notes.String(), code
}

// TestLabEatEndsWithItsParent kills the parent of an eating iocause.
func TestLabEatEndsWithItsParent(t *testing.T) {
	if os.Getenv("IOCAUSE_TEST_EAT") != "" {
		os.Exit(Run(t.Context(), []string{"lab", "eat", "20M", "--format=json"}, os.Stdin, os.Stdout, os.Stderr))
	}
	self, err := os.Executable()
	require.NoError(t, err)
	// The shell is the parent: it does not become the command, as there is more to do after it.
	parent := exec.Command("/bin/sh", "-c", fmt.Sprintf("IOCAUSE_TEST_EAT=1 '%s' -test.run='^TestLabEatEndsWithItsParent$'; true", self))
	stdout, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	line, _ := bufio.NewReader(stdout).ReadBytes('\n')
	var e lab.Eaten
	if err := json.Unmarshal(line, &e); err != nil || e.Held != 20<<20 || e.Resident != e.Held {
		t.Fatalf("%s: %v", line, err)
	}
	require.NoError(t, parent.Process.Kill())
	// The pipe ends when the last process that can write to it has ended.
	ended := make(chan struct{})
	go func() { _ = parent.Wait(); close(ended) }()
	gone := fmt.Sprintf("/proc/%d", e.PID)
	for range 600 {
		if b, err := os.ReadFile(gone + "/stat"); err != nil || bytes.Contains(b, []byte(") Z ")) {
			<-ended
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("process %d lives on without its parent", e.PID)
}
