package session

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/require"
)

// A tree of three generations, of which the middle one ends: the grandchild is
// found all the same, and so is what has ended.
func TestTreeFollowsGenerations(t *testing.T) {
	var out require.Output
	script := `echo self $$; sh -c 'echo middle $$; sleep 3 & echo orphan $!; sleep 0.3'; sleep 0.3`
	c, err := NewChild([]string{"sh", "-c", script}, nil, &out, &out)
	require.NoError(t, err)
	require.NoError(t, c.Start(host.Live()))
	for deadline := time.Now().Add(20 * time.Second); strings.Count(out.String(), "\n") < 3 && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(4 * lookEvery)
	c.Signal(syscall.SIGTERM)
	procs := c.StopTracking()
	c.Wait(t.Context(), func(string) {})
	for line := range strings.Lines(out.String()) {
		what, pid, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatalf("%q", line)
		}
		comm, ok := procs[n]
		if want := map[string]string{"self": "sh", "middle": "sh", "orphan": "sleep"}[what]; !ok || comm != want {
			t.Errorf("%s: process %d is called %q, %v; want %q", what, n, comm, ok, want)
		}
	}
}

func TestScanFindsOrphansOfTheGroup(t *testing.T) {
	var out require.Output
	// The grandchild's parent has ended before anyone looked at the tree.
	c, err := NewChild([]string{"sh", "-c", "(sleep 5 & echo $!); sleep 5"}, nil, &out, &out)
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	defer func() {
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
		_ = c.cmd.Wait()
	}()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(out.String(), "\n") && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	orphan, err := strconv.Atoi(strings.TrimSpace(out.String()))
	require.NoError(t, err)
	comm := filepath.Join("/proc", strconv.Itoa(orphan), "comm")
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if b, _ := os.ReadFile(comm); string(b) == "sleep\n" {
			break // until then it is a copy of the shell
		}
	}
	tr := &tree{host: host.Live(), group: c.cmd.Process.Pid, seen: map[int]string{c.cmd.Process.Pid: ""}}
	tr.update()
	if _, ok := tr.seen[orphan]; ok {
		t.Fatalf("process %d is no orphan", orphan)
	}
	tr.scan()
	tr.update()
	if tr.seen[orphan] != "sleep" {
		t.Errorf("process %d of group %d is not in %v", orphan, tr.group, tr.seen)
	}
}
