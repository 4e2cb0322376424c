package trace

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/lab/labtest"
	"iocause/internal/sample"
)

// record runs f under the probe, when it is prepared, and returns the I/Os and what was lost. A
// host that hides completions gets another try.
func record(t *testing.T, o Options, f func(), prepare ...func(*Probe)) ([]sample.IO, Losses) {
	t.Helper()
	for try := 1; ; try++ {
		unseen := bpftest.Hidden(t, 0) // a request both of whose ends are hidden is missed by nobody
		ios, l := recordOnce(t, o, f, prepare)
		hidden := unseen()
		if l.Missed+l.Passed == 0 && hidden == 0 || try == 5 {
			return ios, l
		}
		t.Logf("try %d: this host hid %g completions, %d events were noticed to be missing", try, hidden, l.Missed+l.Passed)
	}
}

func recordOnce(t *testing.T, o Options, f func(), prepare []func(*Probe)) (ios []sample.IO, l Losses) {
	t.Helper()
	h := host.Live()
	h.Self = 0 // here it is this process that is looked at
	p, _, err := Open(h, o)
	bpftest.Need(t, "bpf", err)
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, prepare := range prepare {
		prepare(p)
	}
	f()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := p.Each(func(io *sample.IO) error { ios = append(ios, *io); return nil }); err != nil {
		t.Fatal(err)
	}
	if l, err = p.Losses(); err != nil {
		t.Fatal(err)
	}
	return ios, l
}

func directReads(t *testing.T, path string, count, size, step int64) {
	t.Helper()
	buf := bpftest.Aligned(t, int(size))
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for i := range count {
		if n, err := unix.Pread(fd, buf, i*step); n != len(buf) || err != nil {
			t.Fatalf("reading at %d: %d bytes, %v", i*step, n, err)
		}
	}
}

func TestEveryDirectReadIsRecorded(t *testing.T) {
	const count = 1009 // prime
	path := bpftest.File(t, 4*count)
	began := time.Now()
	ios, l := record(t, Options{PID: os.Getpid()}, func() { directReads(t, path, count, 4096, 16384) })
	took := time.Since(began)
	if len(ios) != count || lost(l) != 0 {
		t.Fatalf("%d I/Os and %+v, want %d and nothing lost", len(ios), l, count)
	}
	var before time.Duration
	for i := range ios {
		io := &ios[i]
		switch {
		case io.Bytes != 4096 || io.Flags.Op() != "read" || io.Flags&sample.IODirect == 0 || io.Status != 0:
			t.Fatalf("I/O %d is %+v", i, io)
		case io.PID != os.Getpid() || io.Comm == "" || io.Disk == "":
			t.Fatalf("I/O %d is by %+v", i, io)
		case io.Queue < 0 || io.Device <= 0 || io.Start < before || io.End() > took:
			t.Fatalf("I/O %d, the one before done at %v, all after %v: %+v", i, before, took, io)
		case io.File != path:
			t.Fatalf("I/O %d is for %q, want %q", i, io.File, path)
		}
		before = io.End()
	}
}

// The buffer of direct I/O may be pages of another file, which is not the one
// that is read.
func TestDirectReadsIntoAMappedFile(t *testing.T) {
	const count = 101
	path, other := bpftest.File(t, count), bpftest.File(t, 1)
	mapped, err := os.OpenFile(other, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer mapped.Close()
	buf, err := unix.Mmap(int(mapped.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Munmap(buf); err != nil {
			t.Error(err)
		}
	}()
	buf[0] = 1 // its page is in the cache before anything is recorded
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	ios, l := record(t, Options{PID: os.Getpid()}, func() {
		for i := range int64(count) {
			if n, err := unix.Pread(fd, buf, i*4096); n != len(buf) || err != nil {
				t.Fatalf("reading at %d: %d bytes, %v", i*4096, n, err)
			}
		}
	})
	if len(ios) != count || lost(l) != 0 {
		t.Fatalf("%d I/Os and %+v, want %d and nothing lost", len(ios), l, count)
	}
	for i := range ios {
		if io := &ios[i]; io.File != path || io.Flags&sample.IODirect == 0 {
			t.Fatalf("I/O %d is %+v, want a direct read of %s", i, io, path)
		}
	}
}

func TestCachedReadsNameTheirFile(t *testing.T) {
	const pages = 997
	path := bpftest.File(t, pages)
	ios, l := record(t, Options{File: bpftest.ID(t, path)}, func() {
		bpftest.Drop(t, path) // which another try has read
		if _, err := os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	})
	var bytes uint64
	for _, io := range ios {
		if io.File != path {
			t.Errorf("%+v is not for %s", io, path)
		}
		bytes += io.Bytes
	}
	if bytes != pages*4096 || lost(l) != 0 {
		t.Errorf("%d bytes and %+v, want %d and nothing lost", bytes, l, pages*4096)
	}
}

// Every I/O is either handed over or counted as dropped.
func TestADropIsCounted(t *testing.T) {
	const count = 1009
	path := bpftest.File(t, 4*count)
	ios, l := record(t, Options{PID: os.Getpid(), Buffer: 4096}, func() { directReads(t, path, count, 4096, 16384) })
	if len(ios) == 0 || l.Dropped == 0 || uint64(len(ios))+lost(l) != count {
		t.Errorf("%d I/Os and %+v: together they are not %d", len(ios), l, count)
	}
}

func TestFilters(t *testing.T) {
	const count = 211
	path := bpftest.File(t, 4*count)
	load := func() { directReads(t, path, count, 4096, 16384) }
	all, _ := record(t, Options{PID: os.Getpid()}, load)
	if len(all) != count {
		t.Fatalf("%d I/Os without a filter, want %d", len(all), count)
	}
	devices, err := host.Live().Devices()
	if err != nil {
		t.Fatal(err)
	}
	disk, ok := devices.Number(all[0].Disk)
	if !ok {
		t.Fatalf("no disk is called %q", all[0].Disk)
	}
	for name, c := range map[string]struct {
		o    Options
		want int
	}{
		"comm":             {Options{PID: os.Getpid(), Comm: all[0].Comm}, count},
		"another comm":     {Options{PID: os.Getpid(), Comm: "x" + all[0].Comm[1:]}, 0},
		"disk":             {Options{PID: os.Getpid(), Device: disk}, count},
		"another disk":     {Options{PID: os.Getpid(), Device: disk + 1}, 0},
		"file":             {Options{File: bpftest.ID(t, path)}, count},
		"another file":     {Options{File: sample.FileID{Dev: 1, Ino: 1}, PID: os.Getpid()}, 0},
		"own output":       {Options{PID: os.Getpid(), Own: []sample.FileID{bpftest.ID(t, path)}}, 0},
		"another pid":      {Options{PID: os.Getpid() + 1}, 0},
		"slower than that": {Options{PID: os.Getpid(), Min: time.Hour}, 0},
	} {
		ios, l := record(t, c.o, load)
		if len(ios) != c.want || lost(l) != 0 {
			t.Errorf("%s: %d I/Os, want %d; %+v", name, len(ios), c.want, l)
		}
		if name == "own output" && l.Own != count || name == "slower than that" && l.BelowMin != count {
			t.Errorf("%s: %+v left out, want %d", name, l, count)
		}
	}
}

// The kernel's own account of the same interval: reads, writes and their
// bytes on a disk that nobody else uses.
func TestAgainstDiskstats(t *testing.T) {
	dev := labtest.LoopDevice(t, "/dev/shm")
	disk := filepath.Base(dev)
	number := numberOf(t, disk)
	const reads, writes = 1013, 503
	before := diskstats(t, disk)
	ios, l := record(t, Options{Device: number}, func() {
		before = diskstats(t, disk) // of the try that counts
		directReads(t, dev, reads, 4096, 8192)
		fd, err := unix.Open(dev, unix.O_WRONLY|unix.O_DIRECT, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		buf := bpftest.Aligned(t, 16384)
		for i := range int64(writes) {
			if _, err := unix.Pwrite(fd, buf, i*32768); err != nil {
				t.Fatal(err)
			}
		}
	})
	after := diskstats(t, disk)
	var got [4]uint64 // reads, sectors, writes, sectors
	for _, io := range ios {
		if io.File != dev {
			t.Errorf("an I/O is for %q, want %q", io.File, dev)
		}
		at := 0
		if io.Flags.Op() == "write" {
			at = 2
		}
		got[at]++
		got[at+1] += io.Bytes / 512
	}
	want := [4]uint64{after[0] - before[0], after[2] - before[2], after[4] - before[4], after[6] - before[6]}
	if l.Missed == 0 && got != want || want[0] != reads || want[2] != writes || l.Dropped != 0 {
		t.Errorf("reads, sectors, writes, sectors: %d, /proc/diskstats says %d; %+v", got, want, l)
	}
}

// diskstats are the counters of a disk in /proc/diskstats.
func diskstats(t *testing.T, disk string) []uint64 {
	t.Helper()
	b, err := os.ReadFile("/proc/diskstats")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 10 && f[2] == disk {
			var counters []uint64
			for _, s := range f[3:] {
				n, err := strconv.ParseUint(s, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				counters = append(counters, n)
			}
			return counters
		}
	}
	t.Fatalf("%s is not in /proc/diskstats", disk)
	return nil
}

// lost is how many records should be there and are not.
func lost(l Losses) uint64 { return l.Dropped + l.InFlight + l.Missed + l.Passed }
