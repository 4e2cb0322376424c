package cli

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/require"
)

func TestMemAddsUp(t *testing.T) {
	code, out, stderr := run{args: []string{"mem", "--format", "json", "--top", "0"}}.do(t)
	if code != 0 {
		t.Fatalf("code %d: %s", code, stderr)
	}
	parts := rows(t, out, "memory")
	sum := 0.0
	for _, r := range parts[:len(parts)-1] {
		if v, ok := r["bytes"].(float64); ok {
			sum += v
		}
	}
	if total := parts[len(parts)-1]; total["part"] != "total" || sum != total["bytes"] {
		t.Errorf("the parts are %.0f bytes of %v", sum, total)
	}
	cache := rows(t, out, "drop")
	sum = 0
	for _, r := range cache[:len(cache)-1] {
		if v, ok := r["bytes"].(float64); ok {
			sum += v
		}
	}
	if want := cache[len(cache)-1]["bytes"].(float64); math.Abs(sum-want) > 1 {
		t.Errorf("what is freed and what stays are %.0f bytes of %.0f", sum, want)
	}
	for _, r := range rows(t, out, "processes") {
		if r["pid"] == strconv.Itoa(os.Getpid()) {
			if rss := r["rss_bytes"].(float64); rss < 1<<20 || r["anon_bytes"].(float64)+r["file_bytes"].(float64)+r["shmem_bytes"].(float64) != rss {
				t.Errorf("%v", r)
			}
			return
		}
	}
	t.Error("this process is missing")
}

// free(1) and we read the same file: one of these tests, that does not change.
func TestMemEqualsFree(t *testing.T) {
	bpftest.Root(t)
	peer(t, "free", "procps")
	path, err := program()
	require.NoError(t, err)
	for _, fixture := range []string{"../procfile/testdata/meminfo-6.18", "../source/proc/meminfo/testdata/available-6.18"} {
		fixture, err := filepath.Abs(fixture)
		require.NoError(t, err)
		c := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c",
			`mount --bind "$1" /proc/meminfo && free --bytes && exec "$2" mem --format json`, "sh", fixture, path)
		c.Env = append(os.Environ(), asProgram+"=1", "LC_ALL=C")
		var stdout, stderr bytes.Buffer
		c.Stdout, c.Stderr = &stdout, &stderr
		if err := c.Run(); err != nil {
			t.Fatalf("%v: %s", err, &stderr)
		}
		free, ours, ok := strings.Cut(stdout.String(), "{")
		if !ok {
			t.Fatal(stdout.String())
		}
		lines := strings.Split(free, "\n")
		keys := []string{"total", "used", "free", "shared", "buff_cache", "available"}
		for i, row := range rows(t, "{"+ours, "free") {
			for k, want := range strings.Fields(lines[1+i])[1:] {
				got, _ := row[keys[k]+"_bytes"].(float64)
				if strconv.FormatFloat(got, 'f', 0, 64) != want {
					t.Errorf("%s %s: free says %s, we %.0f", row["what"], keys[k], want, got)
				}
			}
		}
	}
}

func TestMemWithoutRights(t *testing.T) {
	bpftest.Root(t)
	code, out, stderr := run{args: []string{"mem"}, uid: 65534}.do(t)
	if code != 0 {
		t.Fatalf("code %d: %s", code, stderr)
	}
	for _, want := range []string{"clean, mapped or pinned", "an upper bound, because mappings are not known", "kpageflags: permission denied", "could not be read"} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
}
