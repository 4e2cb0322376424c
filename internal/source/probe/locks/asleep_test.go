package locks

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf"
	"iocause/internal/bpf/bpftest"
	"iocause/internal/lab/labtest"
	"iocause/internal/sample"
)

// The requests of fsfreeze(8): include/uapi/linux/fs.h.
const fiFreeze, fiThaw = 0xC0045877, 0xC0045878

// Who writes to a file system that is frozen waits for it: for all of the window
// where it began to before anybody looked, and from then on where it began meanwhile.
func TestFrozenFileSystem(t *testing.T) {
	labtest.Need(t, "root", "loop")
	env, err := labtest.New(t, t.TempDir())
	bpftest.Need(t, "loop", err)
	disk, err := env.Loop("frozen", 48<<20, "ext4", false)
	if err != nil {
		t.Fatal(err)
	}
	mount, err := os.Open(disk.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer mount.Close()
	thawed := false
	thaw := func() {
		if !thawed {
			thawed = true
			if err := unix.IoctlSetInt(int(mount.Fd()), fiThaw, 0); err != nil {
				t.Error(err)
			}
		}
	}
	if err := unix.IoctlSetInt(int(mount.Fd()), fiFreeze, 0); err != nil {
		t.Fatal(err)
	}
	defer thaw()
	write := func(name string) <-chan struct{} {
		return onThread(func() { // it returns when the file system is thawed
			if err := os.WriteFile(filepath.Join(disk.Dir, name), []byte("x"), 0o600); err != nil {
				t.Error(err)
			}
		})
	}
	early := write("early")
	time.Sleep(100 * time.Millisecond)
	p, r, collect := watchSelf(t)
	defer p.Close()
	e := sample.Entity{PID: os.Getpid(), Class: "freeze"}
	waited := func() float64 {
		s, _ := r.Window(time.Now()).Sum(sample.LockWait, e)
		return s
	}
	collect(sample.First)
	time.Sleep(300 * time.Millisecond)
	late := write("late")
	time.Sleep(300 * time.Millisecond)
	collect(sample.Tick)
	time.Sleep(300 * time.Millisecond)
	thaw()
	<-early
	<-late
	collect(sample.Last)
	w := r.Window(time.Now())
	// the first for 0.6 s at least, up to the look before the thaw; the second for 0.6 s,
	// or where locks are seen at functions, which this one is not among, between looks only
	least := 1.1
	if p.Ways()[0].By != bpf.ByTracepoint {
		least = 0.5
	}
	if s := waited(); s < least || s > w.Seconds()+0.7 {
		t.Errorf("%g s of waiting for a frozen file system in %g s, want 0.6 s of one thread, 0.6 of another and what looks take", s, w.Seconds())
	}
	if comm := w.Processes[e.PID].Comm; comm == "" {
		t.Error("who waits has no name")
	}
	in := ""
	w.Each(sample.LockWaitIn, func(of sample.Entity, s *sample.Series) {
		if of.PID == e.PID && s.Sum() > 0.5 {
			in = of.Class
		}
	})
	if in != "openat" {
		t.Errorf("they wait in %q, want openat", in)
	}
}

// The functions of stacks as kernels write them.
func TestKindOfStack(t *testing.T) {
	for stack, want := range map[string]uint32{
		"[<0>] percpu_rwsem_wait+0xaf/0x130\n[<0>] __percpu_down_read+0x5f/0xf0\n[<0>] mnt_want_write+0x9b/0xb0\n":  kindFreeze,
		"[<0>] rwsem_down_write_slowpath+0x1f2/0x6b0\n[<0>] down_write+0x5c/0x60\n[<0>] path_openat+0x2d1/0x1150\n": kindRWSem,
		"[<0>] __mutex_lock.constprop.0+0x2c1/0x5f0\n[<0>] bdev_open+0x61/0x440\n":                                  kindMutex,
		"[<0>] jbd2_log_wait_commit+0xd1/0x140\n[<0>] ext4_sync_file+0x1d2/0x3a0\n":                                 kindNone,
		"[<0>] kernel_clone+0x3d7/0x4d0\n[<0>] __do_sys_vfork+0x4e/0x60\n":                                          kindNone,
		"": kindNone,
	} {
		if got := kindOfStack([]byte(stack)); got != want {
			t.Errorf("%q is of kind %d, want %d", stack, got, want)
		}
	}
}
