package lab

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/lab/load"
)

// Env is one situation under construction. It is used by one goroutine, and
// Close must be called whatever else has failed.
type Env struct {
	host    *host.Host
	name    string
	scratch string
	journal *journal
	stop    []func()             // guards, ended before anything is undone
	slow    map[string]*slowDisk // by name
	marks   int                  // given to processes
}

// New starts an environment with a scratch folder below dir, which must be on
// a file system with a disk under it; "" is $IOCAUSE_LAB_DIR or else /var/tmp.
func New(h *host.Host, dir string) (*Env, error) { return newEnv(h, dir, stateDir(h)) }

func newEnv(h *host.Host, dir, state string) (*Env, error) {
	dir = cmp.Or(dir, os.Getenv("IOCAUSE_LAB_DIR"), "/var/tmp")
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return nil, fmt.Errorf("look at the scratch folder's file system: %w", err)
	}
	if st.Type == unix.TMPFS_MAGIC || st.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return nil, fmt.Errorf("scratch folder %s has no disk of its own under it (tmpfs or overlay)", dir)
	}
	e := &Env{host: h}
	for n := 1; e.journal == nil; n++ {
		e.name = fmt.Sprintf("%s%d-%d", Prefix, os.Getpid(), n)
		j, err := newJournal(h, state, e.name)
		if err != nil && !errors.Is(err, os.ErrExist) {
			return nil, err
		}
		e.journal = j
	}
	e.scratch = filepath.Join(dir, e.name)
	if err := e.journal.add(record{Kind: "dir", Path: e.scratch}); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	if err := os.Mkdir(e.scratch, 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("make the scratch folder: %w", err), e.Close())
	}
	return e, nil
}

// Close takes everything down, newest first. What could not be taken down
// stays in the journal for Sweep.
func (e *Env) Close() error {
	for _, stop := range e.stop {
		stop()
	}
	e.stop = nil
	var errs []error
	for _, d := range e.slow { // what is still to be written shall not take its time
		_, err := d.set(0)
		errs = append(errs, err)
	}
	errs = append(errs, e.journal.close(e.host))
	for _, d := range e.slow {
		errs = append(errs, d.close())
	}
	e.slow = nil
	return errors.Join(errs...)
}

// Scratch is the folder for files; it goes with the environment.
func (e *Env) Scratch() string { return e.scratch }

// SetFile writes a value to a file of /proc or /sys; what it held comes back at the end.
func (e *Env) SetFile(path, value string) error {
	if _, err := e.journal.keep(e.host, path, func(string) bool { return true }); err != nil {
		return err
	}
	return writeSetting(path, value)
}

// Sysctl sets one setting, named as in sysctl(8).
func (e *Env) Sysctl(name, value string) error {
	switch name {
	case "vm.dirty_bytes", "vm.dirty_background_bytes":
		// Writing one of a pair of bytes and ratio zeroes the other, and the
		// bytes refuse a zero that is written back: what restores a zero is
		// the old ratio.
		ratio := e.host.Proc("sys/vm", strings.Replace(strings.TrimPrefix(name, "vm."), "bytes", "ratio", 1))
		kept, err := e.journal.keep(e.host, ratio, func(old string) bool { return old != "0" })
		if err != nil {
			return err
		}
		if kept {
			return writeSetting(e.host.Proc("sys/vm", strings.TrimPrefix(name, "vm.")), value)
		}
	}
	return e.SetFile(e.host.Proc("sys", strings.ReplaceAll(name, ".", "/")), value)
}

func writeSetting(path, value string) error {
	if err := os.WriteFile(path, []byte(value), 0); err != nil {
		return fmt.Errorf("set %s to %q: %w", path, value, err)
	}
	return nil
}

// ReadAhead sets a whole device's read-ahead, in KiB.
func (e *Env) ReadAhead(device string, kb int) error {
	return e.SetFile(e.host.Sys("block", device, "queue/read_ahead_kb"), strconv.Itoa(kb))
}

// LoopDisk is a file system on a loop device.
type LoopDisk struct {
	Device string // kernel name: "loop0"
	Dir    string // where it is mounted; the device's path without a file system
}

// Loop makes a file, a loop device over it and a file system on that. The
// device reads and writes the file directly, so that nothing is cached twice.
// Without fs it is left empty.
// Unless serial, that is: then the device's one worker does each request to its
// end, in the page cache of the file, before it takes the next.
func (e *Env) Loop(name string, size int64, fs string, serial bool) (*LoopDisk, error) {
	image := filepath.Join(e.scratch, name+".img")
	if err := load.Create(image, size); err != nil {
		return nil, err
	}
	device, err := e.attach(image, !serial)
	if err != nil {
		return nil, err
	}
	if fs == "" {
		return &LoopDisk{Device: filepath.Base(device), Dir: device}, nil
	}
	return e.format(name, device, fs)
}

// Format makes a file system on a disk and mounts it.
func (e *Env) Format(name string, disk *LoopDisk, fs string) error {
	made, err := e.format(name, "/dev/"+disk.Device, fs)
	if err == nil {
		disk.Dir = made.Dir
	}
	return err
}

// Remount unmounts a file system of ours and mounts it again, so that nothing of
// it is cached.
func (e *Env) Remount(disk *LoopDisk, fs string) error {
	if err := unmount(disk.Dir); err != nil {
		return err
	}
	if err := unix.Mount("/dev/"+disk.Device, disk.Dir, fs, 0, ""); err != nil {
		return fmt.Errorf("mount %s again: %w", disk.Device, err)
	}
	return nil
}

// format makes a file system on a device of that path and mounts it.
func (e *Env) format(name, device, fs string) (*LoopDisk, error) {
	mkfs := exec.Command("mkfs."+fs, "-q", "-F", device)
	switch fs {
	case "xfs", "btrfs":
		mkfs = exec.Command("mkfs."+fs, "-q", "-f", device)
	case "ext4": // else a thread of the kernel writes to the disk for minutes, beside whatever is tried
		mkfs = exec.Command("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0", device)
	}
	if out, err := mkfs.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%v: %w: %s", mkfs.Args, err, out)
	}
	dir := filepath.Join(e.scratch, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a mount point: %w", err)
	}
	if err := e.journal.add(record{Kind: "mount", Path: dir}); err != nil {
		return nil, err
	}
	if err := unix.Mount(device, dir, fs, 0, ""); err != nil {
		return nil, fmt.Errorf("mount %s: %w", device, err)
	}
	return &LoopDisk{Device: filepath.Base(device), Dir: dir}, nil
}

// Break makes all reads of a loop disk from a byte on fail, as those of a bad
// medium do: its file ends there.
func (e *Env) Break(name string, from int64) error {
	if err := os.Truncate(filepath.Join(e.scratch, name+".img"), from); err != nil {
		return fmt.Errorf("let reads of loop disk %s fail: %w", name, err)
	}
	return nil
}

// attach finds a free loop device and puts it over a file.
func (e *Env) attach(image string, direct bool) (string, error) {
	control, err := os.Open("/dev/loop-control")
	if err != nil {
		return "", fmt.Errorf("open the control of the loop devices: %w", err)
	}
	defer control.Close()
	backing, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		return "", fmt.Errorf("open the loop device's file: %w", err)
	}
	defer backing.Close()
	// The kernel takes the size that it knows: 0 of a file on FUSE, if nobody has asked for it.
	if _, err := backing.Stat(); err != nil {
		return "", fmt.Errorf("look at the loop device's file: %w", err)
	}
	for range 10 {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return "", fmt.Errorf("find a free loop device: %w", err)
		}
		device := fmt.Sprintf("/dev/loop%d", n)
		if err := e.journal.add(record{Kind: "loop", Path: device, Value: image}); err != nil {
			return "", err
		}
		loop, err := os.OpenFile(device, os.O_RDWR, 0)
		if err != nil {
			return "", fmt.Errorf("open a loop device: %w", err)
		}
		config := unix.LoopConfig{Fd: uint32(backing.Fd())}
		if direct {
			config.Info.Flags = unix.LO_FLAGS_DIRECT_IO
		}
		err = unix.IoctlLoopConfigure(int(loop.Fd()), &config)
		if closeErr := loop.Close(); err == nil && closeErr != nil {
			return "", fmt.Errorf("close a loop device: %w", closeErr)
		}
		if err == nil {
			return device, nil
		}
		if !errors.Is(err, unix.EBUSY) { // else somebody was faster
			return "", fmt.Errorf("set %s up: %w", device, err)
		}
	}
	return "", errors.New("find a free loop device: other programs took each of ten before it was set up; try again when they are done (see 'losetup -a')")
}

// Swap makes a swap file and turns it on, ahead of any other swap.
func (e *Env) Swap(size int64) (string, error) {
	path := filepath.Join(e.scratch, "swap")
	if err := load.Create(path, size); err != nil {
		return "", err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return "", fmt.Errorf("protect the swap file: %w", err)
	}
	if out, err := exec.Command("mkswap", path).CombinedOutput(); err != nil {
		return "", fmt.Errorf("prepare the swap file %s: mkswap: %w: %s", path, err, out)
	}
	if err := e.journal.add(record{Kind: "swap", Path: path}); err != nil {
		return "", err
	}
	b, err := unix.BytePtrFromString(path)
	if err != nil {
		return "", fmt.Errorf("turn swap on in %s: %w", path, err)
	}
	const prefer, priority = 0x8000, 100 // SWAP_FLAG_PREFER, include/linux/swap.h
	if _, _, errno := unix.Syscall(unix.SYS_SWAPON, uintptr(unsafe.Pointer(b)), prefer|priority, 0); errno != 0 {
		return "", fmt.Errorf("turn swap on in %s: %w", path, errno)
	}
	return path, nil
}
