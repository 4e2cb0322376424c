package residency

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
)

// Options say how trees are walked.
type Options struct {
	OneFileSystem bool
	// Progress, which may be nil, is told now and then how many files were
	// measured; it is called from several goroutines, one at a time.
	Progress func(files int)
}

// Found is what lies below some paths. Every file is in it once, whatever the
// number of its names.
type Found struct {
	Files       []File // in no order
	Directories int
	Links       int // symbolic links, which are not followed
	Again       int // further names of files that were counted already
	Others      int // pipes, sockets and devices
	Skipped     int // directories on other file systems, or on those of the kernel such as /proc
	Failed      int
	Errors      []error // of the first ones that failed
}

const mostErrors = 5

// Below measures files, and all files below directories. A path that is a
// symbolic link is followed; links below it are not. It fails for a path that
// is not there, or when the context ends.
func Below(ctx context.Context, paths []string, o Options) (*Found, error) {
	w := &walker{ctx: ctx, o: o, many: len(paths) > 1, seen: map[ID]bool{}, found: &Found{}}
	w.work = sync.NewCond(&w.mu)
	for _, path := range paths {
		if err := w.start(path); err != nil {
			return nil, err
		}
	}
	stop := context.AfterFunc(ctx, func() {
		w.mu.Lock()
		w.ended = true
		w.mu.Unlock()
		w.work.Broadcast()
	})
	defer stop()
	var done sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 16) {
		done.Go(w.run)
	}
	done.Wait()
	if err := ctx.Err(); err != nil {
		return w.found, fmt.Errorf("measuring files: %w", context.Cause(ctx))
	}
	return w.found, nil
}

// directory is one to be read, and the file system that the walk began on.
type directory struct {
	path string
	dev  uint64
}

type walker struct {
	ctx  context.Context
	o    Options
	many bool // several paths, one of which may lie in another

	mu    sync.Mutex
	work  *sync.Cond
	todo  []directory
	busy  int
	ended bool
	seen  map[ID]bool
	told  int
	found *Found
}

// start takes one path that the user gave.
func (w *walker) start(path string) error {
	var st unix.Stat_t
	if err := ignoringEINTR(func() error { return unix.Stat(path, &st) }); err != nil {
		return fmt.Errorf("looking for %q: %w", path, err)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		w.todo = append(w.todo, directory{path, st.Dev})
		return nil
	case unix.S_IFREG, unix.S_IFBLK:
		fd, err := host.OpenKind(path, 0, unix.S_IFREG, unix.S_IFBLK)
		w.file(fd, err, path)
		return nil
	}
	return fmt.Errorf("looking at %q: %w, nor a directory or a block device", path, host.ErrNotRegular)
}

// run takes directories until there are none left.
func (w *walker) run() {
	buf := make([]byte, 64<<10)
	for {
		w.mu.Lock()
		for len(w.todo) == 0 && w.busy > 0 && !w.ended {
			w.work.Wait()
		}
		if w.ended || len(w.todo) == 0 {
			w.mu.Unlock()
			w.work.Broadcast()
			return
		}
		d := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		w.busy++
		w.mu.Unlock()
		err := w.directory(d, buf)
		w.mu.Lock()
		w.busy--
		if err != nil {
			w.fail(err)
		}
		w.mu.Unlock()
		w.work.Broadcast()
	}
}

// fail is called with the lock held.
func (w *walker) fail(err error) {
	if w.found.Failed++; len(w.found.Errors) < mostErrors {
		w.found.Errors = append(w.found.Errors, err)
	}
}

func (w *walker) directory(d directory, buf []byte) error {
	var fd int
	err := ignoringEINTR(func() (err error) {
		// the walk shall not itself change when directories were read last
		fd, err = unix.Open(d.path, flags|unix.O_DIRECTORY|unix.O_NOATIME, 0)
		return err
	})
	if err == unix.EPERM {
		err = ignoringEINTR(func() (err error) {
			fd, err = unix.Open(d.path, flags|unix.O_DIRECTORY, 0)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("reading directory %q: %w", d.path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("reading directory %q: %w", d.path, err)
	}
	if st.Dev != d.dev && (w.o.OneFileSystem || isKernels(fd)) {
		w.count(&w.found.Skipped)
		return nil
	}
	w.mu.Lock()
	here := ID{st.Dev, st.Ino}
	again := w.many && w.seen[here]
	if !again {
		w.found.Directories++
	}
	if w.many {
		w.seen[here] = true
	}
	w.mu.Unlock()
	if again {
		return nil
	}
	for {
		n, err := unix.Getdents(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading directory %q: %w", d.path, err)
		}
		if n <= 0 {
			return nil
		}
		if !w.entries(fd, directory{d.path, st.Dev}, buf[:n]) {
			return nil
		}
	}
}

// entries reads what getdents64(2) wrote: inode u64, offset u64, length u16,
// type u8, name. It is false when the walk has been ended.
func (w *walker) entries(fd int, d directory, buf []byte) bool {
	const head = 19
	for len(buf) > head {
		length := int(binary.NativeEndian.Uint16(buf[16:]))
		kind, raw := buf[18], buf[head:length]
		buf = buf[length:]
		if i := slices.Index(raw, 0); i >= 0 {
			raw = raw[:i]
		}
		name := string(raw)
		if name == "." || name == ".." {
			continue
		}
		path := filepath.Join(d.path, name)
		if kind == unix.DT_UNKNOWN { // some file systems do not say
			var st unix.Stat_t
			if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue // removed meanwhile
			}
			kind = uint8(st.Mode & unix.S_IFMT >> 12)
		}
		switch kind {
		case unix.DT_REG:
			var file int
			err := ignoringEINTR(func() (err error) {
				file, err = unix.Openat(fd, name, flags|unix.O_NOFOLLOW, 0)
				return err
			})
			if err != nil {
				err = fmt.Errorf("opening %q: %w", path, err)
			}
			w.file(file, err, path)
		case unix.DT_DIR:
			w.mu.Lock()
			w.todo = append(w.todo, directory{path, d.dev})
			w.mu.Unlock()
			w.work.Signal()
		case unix.DT_LNK:
			w.count(&w.found.Links)
		default:
			w.count(&w.found.Others)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.ended
}

func (w *walker) count(n *int) {
	w.mu.Lock()
	*n++
	w.mu.Unlock()
}

// tellEvery is how many files are measured between two calls of Progress.
const tellEvery = 1000

// file measures an open file and closes it; err is why it could not be opened.
func (w *walker) file(fd int, err error, path string) {
	if err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) {
			return // removed or replaced meanwhile
		}
		w.mu.Lock()
		w.fail(err)
		w.mu.Unlock()
		return
	}
	defer unix.Close(fd)
	f, err := describe(fd, path)
	if errors.Is(err, host.ErrNotRegular) {
		w.count(&w.found.Others)
		return
	}
	if err == nil && (w.many || f.Links > 1) {
		w.mu.Lock()
		again := w.seen[f.ID]
		w.seen[f.ID] = true
		if again {
			w.found.Again++
		}
		w.mu.Unlock()
		if again {
			return
		}
	}
	if err == nil {
		f.measure(w.ctx, fd)
		err = f.Err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.fail(fmt.Errorf("counting the cached pages of %q: %w", path, err))
	}
	w.found.Files = append(w.found.Files, f)
	if n := len(w.found.Files); w.o.Progress != nil && n-w.told >= tellEvery {
		w.told = n
		w.o.Progress(n)
	}
}

// isKernels tells file systems whose files have no pages and may do something
// when they are opened (uapi/linux/magic.h).
func isKernels(fd int) bool {
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC,
		unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.BPF_FS_MAGIC, unix.SECURITYFS_MAGIC,
		unix.PSTOREFS_MAGIC, unix.EFIVARFS_MAGIC, unix.DEVPTS_SUPER_MAGIC, unix.BINFMTFS_MAGIC,
		0x62656570 /* configfs */, 0x65735543 /* fusectl */, 0x19800202 /* mqueue */, 0x67596969 /* rpc_pipefs */ :
		return true
	}
	return false
}
