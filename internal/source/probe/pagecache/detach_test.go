package pagecache

import (
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"iocause/internal/bpf"
	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/lab/load"
	"iocause/internal/sample"
)

// detachments is how many programs TestTakenOffUnderLoad takes off functions of
// the kernel, unless IOCAUSE_DETACHMENTS asks for more.
const detachments = 6

// busy uses a file in all ways that programs at functions look at, in threads that
// mostly sleep within these functions, until it is told to stop.
func busy(t *testing.T, path string, pages int64, stop *atomic.Bool) *sync.WaitGroup {
	t.Helper()
	var all sync.WaitGroup
	use := func(flags int, f func(fd int, at int64) error) {
		fd, err := unix.Open(path, unix.O_RDONLY|flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer unix.Close(fd)
			for !stop.Load() {
				if err := f(fd, rand.Int64N(pages)*int64(pageBytes)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	cold := func(fd int, at int64) error {
		if _, err := unix.Pread(fd, make([]byte, pageBytes), at); err != nil {
			return err
		}
		return unix.Fadvise(fd, at, int64(pageBytes), unix.FADV_DONTNEED)
	}
	fault := func(fd int, at int64) error {
		b, err := unix.Mmap(fd, at, pageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
		if err != nil {
			return err
		}
		b[0]++
		return errors.Join(unix.Munmap(b), unix.Fadvise(fd, at, int64(pageBytes), unix.FADV_DONTNEED))
	}
	past := bpftest.Aligned(t, pageBytes)
	for range 3 {
		use(0, cold)
		use(0, fault)
	}
	use(unix.O_DIRECT, func(fd int, at int64) error { _, err := unix.Pread(fd, past, at); return err })
	return &all
}

// atFunctions are the programs of a probe that the kernel calls at functions. They
// stay loaded when the probe is closed.
func atFunctions(t *testing.T, p *Probe) map[*ebpf.Program]ebpf.AttachType {
	t.Helper()
	const most = 15 // bytes of a name that the kernel keeps
	kinds := map[string]ebpf.AttachType{}
	for _, c := range append(reading(), passing()) {
		for _, w := range c.Ways {
			for i := range w.Programs {
				hook := w.Programs[i].Hook()
				if !slices.ContainsFunc(p.Ways(), func(w sample.Way) bool { return slices.Contains(w.Hooks, hook) }) {
					continue
				}
				name := w.Programs[i].Name
				switch name = name[:min(len(name), most)]; {
				case w.Programs[i].Entry != "":
					kinds[name] = ebpf.AttachTraceFEntry
				case w.Programs[i].Exit != "":
					kinds[name] = ebpf.AttachTraceFExit
				}
			}
		}
	}
	all := map[*ebpf.Program]ebpf.AttachType{}
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if errors.Is(err, os.ErrNotExist) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		id = next
		program, err := ebpf.NewProgramFromID(id)
		if err != nil {
			continue // unloaded meanwhile
		}
		info, err := program.Info()
		if err != nil {
			t.Fatal(err)
		}
		kind, ok := kinds[info.Name]
		if program.Type() != ebpf.Tracing || !ok {
			program.Close()
			continue
		}
		all[program] = kind
		t.Cleanup(func() { program.Close() })
	}
}

// attachesAgain skips a test on kernels that attach a program only once.
func attachesAgain(t *testing.T, programs map[*ebpf.Program]ebpf.AttachType) {
	t.Helper()
	for program, kind := range programs {
		l, err := link.AttachTracing(link.TracingOptions{Program: program, AttachType: kind})
		if err != nil {
			t.Skipf("this kernel attaches a program only once, before f3a95075549e (5.13): %v", err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// takeOffTracepoints is the same where all is counted at tracepoints.
func takeOffTracepoints(t *testing.T, path string, pages int64, want int) {
	t.Helper()
	source, err := Open(host.Live())
	if err != nil {
		t.Fatal(err)
	}
	p := source.(*Probe)
	var stop atomic.Bool
	users := busy(t, path, pages, &stop)
	for taken := 0; taken < want; {
		for _, name := range p.probe.Hooked() {
			if err := errors.Join(p.probe.Detach(name), p.probe.Attach(name)); err != nil {
				t.Fatal(err)
			}
			if taken++; taken%100 == 0 {
				t.Logf("%d programs taken off tracepoints", taken)
			}
		}
	}
	stop.Store(true)
	users.Wait()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range against(t, load.Spec{Kind: "read", BlockSize: 4096, Path: path}, float64(pages)) {
		t.Error(wrong)
	}
}

// To take a program off a function the kernel patches that function while others
// are in it, and frees the way back that they will take. Nothing comes of that, and
// what is counted afterwards is right: when the probe is opened it counts a known
// read.
func TestTakenOffUnderLoad(t *testing.T) {
	bpftest.ComparesFigures(t)
	want := detachments
	if text := os.Getenv("IOCAUSE_DETACHMENTS"); text != "" {
		var err error
		if want, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	source, err := Open(host.Live())
	bpftest.Need(t, "bpf", err)
	p := source.(*Probe)
	programs := atFunctions(t, p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	const pages = 5003
	path := fileOf(t, pages)
	if len(programs) == 0 {
		takeOffTracepoints(t, path, pages, want)
		return
	}
	attachesAgain(t, programs)
	var stop atomic.Bool
	users := busy(t, path, pages, &stop)
	defer users.Wait()
	defer stop.Store(true)
	round := func() {
		for program, kind := range programs {
			l, err := link.AttachTracing(link.TracingOptions{Program: program, AttachType: kind})
			if err != nil {
				t.Fatalf("attaching %v: %v", program, err)
			}
			defer func() {
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}()
		}
	}
	for taken := 0; taken < want; {
		round()
		before := taken
		if taken += len(programs); taken/100 != before/100 {
			t.Logf("%d programs taken off functions", taken)
		}
	}
	stop.Store(true)
	users.Wait()
	again, err := Open(host.Live())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for _, w := range again.(*Probe).Ways() {
		if w.What == reads && w.By != bpf.ByTracepoint && w.Proof != "counted 4 pages read by 3 calls" {
			t.Errorf("%+v", w)
		}
	}
}
