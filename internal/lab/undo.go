package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
)

// undo reverses one record. It must also work when what the record announces
// was never done, or is undone already.
func undo(h *host.Host, r *record) error {
	var err error
	switch r.Kind {
	case "file":
		err = os.WriteFile(r.Path, []byte(r.Value), 0)
	case "dir":
		if !strings.HasPrefix(filepath.Base(r.Path), Prefix) {
			return fmt.Errorf("undo: %s is not a folder of the lab", r.Path)
		}
		err = os.RemoveAll(r.Path)
	case "cgroup":
		err = removeCgroup(r.Path)
	case "mount":
		err = unmount(r.Path)
	case "loop":
		err = detachLoop(h, r.Path, r.Value)
	case "swap":
		err = swapOff(r.Path)
	case "process":
		err = (&leader{pid: r.PID, start: r.Start, mark: r.Value}).kill(h)
	default:
		err = errors.New("this iocause does not know records of that kind; use the one that made it")
	}
	if err != nil {
		return fmt.Errorf("undo %s %s: %w", r.Kind, r.Path, err)
	}
	return nil
}

// patiently repeats what fails with EBUSY: the kernel lets go of the pages,
// processes and bios of the dead a little later.
func patiently(try func() error) error {
	for range 200 {
		if err := try(); !errors.Is(err, unix.EBUSY) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return try()
}

// removeCgroup kills whoever is still in the cgroup: only we put processes there.
func removeCgroup(path string) error {
	if !strings.HasPrefix(filepath.Base(path), Prefix) {
		return fmt.Errorf("%s is not a cgroup of the lab", path)
	}
	return patiently(func() error {
		procs, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("see who is in the cgroup: %w", err)
		}
		for _, p := range strings.Fields(string(procs)) {
			pid, err := strconv.Atoi(p)
			if err != nil || pid == os.Getpid() {
				continue
			}
			if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("kill %d: %w", pid, err)
			}
		}
		if err := unix.Rmdir(path); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("remove the cgroup: %w", err)
		}
		return nil
	})
}

func unmount(dir string) error {
	err := patiently(func() error { return unix.Unmount(dir, 0) })
	if errors.Is(err, unix.EBUSY) {
		err = unix.Unmount(dir, unix.MNT_DETACH)
	}
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) { // not mounted
		return nil
	}
	return err
}

// detachLoop frees a loop device if it is still the one over our file.
func detachLoop(h *host.Host, device, backing string) error {
	if strings.TrimSuffix(h.LoopFile(filepath.Base(device)), " (deleted)") != backing {
		return nil // free, or somebody else's
	}
	f, err := os.Open(device)
	if err != nil {
		return fmt.Errorf("open the loop device: %w", err)
	}
	defer f.Close()
	return patiently(func() error { return unix.IoctlSetInt(int(f.Fd()), unix.LOOP_CLR_FD, 0) })
}

func swapOff(path string) error {
	b, err := unix.BytePtrFromString(path)
	if err != nil {
		return fmt.Errorf("turn swap off in %s: %w", path, err)
	}
	_, _, errno := unix.Syscall(unix.SYS_SWAPOFF, uintptr(unsafe.Pointer(b)), 0, 0)
	if errno != 0 && errno != unix.EINVAL && errno != unix.ENOENT { // EINVAL: not in use
		return fmt.Errorf("turn swap off in %s: %w", path, errno)
	}
	return nil
}
