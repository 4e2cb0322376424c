package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const pageSize = 4096

// runLoad reads pages of a file in a pattern until it is killed. It waits for a
// line on its standard input first.
func runLoad(args []string) error {
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	path := f.String("file", "", "")
	kind := f.String("pattern", "uniform", "uniform, zipf, loop, mix (zipf, and a loop behind it), shift (uniform of a part that moves on)")
	pages := f.Int("pages", 0, "that the pattern has")
	first := f.Int("first", 0, "page of the file that they begin at")
	mapped := f.Bool("mapped", false, "touch them in a mapping of the file instead of reading them")
	hot := f.Int("hot", 0, "pages that shift reads at a time")
	step := f.Int("step", 0, "reads of a thread after which shift moves on by a page")
	jump := f.Int("every-seconds", 0, "time after which shift moves on to other pages")
	skew := f.Float64("skew", 0.9, "of zipf")
	scan := f.Int("scan", 0, "pages of the loop of mix, behind the others")
	share := f.Int("every", 4, "each so many reads are of the loop, in mix")
	threads := f.Int("threads", 4, "")
	request := f.Int("request", 1, "pages of a read")
	direct := f.Bool("direct", false, "read past the cache")
	ahead := f.Bool("read-ahead", false, "leave the kernel's read-ahead on")
	count := f.Int("count", 0, "reads of each thread; 0: until it is killed")
	times := f.String("times", "", "file to count the times of calls in")
	if err := f.Parse(args); err != nil {
		return err
	}
	var took *callTimes
	if *times != "" {
		var err error
		if took, err = openTimes(*times); err != nil {
			return err
		}
	}
	how := os.O_RDONLY
	if *direct {
		how |= unix.O_DIRECT
	}
	file, err := os.OpenFile(*path, how, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	fd := int(file.Fd())
	if !*ahead {
		if err := unix.Fadvise(fd, 0, 0, unix.FADV_RANDOM); err != nil {
			return err
		}
	}
	units := *pages / *request
	var table []float64
	if *kind == "zipf" || *kind == "mix" {
		table = sums(units, *skew)
	}
	var memory []byte
	if *mapped {
		if memory, err = unix.Mmap(fd, int64(*first)*pageSize, *pages*pageSize, unix.PROT_READ, unix.MAP_SHARED); err != nil {
			return err
		}
		if err := unix.Madvise(memory, unix.MADV_RANDOM); err != nil {
			return err
		}
	}
	// A thread that comes back from a call shall never have to wait for Go's scheduler:
	// that is no time of the call.
	runtime.GOMAXPROCS(*threads + 1)
	began := time.Now()
	at := rand.New(rand.NewPCG(1, 2)).Perm(units)
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		return err
	}
	var wait sync.WaitGroup
	errs := make(chan error, *threads)
	var sum atomic.Uint64 // so that reads of a mapping are not left out
	for t := range *threads {
		wait.Go(func() {
			runtime.LockOSThread()
			r := rand.New(rand.NewPCG(uint64(t)+10, 3))
			buf := make([]byte, (*request+1)*pageSize)
			buf = buf[pageSize-int(uintptr(unsafe.Pointer(&buf[0]))%pageSize):][:*request*pageSize] // aligned, for direct reads
			part := units / *threads
			loopPart := *scan / *request / *threads
			for i := 0; *count == 0 || i < *count; i++ {
				var unit int
				switch *kind {
				case "uniform":
					unit = r.IntN(units)
				case "zipf":
					unit = at[find(table, r.Float64())]
				case "loop":
					unit = t*part + i%part
				case "mix":
					if i%*share == 0 {
						unit = units + t*loopPart + i / *share % loopPart
					} else {
						unit = at[find(table, r.Float64())]
					}
				case "shift":
					from := 0
					if *step > 0 {
						from = i / *step
					}
					if *jump > 0 {
						from += int(time.Since(began).Seconds()) / *jump * *hot
					}
					unit = (from + r.IntN(*hot)) % units
				}
				if *mapped {
					sum.Add(uint64(memory[unit**request*pageSize]))
					if i%8 == 0 {
						time.Sleep(100 * time.Microsecond) // else it does nothing but touch
					}
					continue
				}
				called := time.Now()
				if n, err := pread(fd, buf, (int64(*first)+int64(unit)*int64(*request))*pageSize); err != nil || n < len(buf) {
					errs <- fmt.Errorf("reading: %d bytes, %w", n, err)
					return
				}
				if took != nil {
					took.add(time.Since(called))
				}
			}
		})
	}
	wait.Wait()
	close(errs)
	return <-errs
}

// pread is pread(2) without a word to Go's scheduler.
func pread(fd int, buf []byte, at int64) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), uintptr(at), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// sums are those of the probabilities of zipf's law.
func sums(n int, s float64) []float64 {
	out := make([]float64, n)
	total := 0.0
	for i := range out {
		total += math.Pow(float64(i+1), -s)
		out[i] = total
	}
	for i := range out {
		out[i] /= total
	}
	return out
}

func find(sums []float64, x float64) int {
	low, high := 0, len(sums)-1
	for low < high {
		if mid := (low + high) / 2; sums[mid] < x {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}
