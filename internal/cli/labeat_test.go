package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/lab"
	"iocause/internal/lab/load"
	"iocause/internal/require"
)

// What lab eat takes is what it was asked for to one part in a hundred, by the
// kernel's account of its process, and its cgroup has all of it back at the end.
func TestLabEatReachesItsTargetAndGivesAllBack(t *testing.T) {
	path, err := program()
	require.NoError(t, err)
	const size = 256 << 20
	env, small := smallCgroup(t, 2*size)
	for _, kind := range []string{"RssAnon", "RssShmem"} {
		least, _ := eat(t, env, small, path, kind, 4096)
		most, used := eat(t, env, small, path, kind, size)
		if taken := float64(most - least); math.Abs(taken-size) > size/100 {
			t.Errorf("%s: took %.0f bytes, not %d", kind, taken, size)
		}
		if used < size {
			t.Errorf("%s: the cgroup used %d bytes meanwhile, less than %d", kind, used, size)
		}
		var left int64
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if left = cgroupUse(t, small); left < size/100 {
				break
			}
		}
		if left >= size/100 {
			t.Errorf("%s: %d of %d bytes were not given back", kind, left, size)
		}
	}
}

// eat runs lab eat until it holds what it should, and gives what the kernel says of
// the process and its cgroup at that time.
func eat(t *testing.T, env *lab.Env, in *lab.Cgroup, path, kind string, size int64) (resident, used int64) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "eaten")
	script := fmt.Sprintf("%s=1 exec '%s' lab eat %d --tmpfs=%t --format=json >'%s'", asProgram, path, size, kind == "RssShmem", out)
	p, err := env.Start([]string{"/bin/sh", "-c", script}, in, false)
	require.NoError(t, err)
	var e lab.Eaten
	for end := time.Now().Add(30 * time.Second); e.Held == 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		b, _ := os.ReadFile(out)
		_ = json.Unmarshal(b, &e) // what is half written comes whole later
	}
	if e.Held != size {
		t.Errorf("%s: it holds %d bytes, not %d", kind, e.Held, size)
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID))
	require.NoError(t, err)
	for line := range strings.Lines(string(b)) {
		var n load.Size
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == kind+":" && n.Set(fields[1]+"k") == nil {
			resident = int64(n)
		}
	}
	used = cgroupUse(t, in)
	if err := p.Stop(30 * time.Second); err != nil || !strings.Contains(p.Stderr.String(), "freed ") {
		t.Errorf("%s: %v: %s", kind, err, p.Stderr.String())
	}
	return resident, used
}

// cgroupUse is the memory that the kernel has charged to a cgroup.
func cgroupUse(t *testing.T, c *lab.Cgroup) (used int64) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(c.Memory, "memory.usage_in_bytes"))
	if err != nil {
		b, err = os.ReadFile(filepath.Join(c.Memory, "memory.current"))
	}
	if _, scanErr := fmt.Sscan(string(b), &used); err != nil || scanErr != nil {
		t.Fatalf("%v, %v", err, scanErr)
	}
	return used
}
