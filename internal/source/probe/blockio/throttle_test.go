package blockio

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/lab"
	"iocause/internal/lab/labtest"
	"iocause/internal/sample"
)

// count is how many blocks dd reads or writes.
const count = 7

// heldBack are the bios that a limit held back, of each class, while a program
// in a cgroup ran dd on a disk of 16 MiB.
func heldBack(t *testing.T, iops int64, args ...string) map[string]float64 {
	t.Helper()
	env, err := labtest.New(t, "")
	bpftest.Need(t, "loop", err)
	disk, err := env.Loop("disk", 16<<20, "", false)
	bpftest.Need(t, "loop", err)
	var st unix.Stat_t
	if err := unix.Stat(disk.Dir, &st); err != nil {
		t.Fatal(err)
	}
	number := fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))
	group, err := env.Cgroup("slow", &lab.Limits{Device: number, ReadIOPS: iops, WriteIOPS: iops})
	bpftest.Need(t, "cgroup", err)
	return heldBackIn(t, disk.Dir, group.IO, args...)
}

// heldBackIn is the same in a cgroup that has its limits.
func heldBackIn(t *testing.T, disk, group string, args ...string) map[string]float64 {
	t.Helper()
	script := `echo $$ >"$1/cgroup.procs" && shift && exec "$@" status=none bs=4k count=` + strconv.Itoa(count)
	dd, err := exec.LookPath("dd") // a shell may have one of its own
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{dd}, args...)
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "DISK", disk)
	}
	w := bpftest.ObserveOnce(t, Open, func() {
		if out, err := exec.Command("sh", append([]string{"-c", script, "sh", group}, args...)...).CombinedOutput(); err != nil {
			if strings.Contains(string(out), "dsync") {
				t.Skip("needs a dd that knows oflag=dsync: busybox's does not")
			}
			t.Fatalf("%v: %s", err, out)
		}
	})
	held := map[string]float64{}
	name := filepath.Base(group)
	if _, err := os.Stat(filepath.Join(group, "release_agent")); err == nil {
		name = "/" // only a root has that file
	}
	w.Each(sample.BlockThrottled, func(e sample.Entity, s *sample.Series) {
		if e.Device == filepath.Base(disk) && filepath.Base(e.Cgroup) == name {
			held[e.Class] += s.Sum()
			b, _ := w.Sum(sample.BlockThrottledB, e)
			if want := 4096 * s.Sum(); e.Class == "flush" && b != 0 || e.Class != "flush" && b != want {
				t.Errorf("%s: %g bytes were held back in %g bios", e.Class, b, s.Sum())
			}
		}
	})
	return held
}

// A limit that lets one through in a tenth of a second holds back nearly all
// that come one after the other, whoever filled them: the writes of a sync and
// its flushes, which are charged to the one who syncs, and direct I/O.
func TestHeldBack(t *testing.T) {
	for _, c := range []struct {
		name    string
		args    []string
		classes []string
	}{
		{"synced writes", []string{"if=/dev/zero", "of=DISK", "oflag=dsync"}, []string{"write", "flush"}},
		{"direct writes", []string{"if=/dev/zero", "of=DISK", "oflag=direct"}, []string{"write"}},
		{"direct reads", []string{"if=DISK", "of=/dev/null", "iflag=direct"}, []string{"read"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			held := heldBack(t, 10, c.args...)
			for _, class := range c.classes {
				if n := held[class]; n < 2 || n > count {
					t.Errorf("%v were held back, want 2 to %d of the class %s", held, count, class)
				}
			}
		})
	}
}

// What is far from the limit passes, in the name of the same cgroup.
func TestNotHeldBack(t *testing.T) {
	if held := heldBack(t, 1_000_000, "if=/dev/zero", "of=DISK", "oflag=dsync"); len(held) != 0 {
		t.Errorf("%v were held back, want none", held)
	}
}

// The root of cgroup v1 can have limits, and what they hold back counts.
func TestHeldBackInRoot(t *testing.T) {
	const root = "/sys/fs/cgroup/blkio"
	file := filepath.Join(root, "blkio.throttle.read_iops_device")
	if _, err := os.Stat(file); err != nil {
		t.Skipf("the root cgroup has no I/O limits here: %v", err)
	}
	env, err := labtest.New(t, "")
	bpftest.Need(t, "loop", err)
	disk, err := env.Loop("disk", 16<<20, "", false)
	bpftest.Need(t, "loop", err)
	var st unix.Stat_t
	if err := unix.Stat(disk.Dir, &st); err != nil {
		t.Fatal(err)
	}
	limit := func(iops int) {
		if err := os.WriteFile(file, fmt.Appendf(nil, "%d:%d %d", unix.Major(st.Rdev), unix.Minor(st.Rdev), iops), 0); err != nil {
			t.Fatal(err)
		}
	}
	limit(10)
	defer limit(0)
	held := heldBackIn(t, disk.Dir, root, "if=DISK", "of=/dev/null", "iflag=direct")
	if n := held["read"]; n < 2 || n > count {
		t.Errorf("%v were held back, want 2 to %d reads", held, count)
	}
}
