package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/procfile"
)

// eat takes memory and keeps it until ctx ends. With Leave it takes what is
// available but for that, and gives back when others need more: it is there
// to make memory scarce for the page cache, not for programs.
func eat(ctx context.Context, spec *Spec, started func()) (*Result, error) {
	start := time.Now()
	if spec.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, spec.Duration)
		defer cancel()
	}
	r := &Result{Kind: spec.Kind, Args: spec.Args(), PID: os.Getpid(), Threads: 1, ResidentBefore: -1, DistinctResident: -1}
	var chunks [][]byte
	file := -1 // of tmpfs
	if spec.Tmpfs {
		var err error
		if file, err = newTmpfsFile(); err != nil {
			return nil, err
		}
		defer unix.Close(file) // the process ends next
	}
	defer func() {
		for _, c := range chunks {
			_ = unix.Munmap(c) // the process ends next
		}
	}()
	want := func() (bool, error) {
		if spec.Leave == 0 {
			return r.Bytes < int64(spec.Size), nil
		}
		available, err := memAvailable()
		return available > int64(spec.Leave)+int64(spec.BlockSize), err
	}
	for ctx.Err() == nil {
		more, err := want()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		chunk, err := populate(file, r.Bytes, int(spec.BlockSize))
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, chunk)
		r.Calls++
		r.Bytes += int64(len(chunk))
	}
	r.Distinct = r.Bytes / pageSize
	started()
	for tick := time.NewTicker(50 * time.Millisecond); ctx.Err() == nil; {
		select {
		case <-ctx.Done():
			tick.Stop()
		case <-tick.C:
		}
		if spec.Leave == 0 {
			continue
		}
		available, err := memAvailable()
		if err != nil {
			return nil, err
		}
		for ; available < int64(spec.Leave)/2 && len(chunks) > 0; available += int64(spec.BlockSize) {
			last := chunks[len(chunks)-1]
			chunks = chunks[:len(chunks)-1]
			err := unix.Munmap(last)
			if err == nil && file >= 0 {
				err = unix.Ftruncate(file, int64(len(chunks))*int64(spec.BlockSize))
			}
			if err != nil {
				return nil, fmt.Errorf("give memory back: %w", err)
			}
		}
	}
	r.Seconds = time.Since(start).Seconds()
	return r, nil
}

// populate maps memory, of a file if there is one, and makes it real, in huge
// pages where there are any: that is several times faster.
func populate(file int, offset int64, size int) ([]byte, error) {
	flags := unix.MAP_PRIVATE | unix.MAP_ANON
	if file >= 0 {
		flags = unix.MAP_SHARED
		if err := unix.Ftruncate(file, offset+int64(size)); err != nil {
			return nil, fmt.Errorf("grow the file in tmpfs to %d bytes: %w", offset+int64(size), err)
		}
	} else {
		offset = 0
	}
	mem, err := unix.Mmap(file, offset, size, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes of memory: %w", size, err)
	}
	if err := unix.Madvise(mem, unix.MADV_HUGEPAGE); err != nil && !errors.Is(err, unix.EINVAL) {
		return nil, fmt.Errorf("madvise: %w", err)
	}
	for at := 0; at < len(mem); at += pageSize {
		mem[at] = 1
	}
	return mem, nil
}

// memAvailable is MemAvailable of /proc/meminfo in bytes.
func memAvailable() (int64, error) {
	m, err := procfile.ReadMeminfo(host.Live())
	if err == nil && m.Available == nil {
		err = errors.New("/proc/meminfo has no MemAvailable")
	}
	if err != nil {
		return 0, fmt.Errorf("read the available memory: %w", err)
	}
	return int64(*m.Available), nil
}
