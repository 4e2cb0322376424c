package bpf

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/require"
)

// Only events of an iocause that is no more are taken out, never those of others.
func TestStaleEvents(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kprobe_events")
	const lines = "r4096:iocause_77_89abcdef/filemap_get_pages filemap_get_pages\n" +
		"r4096:iocause_78_89abcdef/filemap_map_pages filemap_map_pages\n" +
		"r4096:iocause_89abcdef01234567/filemap_map_pages filemap_map_pages\n" +
		"p:kprobes/iocause_77_x do_sys_open\n" +
		"p:iocause_77/mine do_sys_open\n" +
		"r:other_77_89abcdef/filemap_get_pages filemap_get_pages\n"
	require.NoError(t, os.WriteFile(file, []byte(lines), 0o600))
	require.NoError(t, removeStale(file, func(pid int) bool { return pid == 78 }))
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	if want := lines + "-:iocause_77_89abcdef/filemap_get_pages\n"; string(got) != want {
		t.Errorf("written:\n%s, want\n%s", got, want)
	}
	if err := removeStale(file+"2", isAlive); err == nil {
		t.Error("without the file there is no error")
	}
	if !isAlive(os.Getpid()) || isAlive(1<<22+1) {
		t.Error("who is alive is not known")
	}
}

// The kernel's own file: a line of a dead process goes, one of a living stays.
func TestStaleEventsInTheKernel(t *testing.T) {
	events, err := inTracefs("kprobe_events")
	bpftest.Need(t, "kprobes", err)
	const dead = 1<<22 + 1
	f, err := os.OpenFile(events, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	of := func(pid int) string { return fmt.Sprintf("%s%d_89abcdef/filemap_fault", ownEvents, pid) }
	for _, pid := range []int{dead, os.Getpid()} {
		_, err := f.WriteString("r4096:" + of(pid) + " filemap_fault\n")
		bpftest.Need(t, "kprobes", err)
	}
	t.Cleanup(func() { _, _ = f.WriteString("-:" + of(os.Getpid()) + "\n") })
	require.NoError(t, removeStale(events, isAlive))
	text, err := os.ReadFile(events)
	require.NoError(t, err)
	if s := string(text); strings.Contains(s, of(dead)) || !strings.Contains(s, of(os.Getpid())) {
		t.Errorf("left:\n%s, want that of this process alone", s)
	}
}
