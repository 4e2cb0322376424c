package check

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"iocause/internal/bpf"
	"iocause/internal/bpf/bpftest"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source"
)

var (
	reduce = flag.String("reduce", "", "reduce the type information in the files of this folder to what is looked at, into testdata")
	update = flag.Bool("update", false, "write the table of docs/kernels.md")
)

const document = "../../../docs/kernels.md"

// needed are the names of types that ways, programs and what kernels lack are chosen by.
func needed() map[string]bool {
	names := map[string]bool{"bpf_func_id": true, "btf_trace_sched_switch": true, "btf_trace_task_rename": true}
	for _, s := range []string{"bpf_tramp_image", "bpf_mem_alloc", "bpf_local_storage", "bpf_local_storage_map", "ftrace_ops", "kprobe", "user_pt_regs"} {
		names[s] = true
	}
	add := func(programs []bpf.Program) {
		for i := range programs {
			p := &programs[i]
			names["btf_trace_"+p.Tracepoint], names["btf_trace_"+p.Former] = true, true
			for _, function := range []string{p.Entry, p.Exit, p.Call, p.Return} {
				names[function] = true
			}
		}
	}
	for _, entry := range source.List() {
		if entry.Plan == nil {
			continue
		}
		plan := entry.Plan()
		add(plan.Programs)
		for i := range plan.Capabilities {
			for _, w := range plan.Capabilities[i].Ways {
				add(w.Programs)
			}
		}
	}
	delete(names, "")
	return names
}

func TestReduce(t *testing.T) {
	if *reduce == "" {
		t.Skip("it makes fixtures: -reduce FOLDER, with a file of each kernel's type information")
	}
	files, err := filepath.Glob(*reduce + "/*")
	require.NoError(t, err)
	for _, file := range files {
		require.NoError(t, os.WriteFile("testdata/"+filepath.Base(file)+".btf", bpftest.Reduced(t, file, needed()), 0o600))
	}
}

// columns are what the table of docs/kernels.md has of a kernel.
var columns = []string{"reads", "mapped", "demand", "direct", "requests", "locks"}

func hooks(c *Found) map[string]string {
	all := map[string]string{}
	for _, s := range c.Sources {
		for _, w := range s.Ways {
			if all[w.What] = "none"; w.By != "" {
				all[w.What] = w.Hooks[0]
			}
		}
	}
	return all
}

func foreseen(t *testing.T, file string) *Found {
	t.Helper()
	c, err := Foresee(file, source.List())
	require.NoError(t, err)
	return c
}

// Each kernel that machines were booted with: the ways that its types promise are
// those that were taken there.
func TestForesee(t *testing.T) {
	const atTracepoints = "tp:mm_filemap_get_pages tp:mm_filemap_fault %s tp:iomap_dio_rw_begin tp:block_io_start tp:contention_begin"
	for name, want := range map[string]string{
		"5.10.0-46-cloud-amd64":      "fexit:generic_file_buffered_read fentry:filemap_fault fentry:page_cache_sync_ra fentry:__iomap_dio_rw tp:block_getrq fentry:rwsem_down_read_slowpath",
		"5.15.0-204-generic":         "fexit:filemap_get_pages fentry:filemap_fault fentry:page_cache_sync_ra fentry:__iomap_dio_rw tp:block_getrq fentry:rwsem_down_read_slowpath",
		"6.1.0-56-cloud-amd64":       "fexit:filemap_get_pages fentry:filemap_fault fentry:page_cache_sync_ra fentry:iomap_iter tp:block_getrq tp:contention_begin",
		"6.1.0-56-cloud-arm64":       "kretprobe:filemap_get_pages kprobe:filemap_fault kprobe:page_cache_sync_ra kprobe:__iomap_dio_rw tp:block_getrq tp:contention_begin",
		"6.12.118+deb13-cloud-amd64": fmt.Sprintf(atTracepoints, "fentry:page_cache_sync_ra"),
		"6.12.118+deb13-cloud-arm64": fmt.Sprintf(atTracepoints, "fentry:page_cache_sync_ra"),
		"6.18.15+deb13-cloud-amd64":  fmt.Sprintf(atTracepoints, "tp:page_cache_sync_ra"),
		"7.2.13+deb14-cloud-amd64":   fmt.Sprintf(atTracepoints, "tp:page_cache_sync_ra"),
	} {
		c := foreseen(t, "testdata/"+name+".btf")
		all, got := hooks(c), []string{}
		for _, what := range columns {
			got = append(got, all[what])
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s:\n%s, want\n%s", name, s, want)
		}
		hash := all["figures of each thread"] != ""
		if old := name < "6.12"; hash != old {
			t.Errorf("%s: figures of each thread in a hash: %v, want %v", name, hash, old)
		}
		if none := c.Impossible(); len(none) != 0 {
			t.Errorf("%s: impossible: %+v", name, none)
		}
	}
}

// What types lack costs what it would cost there; a file that has none is said.
func TestForeseeWhatIsLacking(t *testing.T) {
	names := needed()
	for _, gone := range []string{"btf_trace_block_getrq", "btf_trace_block_io_start", "btf_trace_mm_filemap_get_pages", "filemap_get_pages"} {
		delete(names, gone) // as of a kernel that has inlined the function
	}
	raw := bpftest.Reduced(t, "testdata/6.12.118+deb13-cloud-amd64.btf", names)
	file := filepath.Join(t.TempDir(), "types")
	require.NoError(t, os.WriteFile(file, raw, 0o600))
	c := foreseen(t, file)
	for _, s := range c.Sources {
		want := Works
		if s.Name == "blockio" || s.Name == "pagecache" {
			want = NotSupported
		}
		if s.State != want || want != Works && (len(s.Why) == 0 || len(s.Costs)+len(s.Replaced) == 0) {
			t.Errorf("%+v, want %s, and what that costs", s, want)
		}
	}
	if len(c.Impossible()) == 0 {
		t.Error("every verdict is possible without the page cache")
	}
	if !slices.ContainsFunc(c.Verdicts, func(v Verdict) bool { return v.Possible }) {
		t.Error("no verdict is possible")
	}

	require.NoError(t, os.WriteFile(file, raw[:100], 0o600))
	for _, name := range []string{file, "/proc/self/exe", "testdata/none"} {
		if _, err := Foresee(name, source.List()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want an error that names the file", name, err)
		}
	}
}

// The table of docs/kernels.md is what these types promise.
func TestTableOfKernels(t *testing.T) {
	files, err := filepath.Glob("testdata/*.btf")
	require.NoError(t, err)
	var b strings.Builder
	fmt.Fprintf(&b, "| kernel | %s | impossible verdicts |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)+2))
	for _, file := range files {
		c := foreseen(t, file)
		fmt.Fprintf(&b, "| %s |", strings.TrimSuffix(filepath.Base(file), ".btf"))
		all := hooks(c)
		for _, what := range columns {
			fmt.Fprintf(&b, " `%s` |", all[what])
		}
		fmt.Fprintf(&b, " %d of %s |\n", len(c.Impossible()), sample.Counted(len(c.Verdicts), "verdict"))
	}
	const begin, end = "<!-- types: begin -->\n", "<!-- types: end -->"
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	has, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatalf("%s has no table between %q and %q", document, begin, end)
	}
	if has == b.String() {
		return
	}
	if !*update {
		t.Fatalf("the table of %s is not what types promise; write it with -update:\n%s", document, b.String())
	}
	require.NoError(t, os.WriteFile(document, []byte(before+begin+b.String()+end+after), 0o644)) //nolint:gosec // a document
}
