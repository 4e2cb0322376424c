package blockio

import (
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// BenchmarkRequests tells what the programs cost a request, as the kernel measures its
// programs, what measuring takes included: direct reads of 4 KiB at random from a loop
// device over memory, 32 in flight, whose completions are on the worker's processor.
func BenchmarkRequests(b *testing.B) {
	s, err := open(host.Live(), func() bool { return false })
	if err != nil {
		bpftest.Need(b, "bpf", err)
	}
	defer s.Close()
	q := queueOf(b, loop(b, 256<<20), 32)
	r := sample.NewRecorder(time.Now())
	bpftest.Collect(b, s, sample.First, r)
	q.read(b, 1000)
	bpftest.Collect(b, s, sample.Tick, r) // what is needed until requests have been seen goes
	measured(b, func() {
		for b.Loop() {
			q.read(b, 10000)
		}
	})
}

// loop makes a disk of a file in memory.
func loop(b *testing.B, bytes int64) *os.File {
	b.Helper()
	image := filepath.Join("/dev/shm", "iocause-bench-"+filepath.Base(b.TempDir()))
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.Remove(image) })
	if err := os.Truncate(image, bytes); err != nil {
		b.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", "--direct-io=off", image).Output()
	if err != nil {
		bpftest.Need(b, "loop", err)
	}
	name := strings.TrimSpace(string(out))
	b.Cleanup(func() {
		if err := exec.Command("losetup", "-d", name).Run(); err != nil {
			b.Error(err)
		}
	})
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	return f
}

// iocb is struct iocb of linux/aio_abi.h for a read: its key, flags, opcode and priority
// are 0.
type iocb struct {
	data       uint64
	_, _       uint32
	_, _       uint16
	fd         uint32
	buf, bytes uint64
	offset     int64
	_          uint64
	_, _       uint32
}

type aioEvent struct {
	data, object uint64
	result, _    int64
}

// queue keeps so many reads of a disk in flight.
type queue struct {
	context uintptr
	blocks  int64
	reads   []iocb
	events  []aioEvent
	from    *rand.Rand
}

func queueOf(b *testing.B, disk *os.File, depth int) *queue {
	b.Helper()
	blocks, err := unix.IoctlGetInt(int(disk.Fd()), unix.BLKGETSIZE64)
	if err != nil {
		b.Fatal(err)
	}
	buf, err := unix.Mmap(-1, 0, depth*4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_POPULATE)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { unix.Munmap(buf) })
	q := &queue{blocks: int64(blocks) / 4096, events: make([]aioEvent, depth), from: rand.New(rand.NewSource(1))}
	for i := range depth {
		q.reads = append(q.reads, iocb{
			data: uint64(i), fd: uint32(disk.Fd()), bytes: 4096,
			buf: uint64(uintptr(unsafe.Pointer(&buf[i*4096]))),
		})
	}
	if _, _, e := unix.Syscall(unix.SYS_IO_SETUP, uintptr(depth), uintptr(unsafe.Pointer(&q.context)), 0); e != 0 {
		b.Fatal(e)
	}
	b.Cleanup(func() { unix.Syscall(unix.SYS_IO_DESTROY, q.context, 0, 0) })
	return q
}

// read reads n blocks.
func (q *queue) read(b *testing.B, n int) {
	b.Helper()
	submit := func(i int) {
		r := &q.reads[i]
		r.offset = q.from.Int63n(q.blocks) * 4096
		if _, _, e := unix.Syscall(unix.SYS_IO_SUBMIT, q.context, 1, uintptr(unsafe.Pointer(&r))); e != 0 {
			b.Fatal(e)
		}
	}
	sent := min(n, len(q.reads))
	for i := range sent {
		submit(i)
	}
	for done := 0; done < n; {
		got, _, e := unix.Syscall6(unix.SYS_IO_GETEVENTS, q.context, 1, uintptr(len(q.events)), uintptr(unsafe.Pointer(&q.events[0])), 0, 0)
		if e == unix.EINTR {
			continue
		}
		if e != 0 {
			b.Fatal(e)
		}
		for _, event := range q.events[:int(got)] {
			if event.result != 4096 {
				b.Fatalf("read %d bytes", event.result)
			}
			done++
			if sent < n {
				submit(int(event.data))
				sent++
			}
		}
	}
}
