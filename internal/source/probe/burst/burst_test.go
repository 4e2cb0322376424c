package burst

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/lab/labtest"
)

// watch runs f under the probe and returns what this process made, by
// millisecond, and the sums of all disks.
func watch(t *testing.T, f func()) (mine map[int64]Owner, all Owner, done uint64) {
	t.Helper()
	h := host.Live()
	h.Self = 0 // here it is this process that is looked at
	p, err := Open(h)
	bpftest.Need(t, "bpf", err)
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	mine = map[int64]Owner{}
	take := func(b *Bin) {
		all.Ops += b.Ops
		all.Bytes += b.Bytes
		done += b.Done
		for _, o := range b.Owners {
			if o.PID == os.Getpid() {
				sum := mine[b.MS]
				sum.Ops, sum.Bytes, sum.Comm = sum.Ops+o.Ops, sum.Bytes+o.Bytes, o.Comm
				mine[b.MS] = sum
			}
		}
	}
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				time.Sleep(3 * settle)
				_, err := p.Each(take)
				stopped <- err
				return
			case <-time.After(50 * time.Millisecond):
				if _, err := p.Each(take); err != nil {
					stopped <- err
					return
				}
			}
		}
	}()
	f()
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if l, err := p.Losses(); err != nil || l.LateReader != 0 {
		t.Errorf("losses %+v, %v", l, err)
	}
	return mine, all, done
}

func directReads(t *testing.T, path string, count int) {
	t.Helper()
	buf := bpftest.Aligned(t, 4096)
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for i := range count {
		if n, err := unix.Pread(fd, buf, int64(i)*16384); n != len(buf) || err != nil {
			t.Fatalf("read %d: %d bytes, %v", i, n, err)
		}
	}
}

func TestEveryRequestIsInItsMillisecond(t *testing.T) {
	const count = 1009 // prime
	path := bpftest.File(t, 4*count)
	var from, to int64
	mine, all, done := watch(t, func() {
		from, _ = milliseconds()
		directReads(t, path, count)
		to, _ = milliseconds()
	})
	var sum Owner
	for ms, o := range mine {
		if ms < from || ms > to {
			t.Errorf("%d requests in millisecond %d, read in %d to %d", o.Ops, ms, from, to)
		}
		if o.Comm == "" {
			t.Errorf("no name in millisecond %d", ms)
		}
		sum.Ops, sum.Bytes = sum.Ops+o.Ops, sum.Bytes+o.Bytes
	}
	if sum.Ops != count || sum.Bytes != count*4096 {
		t.Errorf("%d requests with %d bytes, want %d with %d", sum.Ops, sum.Bytes, count, count*4096)
	}
	if all.Ops < count || done < count*9/10 { // a host may hide some completions
		t.Errorf("%d requests by all, %d completed", all.Ops, done)
	}
}

// A request grows by the bios that join it: bytes are those of the file.
func TestMergedBiosAddTheirBytes(t *testing.T) {
	const pages = 997
	path := bpftest.File(t, pages)
	mine, _, _ := watch(t, func() {
		if _, err := os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	})
	var bytes uint64
	for _, o := range mine {
		bytes += o.Bytes
	}
	// reading its extents may take a page or two more
	if bytes < pages*4096 || bytes > (pages+16)*4096 {
		t.Errorf("%d bytes, want %d", bytes, pages*4096)
	}
}

// A write with flushes before and after it completes four times in the kernel's events, and
// a flush twice; each is done once.
func TestFlushesAroundWrites(t *testing.T) {
	disk, write := labtest.Synced(t)
	var kernel labtest.Writes
	_, all, done := watch(t, func() {
		before := labtest.WritesOf(t, disk)
		write(101)
		kernel = labtest.WritesOf(t, disk).Since(before)
	})
	t.Logf("%d requests, %d done; the kernel: %+v", all.Ops, done, kernel)
	if float64(all.Ops) < kernel.Ops {
		t.Errorf("%d requests, the kernel counts %g", all.Ops, kernel.Ops)
	}
	if done > all.Ops+2 || float64(done) < 0.98*float64(all.Ops) { // a few are under way at both ends
		t.Errorf("%d of %d requests are done", done, all.Ops)
	}
}
