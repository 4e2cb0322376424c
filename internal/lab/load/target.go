package load

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// target is the file or memory that a load works on, and all that is open.
type target struct {
	spec     *Spec
	kind     *kind
	size     int64
	resident bitmap // nil: not known
	closers  []func() error
}

// openTarget makes the file if need be and puts the page cache into the state
// that was asked for.
func openTarget(spec *Spec, k *kind) (*target, error) {
	t := &target{spec: spec, kind: k, size: int64(spec.Size)}
	if spec.Path == "" {
		t.size = max(t.size, int64(spec.BlockSize))
		return t, nil
	}
	if err := t.spare(); err != nil {
		return nil, err
	}
	if err := t.ensureFile(); err != nil {
		return nil, err
	}
	if spec.Drop {
		if err := Drop(spec.Path); err != nil {
			return nil, err
		}
	}
	if spec.Warm {
		if err := Warm(spec.Path, t.size); err != nil {
			return nil, err
		}
	}
	// Without the right to write there is no truth about the cache; the load
	// can run all the same and says so by -1.
	if fd, err := unix.Open(spec.Path, unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
		size, err := fileSize(fd)
		if err == nil {
			t.resident, err = residency(fd, min(size, t.size))
		}
		if err := errors.Join(err, unix.Close(fd)); err != nil {
			return nil, fmt.Errorf("look at the cached pages of %s: %w", spec.Path, err)
		}
	}
	return t, nil
}

// spare refuses to write to a device that is mounted or belongs to another one.
func (t *target) spare() error {
	var paths []string
	if t.kind.write {
		paths = append(paths, t.spec.Path)
	}
	if t.spec.To != "" {
		paths = append(paths, t.spec.To)
	}
	for _, path := range paths {
		if st, err := os.Stat(path); err != nil || st.Mode()&os.ModeType != os.ModeDevice {
			continue // no block device: it is made, or fails where it is opened
		}
		if err := openAlone(path); err != nil {
			return err
		}
	}
	return nil
}

// openAlone opens a device exclusively for a moment: loads of several processes may share it.
func openAlone(path string) (err error) {
	for range 10 {
		var fd int
		if fd, err = unix.Open(path, unix.O_RDWR|unix.O_EXCL|unix.O_CLOEXEC, 0); err == nil {
			return unix.Close(fd)
		}
		if !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("open %s to write: %w", path, err)
		}
		time.Sleep(20 * time.Millisecond) // another load may be just here
	}
	return fmt.Errorf("open %s to write: %w", path, ErrInUse)
}

// ensureFile makes a missing file and finds out the region's size.
func (t *target) ensureFile() error {
	_, err := os.Stat(t.spec.Path)
	switch {
	case errors.Is(err, os.ErrNotExist) && t.size > 0 && t.kind.grow:
		f, err := os.Create(t.spec.Path)
		if err != nil {
			return fmt.Errorf("make the file to write: %w", err)
		}
		return f.Close()
	case errors.Is(err, os.ErrNotExist) && t.size > 0:
		return Create(t.spec.Path, t.size)
	case err != nil:
		return fmt.Errorf("find the file (--size makes it): %w", err)
	}
	fd, err := unix.Open(t.spec.Path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", t.spec.Path, err)
	}
	defer unix.Close(fd)
	size, err := fileSize(fd)
	if err != nil {
		return fmt.Errorf("size of %s: %w", t.spec.Path, err)
	}
	if t.size == 0 || t.size > size && !t.kind.grow {
		t.size = size
	}
	if t.size < 1 {
		return fmt.Errorf("%w: %s is empty", ErrSpec, t.spec.Path)
	}
	if t.kind.direct {
		t.size = t.size / 512 * 512
	}
	return nil
}

// workers opens what each thread needs.
func (t *target) workers() ([]*worker, error) {
	var all []*worker
	var anon []byte
	if t.kind.memory {
		var err error
		anon, err = t.anonymous(int(t.size))
		if err != nil {
			return nil, err
		}
	}
	turn := new(mutex)
	for id := range t.spec.Threads {
		w := &worker{id: id, spec: t.spec, kind: t.kind, size: t.size, fd: -1, out: -1, mem: anon, turn: turn, lat: latencies()}
		pages := (t.size + pageSize - 1) / pageSize
		w.reads, w.writes = newAccount(pages), newAccount(pages)
		w.offsets = newOffsets(t.spec, t.size, id)
		// From mmap, the buffer is aligned for O_DIRECT and out of the garbage
		// collector's sight.
		buf, err := t.anonymous(int(t.spec.BlockSize) * t.buffers())
		if err != nil {
			return nil, err
		}
		for i := range buf {
			buf[i] = byte(i*7 + id)
		}
		w.buf = buf
		if t.kind.mixed {
			w.sides = &[2]direction{{lat: latencies()}, {lat: latencies()}}
		}
		if t.spec.Path != "" {
			if err := t.open(w); err != nil {
				return nil, err
			}
		}
		all = append(all, w)
	}
	return all, nil
}

// buffers is how many blocks a thread needs at a time.
func (t *target) buffers() int {
	if t.kind.ring {
		return t.spec.Depth
	}
	return 1
}

// open opens the file for one thread.
func (t *target) open(w *worker) error {
	mode := unix.O_RDONLY
	if t.kind.write {
		mode = unix.O_RDWR
	}
	if t.kind.direct {
		mode |= unix.O_DIRECT
	}
	var err error
	if w.fd, err = t.openFile(t.spec.Path, mode); err != nil {
		return err
	}
	advice := map[string]int{"random": unix.FADV_RANDOM, "sequential": unix.FADV_SEQUENTIAL}[t.spec.Advice]
	if advice != 0 && !t.kind.mapped {
		if err := unix.Fadvise(w.fd, 0, 0, advice); err != nil {
			return fmt.Errorf("fadvise %s: %w", t.spec.Advice, err)
		}
	}
	switch t.kind.name {
	case "sendfile", "splice":
		if w.out, err = t.openFile("/dev/null", unix.O_WRONLY); err != nil {
			return err
		}
		if err := unix.Pipe2(w.pipe[:], unix.O_CLOEXEC); err != nil {
			return fmt.Errorf("make a pipe: %w", err)
		}
		t.closers = append(t.closers, func() error {
			return errors.Join(unix.Close(w.pipe[0]), unix.Close(w.pipe[1]))
		})
		if _, err := unix.FcntlInt(uintptr(w.pipe[1]), unix.F_SETPIPE_SZ, 1<<20); err != nil {
			return fmt.Errorf("enlarge a pipe: %w", err)
		}
	case "permit":
		w.out, err = t.openPermit()
		return err
	case "copy_file_range":
		to := t.spec.To
		if to == "" {
			to = t.spec.Path + ".copy"
		}
		w.out, err = t.openFile(to, unix.O_WRONLY|unix.O_CREAT)
		return err
	}
	if t.kind.mapped {
		return t.mapFile(w)
	}
	return nil
}

func (t *target) mapFile(w *worker) error {
	prot := unix.PROT_READ
	if t.kind.write {
		prot |= unix.PROT_WRITE
	}
	mem, err := unix.Mmap(w.fd, 0, int(t.size), prot, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map %s: %w", t.spec.Path, err)
	}
	t.closers = append(t.closers, func() error { return unix.Munmap(mem) })
	w.mem = mem
	if advice := map[string]int{"random": unix.MADV_RANDOM, "sequential": unix.MADV_SEQUENTIAL}[t.spec.Advice]; advice != 0 {
		if err := unix.Madvise(mem, advice); err != nil {
			return fmt.Errorf("madvise %s: %w", t.spec.Advice, err)
		}
	}
	return nil
}

func (t *target) openFile(path string, mode int) (int, error) {
	fd, err := unix.Open(path, mode|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", path, err)
	}
	t.closers = append(t.closers, func() error { return unix.Close(fd) })
	return fd, nil
}

// anonymous maps memory in small pages: huge ones would be swapped and
// accounted in another way.
func (t *target) anonymous(size int) ([]byte, error) {
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes of memory: %w", size, err)
	}
	t.closers = append(t.closers, func() error { return unix.Munmap(mem) })
	// Kernels without huge pages refuse the advice, which then is not needed.
	if err := unix.Madvise(mem, unix.MADV_NOHUGEPAGE); err != nil && !errors.Is(err, unix.EINVAL) {
		return nil, fmt.Errorf("madvise: %w", err)
	}
	return mem, nil
}

// close lets go of everything; what fails is of no consequence to the result.
func (t *target) close() {
	for _, c := range t.closers {
		_ = c()
	}
}

// result adds the workers' accounts up.
func (t *target) result(workers []*worker) *Result {
	r := &Result{
		Kind: t.spec.Kind, Path: t.spec.Path, Args: t.spec.Args(), PID: os.Getpid(), Threads: len(workers),
		ResidentBefore: -1, DistinctResident: -1,
	}
	lat, sides := latencies(), [2]direction{{lat: latencies()}, {lat: latencies()}}
	seen := newBitmap((t.size + pageSize - 1) / pageSize)
	for _, w := range workers {
		r.Calls += int64(w.lat.N())
		r.Bytes += w.bytes
		r.Errors += w.errors
		if !t.kind.direct && t.spec.Path != "" {
			r.Accesses += w.reads.accesses
			r.AccessesDedup += w.reads.dedup
			r.WriteAccesses += w.writes.accesses
		}
		seen.or(w.reads.seen)
		seen.or(w.writes.seen)
		lat.Merge(&w.lat)
		if w.sides != nil {
			for i := range sides {
				sides[i].lat.Merge(&w.sides[i].lat)
				sides[i].bytes += w.sides[i].bytes
			}
		}
		r.MinorFaults += w.usage[1].Minflt - w.usage[0].Minflt
		r.MajorFaults += w.usage[1].Majflt - w.usage[0].Majflt
		r.InBlock += w.usage[1].Inblock - w.usage[0].Inblock
		r.OutBlock += w.usage[1].Oublock - w.usage[0].Oublock
	}
	r.formerResult = formerResult{Visits: r.Accesses, VisitsDedup: r.AccessesDedup, WriteVisits: r.WriteAccesses}
	r.Distinct = seen.count()
	if t.resident != nil {
		r.ResidentBefore, r.DistinctResident = t.resident.count(), countBoth(t.resident, seen)
	}
	r.P50, r.P90 = lat.Quantile(0.5).Seconds(), lat.Quantile(0.9).Seconds()
	r.P99, r.Max = lat.Quantile(0.99).Seconds(), lat.Most().Seconds()
	if t.kind.mixed {
		r.Reads, r.Writes = newSide(&sides[0]), newSide(&sides[1])
	}
	return r
}
