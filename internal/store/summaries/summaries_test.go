package summaries

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"iocause/internal/require"
	"iocause/internal/sample"
)

func hour(signal string, at time.Time, v float64) sample.Hour {
	return sample.Hour{Signal: signal, Start: at, N: 360, Alarmed: 7, Q: [5]float64{v, v + 1, v + 2, v + 3, v + 4}, Extreme: v + 5}
}

var start = time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC)

func all(t *testing.T, dir string) (hours []sample.Hour, lost []string) {
	t.Helper()
	lost, err := Read(dir, func(h sample.Hour) { h.Start = h.Start.UTC(); hours = append(hours, h) })
	require.NoError(t, err)
	return hours, lost
}

func TestWhatIsKeptIsRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "baselines")
	if _, err := Read(dir, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing there: %v", err)
	}
	var want []sample.Hour
	for i := range 5 {
		at := start.Add(time.Duration(i) * time.Hour)
		hours := []sample.Hour{hour("disk.busy", at, float64(i)), hour("a\x1b\x00b", at, -0.5)}
		require.NoError(t, Append(dir, hours))
		want = append(want, hours...)
	}
	got, lost := all(t, dir)
	if !slices.Equal(got, want) || len(lost) != 0 {
		t.Errorf("%+v, lost %q", got, lost)
	}
	for _, name := range []string{"2026-11.hours", "2026-12.hours"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	if err := Append(filepath.Join(dir, "none"), nil); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Error("no hours make no folder")
	}
}

// A writer that was killed leaves a torn end: what is appended behind it is
// read, and the loss is said.
func TestTornEnd(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "2026-11.hours")
	for cut := range 100 {
		os.Remove(name)
		first, second, third := hour("x", start, 1), hour("x", start.Add(time.Hour), 2), hour("x", start.Add(-time.Hour), 3)
		require.NoError(t, Append(dir, []sample.Hour{first}))
		before, err := os.Stat(name)
		require.NoError(t, err)
		require.NoError(t, Append(dir, []sample.Hour{second}))
		after, err := os.Stat(name)
		require.NoError(t, err)
		size := before.Size() + 1 + int64(cut)
		if size >= after.Size() {
			return
		}
		require.NoError(t, os.Truncate(name, size))
		require.NoError(t, Append(dir, []sample.Hour{third}))
		got, lost := all(t, dir)
		if !slices.Equal(got, []sample.Hour{first, third}) || len(lost) != 1 || !strings.Contains(lost[0], "are lost") {
			t.Fatalf("cut after %d bytes: %+v, lost %q", cut+1, got, lost)
		}
	}
	t.Error("no cut reached the end")
}

func TestWhatIsNoFileOfHours(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"2026-01.hours": "", "2026-02.hours": "something else\n", "README": "hello"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	require.NoError(t, Append(dir, []sample.Hour{hour("x", start, 1)}))
	got, lost := all(t, dir)
	if len(got) != 1 || len(lost) != 2 || !strings.Contains(lost[0], "2026-01") || !strings.Contains(lost[1], "2026-02") {
		t.Errorf("%+v %q", got, lost)
	}
}

func TestPruneKeepsTheNewest(t *testing.T) {
	dir := t.TempDir()
	if err := Prune(filepath.Join(dir, "none")); err != nil {
		t.Error(err)
	}
	for i := range 20 {
		require.NoError(t, Append(dir, []sample.Hour{hour("x", start.AddDate(0, -i, -15), 1)}))
	}
	require.NoError(t, Prune(dir))
	names, err := list(dir)
	if err != nil || len(names) != 14 || names[0] != "2025-10.hours" || names[13] != "2026-11.hours" {
		t.Errorf("%v %v", names, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode([]sample.Hour{hour("x", start, 1), hour("y", start, 2)}))
	f.Fuzz(func(t *testing.T, data []byte) {
		hours, err := decode(data)
		if err != nil {
			return
		}
		again, err := decode(encode(hours))
		if err != nil || len(again) != len(hours) {
			t.Errorf("%v: %d hours, %d before", err, len(again), len(hours))
		}
	})
}
