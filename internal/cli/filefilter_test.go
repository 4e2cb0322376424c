package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/lab/labtest"
	"iocause/internal/require"
	"iocause/internal/source/residency"
)

// diskUnder is the disk that a file lies on, "" where it is on none.
func diskUnder(t *testing.T, path string) string {
	t.Helper()
	var st unix.Stat_t
	require.NoError(t, unix.Stat(path, &st))
	name := host.NewFileDisks(host.Live()).Of(residency.ID{Dev: st.Dev}.Number())
	if strings.Contains(name, ":") {
		return ""
	}
	return name
}

func TestResidentFilters(t *testing.T) {
	bpftest.Root(t)
	dir, files := cachedFiles(t, 13, "one.ibd", "two.txt", hostileFile)
	comm, err := os.ReadFile("/proc/self/comm")
	require.NoError(t, err)
	name := strings.TrimSuffix(string(comm), "\n")
	want := func(paths []string, args ...string) {
		t.Helper()
		code, out, stderr := run{args: append([]string{"resident", "--format", "json", "--top", "0"}, args...)}.do(t)
		if code != 0 {
			t.Fatalf("%q: code %d: %s", args, code, stderr)
		}
		var got []string
		for _, r := range rows(t, out, "files") {
			if path := r["file"].(string); strings.HasPrefix(path, dir) {
				got = append(got, path)
			}
		}
		var sorted []string
		for _, p := range paths {
			sorted = append(sorted, asJSON(t, p))
		}
		slices.Sort(got)
		slices.Sort(sorted)
		if !slices.Equal(got, sorted) {
			t.Errorf("%q: %q, want %q", args, got, sorted)
		}
	}
	one, two, hostile := files[0].Name(), files[1].Name(), files[2].Name()
	pid := strconv.Itoa(os.Getpid())
	want([]string{one, two, hostile}, dir)
	want([]string{one}, dir, "--file", "*.ibd")
	want([]string{two}, dir, "--file", two)
	want([]string{one, two, hostile}, "--comm", name, "--file", dir)
	want([]string{one}, "--pid", pid, "--comm", name, "--file", "one.ibd")
	want([]string{one}, "--all", "--file", one)
	if disk := diskUnder(t, dir); disk != "" {
		want([]string{one, two, hostile}, dir, "--device", disk)
		want([]string{two}, "--pid", pid, "--device", disk, "--file", "*.txt")
		want([]string{one, two, hostile}, "--all", "--device", disk, "--file", dir)
	}
	code, _, stderr := run{args: []string{"resident", "--pid", "1", "--comm", name}}.do(t)
	if code != 1 || !strings.Contains(stderr, "none matches all filters") {
		t.Errorf("process 1 of another name: code %d, %s", code, stderr)
	}
}

// The processes that map a file are found by it, whatever its name holds.
func TestMemFilters(t *testing.T) {
	bpftest.Root(t)
	dir, files := cachedFiles(t, 3, hostileFile, "plain")
	for _, f := range files {
		m, err := unix.Mmap(int(f.Fd()), 0, 3*os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
		require.NoError(t, err)
		t.Cleanup(func() { _ = unix.Munmap(m) })
	}
	self := strconv.Itoa(os.Getpid())
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--file", filepath.Join(dir, hostileFile)}, self},
		{[]string{"--file", dir}, self},
		{[]string{"--file", filepath.Join(dir, "plai")}, ""},
		{[]string{"--pid", self}, self},
		{[]string{"--pid", self, "--comm", "no such name"}, ""},
		{[]string{"--pid", self, "--file", filepath.Join(dir, "plain")}, self},
	} {
		code, out, stderr := run{args: append([]string{"mem", "--format", "json", "--top", "0"}, c.args...)}.do(t)
		if c.want == "" { // nobody maps what is not there
			if code != 1 || out != "" || !strings.Contains(stderr, "nothing to show: there is no ") {
				t.Errorf("%q: code %d: %s", c.args, code, stderr)
			}
			continue
		}
		if code != 0 {
			t.Fatalf("%q: code %d: %s", c.args, code, stderr)
		}
		var pids []string
		for _, r := range rows(t, out, "processes") {
			pids = append(pids, r["pid"].(string))
		}
		if got := strings.Join(pids, " "); got != c.want {
			t.Errorf("%q: processes %q, want %q", c.args, got, c.want)
		}
	}
	if disk := diskUnder(t, dir); disk != "" {
		_, out, _ := run{args: []string{"mem", "--format", "csv", "--top", "0", "--device", disk}}.do(t)
		if !strings.HasPrefix(out, "time,pss_bytes") || !strings.Contains(out, ","+self+",") {
			t.Errorf("this process maps a file on %s:\n%s", disk, out)
		}
	}
}

// Rows of disk by file have names, or a filter by name would find none.
func TestDiskOfAFile(t *testing.T) {
	needProbes(t)
	dir, files := cachedFiles(t, 7, "written")
	if diskUnder(t, dir) == "" {
		bpftest.Need(t, "disk", errors.New("/var/tmp is not on a block device"))
	}
	done := make(chan struct{})
	defer func() { <-done }()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if _, err := files[0].WriteAt(make([]byte, 7*os.Getpagesize()), 0); err != nil {
				return
			}
			_ = files[0].Sync() // what it wrote is looked for below
			time.Sleep(20 * time.Millisecond)
		}
	}()
	code, out, stderr := run{args: []string{"disk", "1", "1", "--file", dir, "--format", "json"}}.do(t)
	stop()
	if code != 0 {
		t.Fatalf("code %d: %s", code, stderr)
	}
	all := rows(t, out, "by_file")
	if len(all) != 1 || all[0]["file"] != files[0].Name() || all[0]["op"] != "write" || all[0]["bytes_per_s"].(float64) < float64(7*os.Getpagesize()) {
		t.Errorf("%v, want one row of %s", all, files[0].Name())
	}
}

// On overlayfs and on btrfs stat(2) tells another file system than the kernel has for a
// file. --file finds it all the same, and tables show where overlayfs keeps it.
func TestFilesThatStatDoesNotKnow(t *testing.T) {
	needProbes(t)
	for _, kind := range []string{"overlay", "btrfs"} {
		t.Run(kind, func(t *testing.T) {
			dir, kept := mounted(t, kind)
			path := filepath.Join(dir, "written")
			f, err := os.Create(path)
			require.NoError(t, err)
			defer f.Close()
			ctx, stop := context.WithTimeout(t.Context(), 40*time.Second)
			done := make(chan struct{})
			defer func() { stop(); <-done }()
			go func() {
				defer close(done)
				for ctx.Err() == nil {
					if _, err := f.WriteAt(make([]byte, 7*os.Getpagesize()), 0); err != nil {
						return
					}
					_ = f.Sync() // what it wrote is looked for below
					time.Sleep(20 * time.Millisecond)
				}
			}()
			want, link := filepath.Join(kept, "written"), filepath.Join(t.TempDir(), "link")
			require.NoError(t, os.Symlink(dir, link))
			t.Run("all", func(t *testing.T) {
				for _, name := range []string{dir, path, link, filepath.Join(link, "written")} {
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						code, out, stderr := run{args: []string{"files", "1", "1", "--file", name, "--format", "json"}}.do(t)
						if all := rows(t, out, "files"); code != 0 || len(all) != 1 || all[0]["file"] != want || all[0]["dirtied_bytes_per_s"].(float64) < float64(7*os.Getpagesize()) {
							t.Errorf("files: code %d, %s%v, want one row of %s", code, stderr, all, want)
						}
						code, out, stderr = run{args: []string{"trace", "--file", name, "--ios", "1", "--duration", "20s", "--format", "csv"}}.do(t)
						if code != 0 || strings.Count(out, want) != 1 {
							t.Errorf("trace: code %d, %s%s, want one write of %s", code, stderr, out, want)
						}
					})
				}
			})
		})
	}
}

// mounted is a folder of a file system, and the one where its files are kept.
func mounted(t *testing.T, kind string) (dir, kept string) {
	t.Helper()
	if kind == "btrfs" {
		_, dir = labtest.LoopMount(t, kind)
		return dir, dir
	}
	return labtest.Overlay(t, t.TempDir())
}
