// Package load is a load generator that keeps an exact account of what it
// did, so that what an observer reports can be compared with the truth.
// All input and output goes through raw system calls or page faults of
// threads that do nothing else.
package load

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"iocause/internal/ask"
)

// Kind names what a load does.
type Kind string

// Order says which part of the file or memory the next call takes.
type Order string

// The orders.
const (
	Sequential Order = "sequential" // from the first byte to the last, once per pass
	Random     Order = "random"     // any block, with repetitions
	Once       Order = "once"       // every block once per pass, in random order
	Unaligned  Order = "unaligned"  // any byte offset, with repetitions
	Clustered  Order = "clustered"  // a random page, then a run of calls behind it
	Zipf       Order = "zipf"       // any block, some far more often than others
)

// Size is a number of bytes, as people write it.
type Size = ask.Size

// ErrSpec is wrapped by every complaint about a Spec.
var ErrSpec = errors.New("load specification")

// Spec says what to do. The zero value of every field but Kind is its default.
type Spec struct {
	Kind        Kind
	Path        string        // file or block device
	To          string        // copy_file_range: target, Path + ".copy" by default
	Size        Size          // region used; also the size of a file that does not exist yet
	BlockSize   Size          // bytes a call
	Count       int64         // calls, all threads together; 0: no limit
	Duration    time.Duration // 0: no limit
	Delay       time.Duration // before the first call, when all is prepared
	Passes      int           // over the region, by every thread; 0: one, or no limit with Count or Duration
	Threads     int
	ThreadsFrom int           // with Ramp: threads at the lowest point
	Ramp        time.Duration // time from ThreadsFrom to Threads, and back again
	Rate        float64       // calls a second, all threads together; 0: no limit
	Burst       int64         // with Rate: calls that come together, of all threads; 0: they come evenly
	Depth       int           // io_uring: requests of a thread under way at a time
	Direct      bool          // past the page cache (O_DIRECT)
	Writes      int           // mixed: of a hundred calls so many write
	Keep        bool          // go on after EIO, and count it
	Seed        uint64
	Order       Order
	Advice      string  // "", "random" or "sequential": posix_fadvise, or madvise for mapped files
	Run         int     // clustered: calls in a row
	Zipf        float64 // zipf: the exponent
	SyncEvery   int64   // fsync after so many writes of a thread; 0: never
	Truncate    bool    // write: empty the file before each pass, as dd does
	Think       time.Duration
	Drop        bool          // drop the file from the page cache first
	Warm        bool          // read all of the region into the page cache first
	Leave       Size          // eat: memory to leave available on the host
	Tmpfs       bool          // eat: pages of a file in tmpfs
	Window      time.Duration // account for every stretch of this length too; 0: not
	Tell        int           // file descriptor that progress is told to, a line of bytes done ten times a second; 0: none
	Comm        string
	Nice        int
	Idle        bool // the scheduling policy SCHED_IDLE: gives way to any other thread at once
	OOMScoreAdj int
}

// Bind makes every field but Kind a flag of flags. The same names are used
// on the command line and in scenario files.
func (s *Spec) Bind(flags *flag.FlagSet) {
	flags.StringVar(&s.Path, "path", "", "`file` or block device to use; created with --size if it does not exist")
	flags.StringVar(&s.To, "to", "", "copy_file_range: the `file` to copy to (default: path with .copy)")
	flags.Var(&s.Size, "size", "`size` of the region used from the start of the file (default: all of it)")
	flags.Var(&s.BlockSize, "bs", "`size` of each call in bytes (default depends on the kind)")
	flags.Int64Var(&s.Count, "count", 0, "stop after `N` calls, all threads together")
	flags.DurationVar(&s.Duration, "duration", 0, "stop after this time")
	flags.DurationVar(&s.Delay, "delay", 0, "wait this long before the first call")
	flags.IntVar(&s.Passes, "passes", 0, "stop after `N` passes over the region by each thread (default: 1 for orders that end, without --count and --duration)")
	flags.IntVar(&s.Threads, "threads", 1, "`N` threads, each with its own open file")
	flags.IntVar(&s.ThreadsFrom, "threads-from", 1, "with --ramp: `N` threads at the lowest point")
	flags.DurationVar(&s.Ramp, "ramp", 0, "ramp from --threads-from to --threads in this time and back, repeatedly")
	flags.Float64Var(&s.Rate, "rate", 0, "at most `N` calls a second, all threads together")
	flags.Int64Var(&s.Burst, "burst", 0, "with --rate: calls come `N` at a time, and then a pause")
	flags.IntVar(&s.Depth, "depth", 16, "io_uring: `N` requests in flight for each thread")
	flags.BoolVar(&s.Direct, "direct", false, "bypass the page cache (O_DIRECT)")
	flags.IntVar(&s.Writes, "writes", 30, "mixed: `N` of a hundred calls write")
	flags.BoolVar(&s.Keep, "keep-on", false, "continue after an input/output error (EIO), and count it")
	flags.Uint64Var(&s.Seed, "seed", 1, "seed `N` of the random numbers")
	flags.Func("order", "`order` of the calls: sequential, random, once (every block once), unaligned, clustered or zipf", func(v string) error {
		s.Order = Order(v)
		if !slices.Contains([]Order{"", Sequential, Random, Once, Unaligned, Clustered, Zipf}, s.Order) {
			return fmt.Errorf("no order is called %q", v)
		}
		return nil
	})
	flags.StringVar(&s.Advice, "advice", "", "tell the kernel to expect `what`: random or sequential (fadvise, madvise)")
	flags.IntVar(&s.Run, "run", 8, "clustered: `N` calls in a row at each random position")
	flags.Float64Var(&s.Zipf, "zipf", 1.1, "zipf: `exponent`; the block of rank k is used k^-exponent as often as the first")
	flags.Int64Var(&s.SyncEvery, "sync-every", 0, "fsync after every `N` writes of a thread")
	flags.BoolVar(&s.Truncate, "truncate", false, "write: empty the file before each pass, as dd does")
	flags.DurationVar(&s.Think, "think", 0, "pause after every call")
	flags.BoolVar(&s.Drop, "drop", false, "drop the file from the page cache first, and verify that")
	flags.BoolVar(&s.Warm, "warm", false, "read the region into the page cache first")
	flags.Var(&s.Leave, "leave", "eat: leave this `size` of memory available on the host")
	flags.BoolVar(&s.Tmpfs, "tmpfs", false, "eat: take pages of a file in tmpfs")
	flags.DurationVar(&s.Window, "window", 0, "also report windows of this length")
	flags.IntVar(&s.Tell, "tell-fd", 0, "write progress to file descriptor `N` ten times a second: bytes since the last line (calls, if there are none)")
	flags.StringVar(&s.Comm, "comm", "", "`name` of the process and its threads (15 bytes)")
	flags.IntVar(&s.Nice, "nice", 0, "nice value `N` of the threads, -20 to 19")
	flags.BoolVar(&s.Idle, "idle", false, "run only where nothing else wants the processor (SCHED_IDLE)")
	flags.IntVar(&s.OOMScoreAdj, "oom-score-adj", 0, "`N` for /proc/self/oom_score_adj; 1000: killed first")
}

// Args is the command line of `iocause lab load` that gives s.
func (s *Spec) Args() []string {
	var now, fresh Spec
	now = *s
	args := []string{string(s.Kind)}
	if s.Order != "" { // flag.Func has no value to read back
		args = append(args, "--order="+string(s.Order))
	}
	have := flag.NewFlagSet("", flag.ContinueOnError)
	fresh.Bind(have)
	values := now.values()
	have.VisitAll(func(f *flag.Flag) {
		if v, ok := values[f.Name]; ok && v != f.DefValue && v != zeroOf(f) {
			args = append(args, "--"+f.Name+"="+v)
		}
	})
	return args
}

// zeroOf spells the zero value of a flag, which means its default.
func zeroOf(f *flag.Flag) string {
	switch f.DefValue {
	case "false", "0s", "":
		return f.DefValue
	}
	return "0"
}

// values spells every field as its flag would.
func (s *Spec) values() map[string]string {
	keep := *s
	spelled := map[string]string{}
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	// Bind overwrites the fields with the defaults; the flags point into s.
	s.Bind(flags)
	*s = keep
	flags.VisitAll(func(f *flag.Flag) {
		if f.Name != "order" {
			spelled[f.Name] = f.Value.String()
		}
	})
	return spelled
}

// Endless tells whether the load goes on until it is stopped.
func (s Spec) Endless() bool {
	_, err := s.prepare() // of the copy
	return err == nil && s.Passes == 0 && s.Count == 0 && s.Duration == 0
}

// prepare fills in the defaults and refuses what makes no sense.
func (s *Spec) prepare() (*kind, error) {
	k := lookup(s.Kind)
	if k == nil {
		return nil, fmt.Errorf("%w: there is no kind %q; the kinds are: %s", ErrSpec, s.Kind, strings.Join(KindNames(), ", "))
	}
	s.Threads = max(s.Threads, 1)
	s.ThreadsFrom = min(max(s.ThreadsFrom, 1), s.Threads)
	if s.BlockSize == 0 {
		s.BlockSize = k.blockSize
	}
	if s.Order == "" {
		s.Order = k.order
	}
	if s.Run <= 0 {
		s.Run = 8
	}
	if s.Zipf == 0 {
		s.Zipf = 1.1
	}
	if s.Depth == 0 {
		s.Depth = 16
	}
	if s.Writes == 0 {
		s.Writes = 30
	}
	k.direct = k.direct || s.Direct
	if s.Passes == 0 && s.Count == 0 && s.Duration == 0 && (s.Order == Sequential || s.Order == Once) {
		s.Passes = 1 // the other orders have no end of their own
	}
	switch {
	case k.file && s.Path == "":
		return nil, fmt.Errorf("%w: %s needs --path", ErrSpec, s.Kind)
	case k.memory && s.Size == 0 && s.Leave == 0:
		return nil, fmt.Errorf("%w: %s needs --size", ErrSpec, s.Kind)
	case s.BlockSize < 1 || s.BlockSize > 1<<30:
		return nil, fmt.Errorf("%w: %d bytes a call are not from 1 to 1G", ErrSpec, s.BlockSize)
	case k.direct && s.BlockSize%512 != 0:
		return nil, fmt.Errorf("%w: direct input and output needs --bs in multiples of 512", ErrSpec)
	case k.direct && s.Order == Unaligned:
		return nil, fmt.Errorf("%w: direct input and output cannot start at any byte", ErrSpec)
	case s.Advice != "" && s.Advice != "random" && s.Advice != "sequential":
		return nil, fmt.Errorf("%w: no advice is called %q", ErrSpec, s.Advice)
	case s.Direct && !k.file || s.Direct && (k.mapped || k.name == "remap"):
		return nil, fmt.Errorf("%w: %s does not read or write a file by calls, so it does not take --direct", ErrSpec, s.Kind)
	case s.Zipf < 0.01 || s.Zipf > 10:
		return nil, fmt.Errorf("%w: an exponent of %g is not from 0.01 to 10", ErrSpec, s.Zipf)
	case s.Writes < 1 || s.Writes > 99:
		return nil, fmt.Errorf("%w: mixed writes with 1 to 99 of a hundred calls, not %d", ErrSpec, s.Writes)
	case s.Depth < 1 || s.Depth > ringMost:
		return nil, fmt.Errorf("%w: a depth of %d is not from 1 to %d", ErrSpec, s.Depth, ringMost)
	case k.ring && (s.Rate > 0 || s.Think > 0 || s.Ramp > 0):
		return nil, fmt.Errorf("%w: io_uring keeps --depth requests in flight; it does not take --rate, --think and --ramp", ErrSpec)
	case s.Burst < 0 || s.Burst > 0 && (s.Rate == 0 || s.Burst%int64(s.Threads) != 0):
		return nil, fmt.Errorf("%w: --burst %d needs --rate, with at least as many calls of each thread", ErrSpec, s.Burst)
	case s.Passes > 0 && slices.Contains([]Order{Random, Unaligned, Clustered, Zipf}, s.Order):
		return nil, fmt.Errorf("%w: the order %s never ends; give --count or --duration, or --order once", ErrSpec, s.Order)
	case s.Count < 0 || s.Duration < 0 || s.Passes < 0 || s.Rate < 0 || s.Think < 0 || s.Ramp < 0 || s.Delay < 0:
		return nil, fmt.Errorf("%w: limits cannot be below zero", ErrSpec)
	case s.Window < 0 || s.Window > 0 && s.Window < time.Millisecond:
		return nil, fmt.Errorf("%w: --window %v is shorter than a millisecond", ErrSpec, s.Window)
	case k.permit && s.Threads > 1: // one would be asked before another has opened the file
		return nil, fmt.Errorf("%w: permit is for one thread", ErrSpec)
	case s.Truncate && (!k.grow || s.Threads > 1):
		return nil, fmt.Errorf("%w: --truncate is for one thread that writes in sequence", ErrSpec)
	case len(s.Comm) > 15:
		return nil, fmt.Errorf("%w: --comm %q has more than 15 bytes", ErrSpec, s.Comm)
	}
	return k, nil
}
