package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/lab"
	"iocause/internal/require"
)

// statusKB is a figure of /proc/PID/status.
func statusKB(t *testing.T, pid int, name string) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kb, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			require.NoError(t, err)
			return kb
		}
	}
	t.Fatalf("no %s in %s", name, b)
	return 0
}

// Others take 95 % of the memory and fill the rest with what they read: the
// agent goes on, its program is not dropped, and it is not what is ended.
func TestAgentWhenMemoryIsTaken(t *testing.T) {
	if testing.Short() {
		t.Skip("with the race detector iocause needs more than the limit")
	}
	bpftest.Root(t)
	const limit = 256 << 20
	env, small := smallCgroup(t, limit)
	self, err := program()
	require.NoError(t, err)
	dir := filepath.Join(env.Scratch(), "rec")
	begin := func(args ...string) *lab.Process {
		t.Helper()
		p, err := env.Start(append([]string{"/usr/bin/env", asProgram + "=1", self}, args...), small, false)
		require.NoError(t, err)
		return p
	}
	agent := begin("agent", "--dir", dir, "--interval", "100ms", "--listen", "none")
	wait := func(what string, ok func() bool) {
		t.Helper()
		for began := time.Now(); !ok(); time.Sleep(100 * time.Millisecond) {
			if agent.Ended() {
				t.Fatalf("the agent has ended: %s", agent.Stderr.String())
			}
			if time.Since(began) > 30*time.Second {
				t.Fatalf("waited in vain for %s", what)
			}
		}
	}
	usage := func() int {
		for _, name := range []string{"memory.current", "memory.usage_in_bytes"} {
			if b, err := os.ReadFile(filepath.Join(small.Memory, name)); err == nil {
				n, err := strconv.Atoi(strings.TrimSpace(string(b)))
				require.NoError(t, err)
				return n
			}
		}
		t.Fatal("the cgroup does not tell its usage")
		return 0
	}
	// newest is the newest instant that is recorded.
	newest := func() (at time.Time) {
		code, out, stderr := run{args: []string{"query", "timestamp(iocause_mem_free_bytes)", "--dir", dir, "--format", "csv"}}.do(t)
		if code != exitWell {
			return time.Time{} // there is no recording yet
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		fields := strings.Split(lines[len(lines)-1], ",")
		seconds, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			if len(lines) == 1 {
				return time.Time{}
			}
			t.Fatal(out, stderr, err)
		}
		return time.UnixMilli(int64(seconds * 1000))
	}
	wait("values", func() bool { return !newest().IsZero() })
	if kb := statusKB(t, agent.PID, "VmLck"); kb < 1024 {
		t.Errorf("%d kB are locked", kb)
	}
	score, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", agent.PID))
	require.NoError(t, err)
	eaten := limit - usage() - limit/20 - 16<<20 // what takes it needs some itself
	begin("lab", "eat", strconv.Itoa(eaten), "--force")
	file := bpftest.File(t, 64<<20/4096)
	begin("lab", "load", "randread", "--path", file, "--bs", "64k", "--duration", "1m")
	wait("95 % to be taken", func() bool { return usage() >= limit/100*95 })
	taken := time.Now()
	wait("three more seconds of values", func() bool { return newest().After(taken.Add(3 * time.Second)) })
	require.NoError(t, syscall.Kill(agent.PID, syscall.SIGTERM))
	for began := time.Now(); !agent.Ended(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatal("the agent does not end")
		}
	}
	if log := agent.Stderr.String(); !strings.Contains(log, "the agent has stopped") || strings.Contains(log, "lost") {
		t.Error(log)
	} else if strings.TrimSpace(string(score)) != "-500" && !strings.Contains(log, "lowering its own score") {
		t.Errorf("the score is %s and nothing is said: %s", score, log)
	}
}
