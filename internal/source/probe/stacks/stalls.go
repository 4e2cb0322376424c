package stacks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"strconv"
	"time"
	"unsafe"

	"github.com/cilium/ebpf/ringbuf"

	"iocause/internal/bpf"
)

// Registers are those that callers are found by. On arm64 only IP, SP and BP are known.
type Registers struct {
	IP, SP, BP, BX, R12, R13, R14, R15 uint64
}

// Unwinder finds the call stack of a thread of a process, innermost address
// first, from its registers and its memory, of which read reads eight bytes.
// isWhole tells that it was followed to where the thread began.
type Unwinder func(pid int, regs Registers, read func(at uint64) (uint64, bool)) (ips []uint64, isWhole bool)

func (r *stacksRegs) registers() Registers {
	return Registers{r.Ip, r.Sp, r.Bp, r.Bx, r.R12, r.R13, r.R14, r.R15}
}

// drainStalls takes over the waits that came with a copy of the user stack.
func (p *Probe) drainStalls() error {
	if p.stalls == nil {
		return nil
	}
	p.stalls.SetDeadline(time.Unix(1, 0)) // what is there, and no waiting
	var record ringbuf.Record
	for {
		err := p.stalls.ReadInto(&record)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the waits with their stacks: %w", err)
		}
		if len(record.RawSample) >= int(unsafe.Sizeof(p.stall)) {
			copy(unsafe.Slice((*byte)(unsafe.Pointer(&p.stall)), unsafe.Sizeof(p.stall)), record.RawSample)
			p.addStall(&p.stall)
		}
	}
}

// addStall adds a wait under its unwound stack, unless frame pointers found
// more: the copy has the innermost 12 to 16 KiB of the stack.
func (p *Probe) addStall(s *stacksStall) {
	ips, isWhole := p.o.Unwind(int(s.K.Tgid), s.Regs.registers(), func(at uint64) (uint64, bool) {
		from := at - s.Base
		if from > s.Pages*uint64(len(s.Copy[0]))-8 || s.Pages == 0 {
			return 0, false
		}
		all := unsafe.Slice(&s.Copy[0][0], len(s.Copy)*len(s.Copy[0]))
		return binary.NativeEndian.Uint64(all[from:]), true
	})
	p.learn(s.K.User)
	if isWhole || len(ips) > len(p.stacks[s.K.User]) {
		s.K.User = p.keepStack(ips, isWhole)
	}
	p.add(s.K, s.R)
}

// keepStack gives a stack that was found here an identity.
func (p *Probe) keepStack(ips []uint64, isWhole bool) uint64 {
	id := maphash.Comparable(p.seed, string(unsafe.Slice((*byte)(unsafe.Pointer(&ips[0])), 8*len(ips))))
	if isWhole {
		id ^= 1
	}
	if id <= lostStack+1 {
		id += 4
	}
	p.stacks[id] = ips
	if isWhole {
		p.whole[id] = true
	}
	return id
}

// walk finds the user stacks of threads that still wait: a thread's stack can
// only be taken in the kernel while it runs.
func (p *Probe) walk() {
	_ = bpf.Each(p.probe.Map("waiting"), func(tid uint32, w stacksWaiter) {
		mem, err := os.Open(p.host.Proc(strconv.Itoa(int(tid)), "mem"))
		if err != nil {
			return // it has ended, or it may not be looked into
		}
		defer mem.Close()
		read := func(at uint64) (uint64, bool) {
			var b [8]byte
			if at >= 1<<63 {
				return 0, false
			}
			_, err := mem.ReadAt(b[:], int64(at))
			return binary.NativeEndian.Uint64(b[:]), err == nil
		}
		s := Stack{IPs: walkFrames(w.Regs.Ip, w.Regs.Bp, read)}
		if p.o.Unwind != nil {
			if ips, isWhole := p.o.Unwind(int(w.Tgid), w.Regs.registers(), read); isWhole || len(ips) > len(s.IPs) {
				s.IPs, s.IsWhole = ips, isWhole
			}
		}
		p.walked[int(tid)] = s
	})
}

// walkFrames follows frame pointers as the kernel does: each points to the
// next one, with the return address above it.
func walkFrames(ip, frame uint64, read func(uint64) (uint64, bool)) []uint64 {
	ips := []uint64{ip}
	for len(ips) < deepest && frame != 0 && frame%8 == 0 && frame < 1<<63 {
		next, ok := read(frame)
		back, ok2 := read(frame + 8)
		if !ok || !ok2 || back == 0 {
			break
		}
		ips = append(ips, back)
		if next <= frame {
			break
		}
		frame = next
	}
	return ips
}
