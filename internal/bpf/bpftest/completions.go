package bpftest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// Hidden counts the requests of so many bytes (0: of any) that complete from now on, and
// for whose completion the kernel runs no program.
func Hidden(t *testing.T, bytes int32) func() float64 {
	t.Helper()
	events, programs := Completions(t, bytes)
	return func() float64 {
		told := programs() // before the other: what completes meanwhile may count as hidden, nothing as told
		return float64(events()) - float64(told)
	}
}

// Completions counts requests of so many bytes (0: of any) from now on, in two ways: those whose
// completion the kernel counts itself (a perf event), and those for whose completion it
// runs a program of two lines. Some hosts hide completions from programs alone.
func Completions(t *testing.T, bytes int32) (events, programs func() uint64) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		Need(t, "bpf", err)
	}
	sum, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	must(err)
	t.Cleanup(func() { _ = sum.Close() })
	var others asm.Instructions
	if bytes != 0 {
		others = asm.Instructions{
			asm.LoadMem(asm.R2, asm.R1, 16, asm.DWord), // its third argument
			asm.JNE.Imm(asm.R2, bytes, "out"),
		}
	}
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.RawTracepoint, License: "GPL", Instructions: append(others,
		asm.LoadMapValue(asm.R1, sum.FD(), 0),
		asm.Mov.Imm(asm.R2, 1),
		asm.StoreXAdd(asm.R1, asm.R2, asm.DWord),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
	)})
	must(err)
	t.Cleanup(func() { _ = program.Close() })
	text, err := os.ReadFile(filepath.Join(tracefs(t), "events/block/block_rq_complete/id"))
	must(err)
	id, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	must(err)
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id}
	attr.Size = uint32(unsafe.Sizeof(attr))
	attr.Bits = unix.PerfBitDisabled // until it has its filter
	filter, err := unix.BytePtrFromString("nr_sector==" + strconv.Itoa(int(bytes)/512))
	must(err)
	cpus, err := os.ReadDir("/sys/bus/cpu/devices")
	must(err)
	var counters []int
	for _, cpu := range cpus {
		n, err := strconv.Atoi(strings.TrimPrefix(cpu.Name(), "cpu"))
		must(err)
		fd, err := unix.PerfEventOpen(&attr, -1, n, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err == unix.ENODEV { // it is offline
			continue
		}
		must(err)
		t.Cleanup(func() { _ = unix.Close(fd) })
		counters = append(counters, fd)
		if bytes != 0 {
			if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_SET_FILTER, uintptr(unsafe.Pointer(filter))); errno != 0 {
				must(errno)
			}
		}
		must(unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0))
	}
	// After the counters: what completes meanwhile may count as hidden, nothing as told.
	attached, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: "block_rq_complete", Program: program})
	must(err)
	t.Cleanup(func() { _ = attached.Close() })
	events = func() uint64 {
		total := uint64(0)
		for _, fd := range counters {
			var n uint64
			_, err := unix.Read(fd, unsafe.Slice((*byte)(unsafe.Pointer(&n)), 8))
			must(err)
			total += n
		}
		return total
	}
	programs = func() uint64 {
		var n uint64
		must(sum.Lookup(uint32(0), &n))
		return n
	}
	return events, programs
}

// tracefs is where tracefs is mounted, or a mount that is in no folder until the test ends.
func tracefs(t *testing.T) string {
	t.Helper()
	const usual = "/sys/kernel/tracing"
	if _, err := os.Stat(usual + "/events"); err == nil {
		return usual
	}
	opened, err := unix.Fsopen("tracefs", unix.FSOPEN_CLOEXEC)
	Need(t, "bpf", err)
	defer unix.Close(opened)
	Need(t, "bpf", unix.FsconfigCreate(opened))
	mounted, err := unix.Fsmount(opened, unix.FSMOUNT_CLOEXEC, 0)
	Need(t, "bpf", err)
	t.Cleanup(func() { _ = unix.Close(mounted) })
	return "/proc/self/fd/" + strconv.Itoa(mounted)
}
