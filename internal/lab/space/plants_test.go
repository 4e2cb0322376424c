package space

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/lab"
	"iocause/internal/lab/labtest"
	"iocause/internal/require"
)

// anonymousIn is the anonymous memory of a cgroup, in bytes.
func anonymousIn(t *testing.T, dir string) int64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "memory.stat"))
	require.NoError(t, err)
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) == 2 && (f[0] == "total_rss" || f[0] == "anon") { // cgroups of version 1, or 2
			n, err := strconv.ParseInt(f[1], 10, 64)
			require.NoError(t, err)
			return n
		}
	}
	t.Fatalf("no anonymous memory in %s", b)
	return 0
}

// What holds memory, and what shares a processor, is really there, really goes with its
// remedy, and comes back after it.
func TestPlants(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	labtest.Need(t, "root", "memcg", "blkio", "cpucg", "fuse", "loop")
	binary := labtest.Build(t)
	for _, c := range []struct {
		plant  Plant
		work   Work
		remedy string
		there  func(t *testing.T, st *Standing) bool
	}{
		{Hog, RingCached, "free the memory", func(t *testing.T, st *Standing) bool {
			t.Helper()
			all, left := st.Situation.hogged()
			return anonymousIn(t, st.cgroup.Memory) >= all-left
		}},
		{Shared, Compute, "a processor of its own", func(t *testing.T, st *Standing) bool {
			t.Helper()
			var on unix.CPUSet
			require.NoError(t, unix.SchedGetaffinity(st.running[0].PID, &on))
			return on == st.shared
		}},
	} {
		t.Run(string(c.plant), func(t *testing.T) {
			s := &Situation{Seed: second, Program: "own", Work: c.work, Threads: 2, Processes: 1, Size: 192 << 20, Block: 8 << 10,
				FS: "ext4", Latency: 300 * time.Microsecond, Heads: 8, Plant: c.plant, Strength: 0.5}
			switch lacks := s.Lacks(); {
			case lacks == "":
			case lab.Demanded("loop"): // what else the lab needs is demanded, too
				t.Fatal(lacks)
			default:
				t.Skip(lacks)
			}
			scratch := t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			st, err := Stand(ctx, host.Live(), binary, scratch, s)
			if st != nil {
				defer func() {
					require.NoError(t, st.Close())
					if left, err := os.ReadDir(scratch); err != nil || len(left) != 0 {
						t.Errorf("it leaves %v behind: %v", left, err)
					}
				}()
			}
			require.NoError(t, err)
			tried := false
			for _, r := range st.Remedies() {
				if r.Name != c.remedy {
					continue
				}
				tried = true
				for range 2 {
					if !c.there(t, st) {
						t.Fatal("what is planted is not there")
					}
					undo, err := r.Apply(ctx)
					require.NoError(t, err)
					if c.there(t, st) {
						t.Error("what is planted is still there with the remedy")
					}
					if rate, err := st.Measure(ctx, 300*time.Millisecond); err != nil || rate <= 0 {
						t.Errorf("%g units of work a second: %v", rate, err)
					}
					require.NoError(t, undo())
				}
			}
			if !tried || !c.there(t, st) {
				t.Errorf("tried: %t; it does not come back", tried)
			}
		})
	}
}
