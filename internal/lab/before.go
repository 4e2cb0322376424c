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
			return errors.New("before.change: create cgroups before the loads start, in setup")
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
	if st.Keep != "" {
		path = st.kept("-before")
	}
	window := cmp.Or(b.Duration, st.Window)
	recordCtx, cancel := context.WithTimeout(ctx, window+30*time.Second+st.scenario.patience())
	defer cancel()
	if err := st.recordTo(recordCtx, path, window); err != nil {
		return nil, fmt.Errorf("make the earlier recording: %w", err)
	}
	for i, step := range b.Change {
		if err := st.take(ctx, &step); err != nil {
			return nil, fmt.Errorf("change %d: %w", i+1, err)
		}
	}
	return []string{"--against", path}, st.startAll(ctx, b.Loads)
}

// kept is the file of the situation's recording, or of what was before it.
func (st *situation) kept(part string) string {
	return filepath.Join(st.Keep, st.scenario.Name+part+".iocause")
}

// recordTo records the machine for so long, in windows of a second.
func (st *situation) recordTo(ctx context.Context, path string, window time.Duration) error {
	_, environment, err := st.env.marked()
	if err != nil {
		return err
	}
	recorder := exec.CommandContext(ctx, st.Binary, "record", "-o", path, "--duration", window.String())
	recorder.Env = environment
	if out, err := recorder.CombinedOutput(); err != nil {
		return fmt.Errorf("record the situation: %w: %s", err, lastLine(bytes.TrimSpace(out)))
	}
	return nil
}
