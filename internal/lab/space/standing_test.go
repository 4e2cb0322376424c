package space

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/lab/labtest"
	"iocause/internal/require"
)

// Every program that is installed starts, does work that is told of, and every
// remedy of it can be applied and undone; then nothing is left of it.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two minutes")
	}
	labtest.Need(t, "root", "memcg", "blkio", "cpucg", "fuse", "loop")
	binary := labtest.Build(t)
	h := host.Live()
	for _, p := range programs() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel() // most of the time is other programs' start
			scratch := t.TempDir()
			for _, dir := range []string{scratch, filepath.Dir(scratch)} { // PostgreSQL runs as another user
				require.NoError(t, os.Chmod(dir, 0o711))
			}
			standsAndWorks(t, h, binary, scratch, p)
			if left, err := os.ReadDir(scratch); err != nil || len(left) != 0 {
				t.Errorf("it leaves %v behind: %v", left, err)
			}
		})
	}
}

// standsAndWorks lets a program do its first kind of work, with each remedy.
func standsAndWorks(t *testing.T, h *host.Host, binary, scratch string, p program) {
	t.Helper()
	s := &Situation{Seed: 2, Program: p.name, Work: p.works[0], Threads: min(2, p.threads+1), Processes: 1, Size: 40 << 20, Block: 8 << 10,
		FS: "ext4", Latency: 300 * time.Microsecond, Heads: 8, Plant: None}
	if lacks := s.Lacks(); lacks != "" {
		t.Skip(lacks)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	st, err := Stand(ctx, h, binary, scratch, s)
	if st != nil {
		defer func() {
			if err := st.Close(); err != nil {
				t.Errorf("take it down: %v", err)
			}
		}()
	}
	require.NoError(t, err)
	works := func(when string) {
		rate, err := st.Measure(ctx, 300*time.Millisecond)
		if err == nil && rate <= 0 { // others work beside it
			rate, err = st.Measure(ctx, 3*time.Second)
		}
		if err != nil || rate <= 0 {
			t.Errorf("%s: %g units of work a second: %v", when, rate, err)
		}
	}
	works("as it starts")
	for _, r := range st.Remedies() {
		if p.name != "own" && (r.Name == fasterDisk || r.Name == "little read-ahead") {
			continue // done to the disk, whatever the program is
		}
		undo, err := r.Apply(ctx)
		if err != nil {
			t.Errorf("%s: %v", r.Name, err)
			continue
		}
		works(r.Name)
		if err := undo(); err != nil {
			t.Errorf("undo %s: %v", r.Name, err)
		}
	}
	works("after all remedies")
}
