package threads

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/cilium/ebpf/ringbuf"

	"iocause/internal/bpf"
	"iocause/internal/sample"
)

// Kept is how many of the slowest calls are kept of a process and call: KEPT in slow.bpf.h.
const Kept = 3

// SlowCall is one of the slowest calls.
type SlowCall struct {
	PID    int            `json:"-"` // as of the Call that it is one of
	Number int            `json:"-"` // likewise
	TID    int            `json:"tid"`
	Thread sample.RawName `json:"thread"`
	Result int64          `json:"result"` // what it returned; from -4095 to -1 an error
	Wall   time.Duration  `json:"wall_ns"`
	In     PartTimes      `json:"in_ns"`                // adds up to Wall
	Wait   time.Duration  `json:"wait_ns"`              // the longest wait that Kernel is of; 0: none was seen
	State  State          `json:"wait_state,omitempty"` // of Wait; Unseen where there is none

	Kernel    []uint64 `json:"-"` // addresses, the innermost first
	User      []uint64 `json:"-"` // likewise
	KernelCut bool     `json:"-"` // there is more than Kernel
	UserCut   bool     `json:"-"` // there is more than User
	IsWhole   bool     `json:"-"` // User is known to reach where the thread began

	Stack  []*sample.Frame `json:"-"`      // the functions of both, the innermost first; nil until somebody names them
	Places []int           `json:"frames"` // of Stack in a sample.FrameList, in JSON
}

// slowCalls takes in the slowest calls as the kernel tells them.
type slowCalls struct {
	reader  *ringbuf.Reader
	o       *CallOptions
	flushed chan error
	mu      sync.Mutex
	kept    map[latencyCallKey][]SlowCall
}

func watchSlowCalls(p *bpf.Probe, o *CallOptions) (*slowCalls, error) {
	reader, err := ringbuf.NewReader(p.Map("slowest"))
	if err != nil {
		return nil, fmt.Errorf("opening the buffer of slow calls: %w", err)
	}
	s := &slowCalls{reader: reader, o: o, flushed: make(chan error), kept: map[latencyCallKey][]SlowCall{}}
	go s.read()
	return s, nil
}

// read runs until the reader is closed.
func (s *slowCalls) read() {
	defer close(s.flushed)
	var r ringbuf.Record
	var raw latencySlowCall
	for {
		err := s.reader.ReadInto(&r)
		switch {
		case errors.Is(err, ringbuf.ErrFlushed):
			s.flushed <- nil
		case errors.Is(err, ringbuf.ErrClosed):
			return
		case err != nil:
			s.flushed <- fmt.Errorf("reading the slow calls: %w", err)
			return
		case len(r.RawSample) >= int(unsafe.Sizeof(raw)):
			copy(unsafe.Slice((*byte)(unsafe.Pointer(&raw)), unsafe.Sizeof(raw)), r.RawSample) // both sides are of one byte order and layout
			s.met(&raw)
		}
	}
}

// slowCall is what the kernel told, with the stack that frame pointers found.
func (r *latencySlowCall) slowCall() SlowCall {
	kernel, user := min(int(r.KernelN), len(r.Kernel)), min(int(r.UserN), len(r.User))
	c := SlowCall{
		PID: int(r.Tgid), TID: int(r.Tid), Number: int(r.Nr), Thread: name(&r.Thread), Result: r.Result,
		Wall: time.Duration(r.Wall), Wait: time.Duration(r.Wait),
		Kernel: slices.Clone(r.Kernel[:kernel]), User: slices.Clone(r.User[:user]),
		KernelCut: kernel == len(r.Kernel), UserCut: user == len(r.User),
	}
	if c.Wait > 0 {
		c.State = State(min(r.State, uint32(Other)))
	}
	for p := range c.In {
		c.In[p] = time.Duration(r.Part[p])
	}
	return c
}

// met takes in a slow call while its process is there: it may end soon. The
// unwound stack counts unless frame pointers found more.
func (s *slowCalls) met(r *latencySlowCall) {
	c := r.slowCall()
	s.o.Met(c.PID)
	if s.o.Unwind != nil {
		u := &r.Copy
		all := unsafe.Slice(&u.Page[0][0], len(u.Page)*len(u.Page[0]))
		copied := all[:min(u.Pages, uint64(len(u.Page)))*uint64(len(u.Page[0]))]
		regs := bpf.Registers{IP: u.Regs.Ip, SP: u.Regs.Sp, FP: u.Regs.Fp, Link: u.Regs.Link, Saved: u.Regs.Saved}
		if ips, isWhole := s.o.Unwind(c.PID, regs, bpf.Copied(u.Base, copied)); isWhole || len(ips) > len(c.User) {
			c.User, c.UserCut, c.IsWhole = ips, !isWhole && len(ips) >= len(r.User), isWhole
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := latencyCallKey{Tgid: uint32(c.PID), Nr: uint32(c.Number)}
	s.kept[k] = slowestOf(append(s.kept[k], c))
}

// take returns what was told so far, and forgets it.
func (s *slowCalls) take() (map[latencyCallKey][]SlowCall, error) {
	if err := s.reader.Flush(); err != nil {
		return nil, fmt.Errorf("reading the slow calls: %w", err)
	}
	if err := <-s.flushed; err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.kept
	s.kept = map[latencyCallKey][]SlowCall{}
	return taken, nil
}

// slowestOf are the slowest, the very slowest first.
func slowestOf(calls []SlowCall) []SlowCall {
	slices.SortStableFunc(calls, func(a, b SlowCall) int { return cmp.Compare(b.Wall, a.Wall) })
	return slices.Clip(calls[:min(len(calls), Kept)])
}
