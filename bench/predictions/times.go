package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// callTimes are how many read calls of a load took how long, in a file that the load
// and who measures it both map: 32 classes of each power of two of 16 ns.
type callTimes struct{ counts []uint64 }

const timeClasses = 32 * 40

// openTimes maps the file at a path, which it makes where it is missing.
func openTimes(path string) (*callTimes, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(timeClasses * 8); err != nil {
		return nil, err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, timeClasses*8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping %s: %w", path, err)
	}
	return &callTimes{unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), timeClasses)}, nil
}

// add counts a call.
func (t *callTimes) add(took time.Duration) {
	v := uint64(max(0, took) >> 4)
	class := v
	if v >= 32 {
		octave := uint64(bits.Len64(v) - 1)
		class = (octave-4)*32 + v>>(octave-5)&31
	}
	atomic.AddUint64(&t.counts[min(class, timeClasses-1)], 1)
}

// timeOf is where a class begins, in seconds.
func timeOf(class int) float64 {
	v := uint64(class)
	if class >= 32 {
		v = (32 + v%32) << (class/32 - 1)
	}
	return float64(v<<4) / 1e9
}

// readTimes are the counts in a file.
func readTimes(path string) ([]uint64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(b) != timeClasses*8 {
		return nil, errors.New(path + " has no times of calls")
	}
	counts := make([]uint64, timeClasses)
	for i := range counts {
		counts[i] = binary.NativeEndian.Uint64(b[8*i:])
	}
	return counts, nil
}

// quantile is that of the calls between two counts, in seconds; NaN without any.
func quantile(before, after []uint64, q float64) float64 {
	total := uint64(0)
	for i := range after {
		total += after[i] - before[i]
	}
	seen := 0.0
	for i := range after {
		n := float64(after[i] - before[i])
		if n > 0 && seen+n >= q*float64(total) {
			from, to := timeOf(i), timeOf(i+1)
			return from + (to-from)*(q*float64(total)-seen)/n
		}
		seen += n
	}
	return math.NaN()
}
