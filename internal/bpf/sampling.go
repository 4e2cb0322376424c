package bpf

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
)

// perfEvents are open perf events; each is a link of its probe.
type perfEvents []int

// Close ends the sampling.
func (p perfEvents) Close() error {
	var errs []error
	for _, fd := range p {
		errs = append(errs, unix.Close(fd))
	}
	return errors.Join(errs...)
}

// Sample runs a program (SEC "perf_event") hz times a second on every
// processor that is not idle: perf_event_open(2). It samples the processor's
// own cycle counter, which also sees code that runs with interrupts off; where
// there is none, as in most virtual machines, the kernel's CPU clock. It tells
// which one it was.
func (p *Probe) Sample(program string, hz int) (event string, err error) {
	prog := p.collection.Programs[program]
	if prog == nil {
		return "", fmt.Errorf("sampling: the object has no program %s", program)
	}
	cpus, err := onlineCPUs()
	if err != nil {
		return "", err
	}
	attr := unix.PerfEventAttr{
		Type:   unix.PERF_TYPE_HARDWARE,
		Config: unix.PERF_COUNT_HW_CPU_CYCLES,
		Sample: uint64(hz),
		Bits:   unix.PerfBitFreq | unix.PerfBitDisabled,
	}
	attr.Size = uint32(unsafe.Sizeof(attr))
	event = "cycles"
	events, err := openPerf(&attr, cpus)
	if err != nil {
		attr.Type, attr.Config, event = unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CPU_CLOCK, "cpu-clock"
		events, err = openPerf(&attr, cpus)
	}
	if err != nil {
		return "", explain("opening a perf event", err)
	}
	for _, fd := range events {
		err = unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_BPF, prog.FD())
		if err == nil {
			err = unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0)
		}
		if err != nil {
			return "", errors.Join(explain("attaching to a perf event", err), events.Close())
		}
	}
	p.closers = append(p.closers, events)
	p.programs = append(p.programs, program)
	return event, nil
}

// openPerf opens the event on every processor. One that went offline meanwhile
// is left out.
func openPerf(attr *unix.PerfEventAttr, cpus []int) (perfEvents, error) {
	var events perfEvents
	for _, cpu := range cpus {
		fd, err := unix.PerfEventOpen(attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if errors.Is(err, unix.ENODEV) {
			continue
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("on processor %d: %w", cpu, err), events.Close())
		}
		events = append(events, fd)
	}
	if len(events) == 0 {
		return nil, fmt.Errorf("on %d processors: %w", len(cpus), unix.ENODEV)
	}
	return events, nil
}

// onlineCPUs are the numbers in /sys/devices/system/cpu/online ("0-3,8").
func onlineCPUs() ([]int, error) {
	const file = "/sys/devices/system/cpu/online"
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("looking for processors: %w", err)
	}
	cpus, err := host.ParseCPUs(string(text))
	if err != nil {
		return nil, fmt.Errorf("looking for processors in %s: %w", file, err)
	}
	return cpus, nil
}

// Online is how many processors are in use.
func Online() (int, error) {
	cpus, err := onlineCPUs()
	return len(cpus), err
}
