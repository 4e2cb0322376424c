package pagecache

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/sample"
)

// clocked is what a program's own clock and the kernel say of its calls.
type clocked struct {
	Calls sample.Histogram // ns, each from its begin to its end
	Slept time.Duration    // of the thread, in all
}

// timedCalls makes count calls of a kind, and leaves behind what they took.
func timedCalls(path, kind string, count int) error {
	flags := unix.O_RDWR
	switch kind {
	case "dsync":
		flags |= unix.O_DSYNC
	case "direct":
		flags |= unix.O_DIRECT
	}
	fd, err := unix.Open(path, flags, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	buf, err := unix.Mmap(-1, 0, pageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	page, err := unix.Mmap(fd, 0, pageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	var c clocked
	// raw, so that it waits for nothing of Go's in between
	call := func(nr, a, b, c, d uintptr) error {
		if _, _, errno := unix.RawSyscall6(nr, a, b, c, d, 0, 0); errno != 0 {
			return errno
		}
		return nil
	}
	data, size, file := uintptr(unsafe.Pointer(&buf[0])), uintptr(pageBytes), uintptr(fd)
	s, err := asleep(func() error {
		for i := range count {
			at, err := uintptr(i)*size, error(nil)
			if kind == "fsync" || kind == "fdatasync" {
				err = call(unix.SYS_PWRITE64, file, data, size, at)
			}
			if kind == "msync" {
				page[0]++
			}
			began := time.Now()
			switch kind {
			case "fsync":
				err = errors.Join(err, call(unix.SYS_FSYNC, file, 0, 0, 0))
			case "fdatasync":
				err = errors.Join(err, call(unix.SYS_FDATASYNC, file, 0, 0, 0))
			case "msync":
				err = call(unix.SYS_MSYNC, uintptr(unsafe.Pointer(&page[0])), size, unix.MS_SYNC, 0)
			case "dsync":
				err = call(unix.SYS_PWRITE64, file, data, size, at)
			case "direct":
				err = call(unix.SYS_PREAD64, file, data, size, at)
			}
			c.Calls.Add(uint64(time.Since(began)))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.Slept = time.Duration(s.slept() * 1e9)
	b, err := json.Marshal(&c)
	return errors.Join(err, os.WriteFile(path+".truth", b, 0o600))
}

// Each call that waited is counted once, whatever it waited for and how often, with the
// time that it took: no more than by the program's own clock, which counts what it
// computes before the first wait, too, and no less than the thread slept.
func TestTimedCalls(t *testing.T) {
	bpftest.ComparesFigures(t)
	const count = 211
	path := fileOf(t, count+1)
	for kind, class := range map[string]string{"fsync": sample.ClassSync, "fdatasync": sample.ClassSync, "msync": sample.ClassSync, "dsync": sample.ClassSync, "direct": sample.ClassRead} {
		stolen := bpftest.Stolen(t)
		f := observe(t, path, fmt.Sprintf("timed %s %s %d", path, kind, count))
		stolen = bpftest.Stolen(t) - stolen
		var own clocked
		b, err := os.ReadFile(path + ".truth")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &own); err != nil {
			t.Fatal(err)
		}
		h := f.window.Histogram(sample.HistCalls, sample.Entity{PID: f.pid, Class: class})
		if h == nil {
			t.Errorf("%s: nothing was timed", kind)
			continue
		}
		t.Logf("%s: %d in %.1f ms, %.0f and %.0f µs; by its own clock %.1f ms, %.0f and %.0f µs; slept %s, stolen %s", kind, h.N(), h.Sum/1e6,
			h.Quantile(0.5)/1e3, h.Quantile(0.99)/1e3, own.Calls.Sum/1e6, own.Calls.Quantile(0.5)/1e3, own.Calls.Quantile(0.99)/1e3, own.Slept, stolen)
		other := sample.ClassRead
		if class == other {
			other = sample.ClassSync
		}
		if o := f.window.Histogram(sample.HistCalls, sample.Entity{PID: f.pid, Class: other}); o != nil && o.N() > 2 { // of the loader
			t.Errorf("%s: %d are a %s", kind, o.N(), other)
		}
		if n := h.N(); n < count || n > count+2 { // the program is read, too
			t.Errorf("%s: %d calls were timed, want %d", kind, n, count)
		}
		if least := float64(own.Slept) - float64(stolen) - count*20e3; h.Sum > own.Calls.Sum*1.02+2e6 || h.Sum < least {
			t.Errorf("%s: %.1f ms in all, want from %.1f to %.1f", kind, h.Sum/1e6, least/1e6, own.Calls.Sum/1e6)
		}
		for _, q := range []float64{0.5, 0.99} {
			if got, want := sample.Bucket(uint64(h.Quantile(q))), sample.Bucket(uint64(own.Calls.Quantile(q))); got > want || got < want-1 {
				t.Errorf("%s: quantile %g is %.0f µs, by its own clock %.0f", kind, q, h.Quantile(q)/1e3, own.Calls.Quantile(q)/1e3)
			}
		}
	}
}

// A thread syncs what another one writes, and does nothing else: its account does not
// tell one sync from the next, what it waits for does.
func TestSyncsOfWhatOthersWrite(t *testing.T) {
	bpftest.ComparesFigures(t)
	const count = 211
	path := fileOf(t, count+1)
	f := observe(t, path, fmt.Sprintf("flusher %s %d", path, count))
	h := f.window.Histogram(sample.HistCalls, sample.Entity{PID: f.pid, Class: sample.ClassSync})
	if h == nil {
		t.Fatal("nothing was timed")
	}
	t.Logf("%d of %d", h.N(), count)
	if n := h.N(); n > count || n < count/2 {
		t.Errorf("%d syncs were timed, of %d", n, count)
	}
}

// flusher syncs a file count times while another thread writes to it all the time.
func flusher(path string, count int) error {
	fd, err := unix.Open(path, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var done atomic.Bool
	failed := make(chan error)
	go func() {
		b := make([]byte, pageBytes)
		for i := 0; !done.Load(); i++ {
			if _, err := unix.Pwrite(fd, b, int64(i%count*pageBytes)); err != nil {
				failed <- err
				return
			}
		}
		failed <- nil
	}()
	for range count {
		if _, _, errno := unix.RawSyscall(unix.SYS_FDATASYNC, uintptr(fd), 0, 0); errno != 0 {
			return errno
		}
	}
	done.Store(true)
	return <-failed
}
