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
	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/source/proc/meminfo"
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
	if err != nil {
		t.Fatal(err)
	}
	for _, fixture := range []string{"6.18", "available-6.18"} {
		fixture, err := filepath.Abs("../source/proc/meminfo/testdata/" + fixture)
		if err != nil {
			t.Fatal(err)
		}
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
	for _, want := range []string{"clean, mapped or pinned", "at most, as what is mapped is not known", "kpageflags: permission denied", "could not be read"} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
}

// A real drop_caches, that every program on the machine pays for: only when it
// is asked for.
func TestDropFreesWhatIsSaid(t *testing.T) {
	bpftest.Root(t)
	if os.Getenv("IOCAUSE_DROP") == "" {
		t.Skip("empties this machine's page cache: set IOCAUSE_DROP=1")
	}
	look := func() *memory {
		now := &memory{}
		var err error
		if now.info, err = procfile.ReadMeminfo(host.Live()); err != nil {
			t.Fatal(err)
		}
		now.beside = meminfo.ReadBeside(host.Live(), &now.info, 0)
		return now
	}
	before := look()
	said := drop(before)
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	after := drop(look())
	freed := said.all - after.all
	t.Logf("said %.0f of %.0f bytes, freed %.0f (%+.2f %%); stays: shmem %.0f, mapped %.0f, dirty %.0f, writeback %.0f, pinned %.0f; stayed %.0f, clean among it %.0f",
		said.freed, said.all, freed, (freed/said.freed-1)*100, said.shmem, said.mapped, said.dirty, said.writing, said.pinned, after.all, after.freed)
	if math.Abs(freed/said.freed-1) > 0.05 {
		t.Errorf("said %.0f bytes, freed %.0f", said.freed, freed)
	}
}
