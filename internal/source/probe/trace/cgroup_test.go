package trace

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
)

// A cgroup stands for itself and those below it, in the tree that requests
// are charged to and in the memory controller's.
func TestCgroupFilter(t *testing.T) {
	const count = 97
	path := bpftest.File(t, count)
	groups, err := host.Live().Cgroups()
	bpftest.Need(t, "cgroup", err)
	tested := 0
	for _, controller := range []string{"io", "blkio", "memory"} {
		tree, ok := groups.Controller(controller)
		if !ok || controller == "memory" && tree.V2 {
			continue
		}
		top := filepath.Join(tree.Dir, fmt.Sprintf("iocause-test-%d", os.Getpid()))
		inner, other := filepath.Join(top, "inner"), top+"-other"
		for _, dir := range []string{top, inner, other} {
			bpftest.Need(t, "cgroup", os.Mkdir(dir, 0o755))
			t.Cleanup(func() {
				if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Error(err)
				}
			})
		}
		if tree.V2 { // there a controller is handed down level by level
			if err := os.WriteFile(filepath.Join(top, "cgroup.subtree_control"), []byte("+"+controller), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		byTask := controller == "memory"
		load := func() {
			script := `echo $$ >"$1/cgroup.procs" && exec dd if="$2" of=/dev/null bs=4k iflag=direct status=none`
			if out, err := exec.Command("sh", "-c", script, "sh", inner, path).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		options := func(dir string) Options {
			var st unix.Stat_t
			if err := unix.Stat(dir, &st); err != nil {
				t.Fatal(err)
			}
			n := 0
			for d := dir; d != tree.Dir; d = filepath.Dir(d) {
				n++
			}
			return Options{Cgroup: st.Ino, CgroupLevel: n, ByTask: byTask, File: bpftest.ID(t, path)}
		}
		for dir, want := range map[string]int{top: count, inner: count, other: 0, tree.Dir: count} {
			ios, l := record(t, options(dir), load)
			if len(ios) != want || lost(l) != 0 {
				t.Errorf("%s, %s: %d I/Os, want %d; %+v", controller, dir, len(ios), want, l)
			}
			// In the root of the I/O controller's tree it is the memory controller's that counts.
			if len(ios) > 0 && ios[0].Cgroup != tree.Path(inner) {
				t.Errorf("%s: charged to %q, want %q", controller, ios[0].Cgroup, tree.Path(inner))
			}
		}
		tested++
	}
	if tested == 0 {
		bpftest.Need(t, "cgroup", errors.New("no I/O or memory controller is mounted"))
	}
}
