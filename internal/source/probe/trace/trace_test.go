package trace

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// record runs f under the probe and returns the I/Os and what was lost. A
// host that hides completions gets another try.
func record(t *testing.T, o Options, f func()) ([]sample.IO, Losses) {
	t.Helper()
	for try := 1; ; try++ {
		ios, l := recordOnce(t, o, f)
		if l.Missed == 0 || try == 5 {
			return ios, l
		}
		t.Logf("try %d: this host hid %d completions", try, l.Missed)
	}
}

func recordOnce(t *testing.T, o Options, f func()) (ios []sample.IO, l Losses) {
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
	if len(ios) != count || l.Lost() != 0 {
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

func TestCachedReadsNameTheirFile(t *testing.T) {
	const pages = 997
	path := bpftest.File(t, pages)
	ios, l := record(t, Options{File: bpftest.ID(t, path)}, func() {
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
	if bytes != pages*4096 || l.Lost() != 0 {
		t.Errorf("%d bytes and %+v, want %d and nothing lost", bytes, l, pages*4096)
	}
}
