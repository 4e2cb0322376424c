package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/present/text"
	"iocause/internal/require"
)

// rows are the rows of one table of a JSON document.
func rows(t *testing.T, out, table string) []map[string]any {
	t.Helper()
	var doc map[string]json.RawMessage
	var rows struct{ Rows []map[string]any }
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("%v: %.300s", err, out)
	}
	if err := json.Unmarshal(doc[table], &rows); err != nil {
		t.Fatalf("%s: %v: %.300s", table, err, out)
	}
	return rows.Rows
}

// asJSON is a name as JSON has it, which knows no bytes that are not UTF-8.
func asJSON(t *testing.T, name string) (out string) {
	t.Helper()
	b, err := json.Marshal(name)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &out))
	return out
}

// cachedFiles makes a folder with a file of so many cached pages for each name.
func cachedFiles(t *testing.T, pages int, names ...string) (dir string, files []*os.File) {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "iocause-test-") // /tmp may be in memory
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, name := range names {
		f, err := os.Create(filepath.Join(dir, name))
		require.NoError(t, err)
		t.Cleanup(func() { f.Close() })
		if _, err := f.Write(make([]byte, pages*os.Getpagesize())); err != nil {
			t.Fatal(err)
		}
		require.NoError(t, f.Sync())
		files = append(files, f)
	}
	return dir, files
}

func TestResidentAllAddsUpAndNamesAll(t *testing.T) {
	bpftest.Root(t)
	const pages = 4099
	_, files := cachedFiles(t, pages, "closed", "deleted", hostileFile)
	require.NoError(t, os.Remove(files[1].Name()))
	files[0].Close()
	files[2].Close()
	best := math.Inf(1)
	var out string
	for range 5 { // others fill and empty the cache meanwhile
		var code int
		var stderr string
		if code, out, stderr = (run{args: []string{"resident", "--all", "--top", "0", "--format", "json"}}).do(t); code != 0 {
			t.Fatalf("code %d: %s", code, stderr)
		}
		if strings.Contains(stderr, "only files that processes have open") {
			bpftest.Need(t, "bpf", errors.New(stderr))
		}
		sums := rows(t, out, "cache")
		if n := len(sums); sums[n-2]["kind"] != "remainder" || sums[n-1]["share"] != 1.0 {
			t.Fatalf("%v", sums)
		}
		best = min(best, math.Abs(sums[len(sums)-2]["share"].(float64)))
		if best <= 0.005 {
			break
		}
	}
	if best > 0.005 {
		t.Errorf("%g of the cache is unexplained", best)
	}
	all := rows(t, out, "files")
	for i, state := range []string{"closed", "open,deleted", "closed"} {
		at := slices.IndexFunc(all, func(r map[string]any) bool { return r["file"] == asJSON(t, files[i].Name()) })
		if at < 0 {
			t.Errorf("%q is missing", files[i].Name())
			continue
		}
		// the kernel may have evicted some of them by now
		if r := all[at]; r["state"] != state || math.Abs(r["cached_bytes"].(float64)/float64(pages*os.Getpagesize())-1) > 0.02 {
			t.Errorf("%q: %v", files[i].Name(), r)
		}
	}
}

// Without kernel programs it says so, and still adds up.
func TestResidentAllWithoutKernelPrograms(t *testing.T) {
	bpftest.Root(t)
	_, files := cachedFiles(t, 1021, "open")
	code, out, stderr := run{args: []string{"resident", "--all", "--top", "0", "--format", "json"}, env: []string{dropCaps + "=1"}}.do(t)
	if code != 0 || !strings.Contains(stderr, refusal) {
		t.Fatalf("code %d: %s", code, stderr)
	}
	sums := rows(t, out, "cache")
	total := 0.0
	for _, r := range sums[:len(sums)-1] {
		total += r["bytes"].(float64)
	}
	if want := sums[len(sums)-1]["bytes"].(float64); math.Abs(total-want) > 1 {
		t.Errorf("the sums are %.0f, the cache %.0f", total, want)
	}
	if !slices.ContainsFunc(rows(t, out, "files"), func(r map[string]any) bool {
		return r["file"] == files[0].Name() && r["state"] == "open" && r["cached_bytes"] == float64(1021*os.Getpagesize())
	}) {
		t.Error("our open file is missing")
	}
}

func TestResidentOfHostileNames(t *testing.T) {
	dir, files := cachedFiles(t, 101, hostileFile, strings.Repeat("long-", 50))
	for _, width := range []string{"text", "json", "csv"} {
		code, out, stderr := run{args: []string{"resident", "--map", "--format", width, dir}}.do(t)
		if code != 0 {
			t.Fatalf("code %d: %s", code, stderr)
		}
		harmless(t, strings.ReplaceAll(out, "\r", "")+stderr)
		for _, line := range strings.Split(out, "\n") {
			if width == "text" && text.Width(line) > 80 {
				t.Errorf("%d columns: %q", text.Width(line), line)
			}
		}
		if width == "json" {
			found := rows(t, out, "ranges")
			if len(found) != 2 || found[0]["offset_bytes"] != 0.0 || found[0]["length_bytes"] != float64(101*os.Getpagesize()) {
				t.Errorf("%v", found)
			}
			total := rows(t, out, "total")[0]
			if total["cached_pages"] != 202.0 || total["files"] != 2.0 {
				t.Errorf("%v", total)
			}
		}
	}
	code, out, stderr := run{args: []string{"resident", "--format", "json", "--pid", fmt.Sprint(os.Getpid())}}.do(t)
	if code != 0 {
		t.Fatalf("code %d: %s", code, stderr)
	}
	if !slices.ContainsFunc(rows(t, out, "files"), func(r map[string]any) bool {
		return r["file"] == files[1].Name() && r["held"] == "open" && r["cached_pages"] == 101.0
	}) {
		t.Errorf("the open file is missing: %.500s", out)
	}
}

// Each look shows what changed since the one before; Ctrl-C sums up.
func TestResidentAgainAndAgain(t *testing.T) {
	_, files := cachedFiles(t, 10, "f")
	c, _, stderr := run{args: []string{"resident", "--format", "json", files[0].Name(), "0.2"}}.command(t)
	c.Stdout = nil
	pipe, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	lines := bufio.NewScanner(pipe)
	next := func() map[string]any {
		if !lines.Scan() {
			t.Fatalf("no more lines: %s", stderr)
		}
		return rows(t, lines.Text(), "files")[0]
	}
	if r := next(); r["cached_pages"] != 10.0 || r["change_bytes"] != nil {
		t.Errorf("first %v", r)
	}
	more := 7.0 * float64(os.Getpagesize())
	if _, err := files[0].Write(make([]byte, int(more))); err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for range 4 {
		sum += next()["change_bytes"].(float64)
	}
	if sum != more {
		t.Errorf("changes of %g bytes, want %g", sum, more)
	}
	require.NoError(t, c.Process.Signal(syscall.SIGINT))
	var last map[string]any
	for lines.Scan() {
		last = rows(t, lines.Text(), "files")[0]
	}
	if err := c.Wait(); err != nil || last["change_bytes"] != more {
		t.Errorf("%v, in the end %v: %s", err, last, stderr)
	}
}

func TestSplitInterval(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("7", nil, 0o600))
	for _, c := range []struct {
		args  string
		paths int
	}{{"", 0}, {"a", 1}, {"a 5", 1}, {"a 5 3", 1}, {"a 1 5 3", 2}, {"a 7", 2}, {"a 7 5", 2}, {"5", 0}, {"./7 500ms", 1}, {"a 1x", 2}} {
		args := strings.Fields(c.args)
		if paths, rest := splitInterval(args); len(paths) != c.paths || len(paths)+len(rest) != len(args) {
			t.Errorf("%q: paths %q, rest %q", c.args, paths, rest)
		}
	}
}

func TestResidentUsage(t *testing.T) {
	for _, args := range []string{"", "5", "--all /x", "--all --map", "-x --all", "--all 1 2 3x", "/usr/bin --sort x", "--format x /usr/bin", "--top -1 --all", "--cgroup="} {
		code, out, stderr := run{args: append([]string{"resident"}, strings.Fields(args)...)}.do(t)
		if code == 0 || out != "" || !strings.Contains(stderr, "; ") {
			t.Errorf("%q: code %d, %q, %q", args, code, out, stderr)
		}
	}
	if code, _, stderr := (run{args: []string{"resident", "/no/such/file"}}).do(t); code != 1 || !strings.Contains(stderr, "no such file") {
		t.Errorf("code %d, %q", code, stderr)
	}
}

// A process in a cgroup of its own, and what that is charged for.
func TestResidentOfACgroup(t *testing.T) {
	bpftest.Root(t)
	h := host.Live()
	cgroups, err := h.Cgroups()
	require.NoError(t, err)
	tree, ok := cgroups.Controller("memory")
	if !ok {
		bpftest.Need(t, "cgroup", errors.New("no memory controller"))
	}
	name := fmt.Sprintf("/iocause-test-%d", os.Getpid())
	dir, err := tree.Join(name)
	require.NoError(t, err)
	if err := os.Mkdir(dir, 0o755); err != nil {
		bpftest.Need(t, "cgroup", err)
	}
	defer os.Remove(dir)
	_, files := cachedFiles(t, 103, "held")
	holder := exec.CommandContext(t.Context(), "sleep", "60")
	holder.ExtraFiles = files
	require.NoError(t, holder.Start())
	defer func() {
		_ = holder.Process.Kill()
		_ = holder.Wait()
	}()
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(fmt.Sprint(holder.Process.Pid)), 0); err != nil {
		bpftest.Need(t, "cgroup", err)
	}
	code, out, stderr := run{args: []string{"resident", "--cgroup", name, "--format", "json"}}.do(t)
	if code != 0 {
		t.Fatalf("code %d: %s", code, stderr)
	}
	if !slices.ContainsFunc(rows(t, out, "files"), func(r map[string]any) bool {
		return r["file"] == files[0].Name() && r["held"] == "open" && r["cached_pages"] == 103.0
	}) {
		t.Errorf("the open file is missing: %.500s", out)
	}
	if !strings.Contains(out, "the cgroup is charged for") {
		t.Errorf("the charge is missing: %.500s", out)
	}
}
