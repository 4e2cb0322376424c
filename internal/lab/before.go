package lab

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"
)

// Before is what is recorded before the observation, which is compared with it:
// the loads run, the recording is made, then the changes come.
type Before struct {
	Duration time.Duration `yaml:"duration"` // 0: the runner's Window
	Change   []Step        `yaml:"change"`   // no cgroups: the loads run already
	Loads    []Load        `yaml:"loads"`    // started with the changes
}

func (b *Before) changes() []Step {
	if b == nil {
		return nil
	}
	return b.Change
}

// check refuses what cannot be done.
func (b *Before) check() error {
	if b == nil {
		return nil
	}
	for _, step := range b.Change {
		if step.Cgroup != nil {
			return errors.New("before.change: a cgroup is made before the loads start, in setup")
		}
	}
	return nil
}

// record does that, and returns the flags for the diagnosis.
func (st *situation) record(ctx context.Context) ([]string, error) {
	b := st.scenario.Before
	if b == nil {
		return nil, nil
	}
	path := filepath.Join(st.env.Scratch(), "before.iocause")
	window := cmp.Or(b.Duration, st.Window)
	args := []string{"record", "-o", path, "--duration", window.String()}
	ctx, cancel := context.WithTimeout(ctx, window+30*time.Second+st.scenario.patience())
	defer cancel()
	_, environment, err := st.env.marked()
	if err != nil {
		return nil, err
	}
	recorder := exec.CommandContext(ctx, st.Binary, args...)
	recorder.Env = environment
	if out, err := recorder.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("record what comes before: %w: %s", err, lastLine(bytes.TrimSpace(out)))
	}
	for i, step := range b.Change {
		if err := st.take(ctx, &step); err != nil {
			return nil, fmt.Errorf("change %d: %w", i+1, err)
		}
	}
	return []string{"--against", path}, st.startAll(ctx, b.Loads)
}
