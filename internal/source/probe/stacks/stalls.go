package stacks

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
	"io/fs"
	"os"
	"strconv"
	"unsafe"

	"iocause/internal/bpf"
	"iocause/internal/host"
	"iocause/internal/procfile"
)

func (r *stacksRegs) registers() bpf.Registers {
	return bpf.Registers{IP: r.Ip, SP: r.Sp, FP: r.Fp, Link: r.Link, Saved: r.Saved}
}

// drainStalls takes over the waits that came with a copy of the user stack.
func (p *Probe) drainStalls() error {
	if p.stalls == nil {
		return nil
	}
	return p.stalls.Each(func(raw []byte) error {
		if len(raw) >= int(unsafe.Sizeof(p.stall)) {
			copy(unsafe.Slice((*byte)(unsafe.Pointer(&p.stall)), unsafe.Sizeof(p.stall)), raw)
			p.addStall(&p.stall)
		}
		return nil
	})
}

// addStall adds a wait under its unwound stack, unless frame pointers found
// more: the copy has the innermost 12 to 16 KiB of the stack.
func (p *Probe) addStall(s *stacksStall) {
	u := &s.User
	all := unsafe.Slice(&u.Page[0][0], len(u.Page)*len(u.Page[0]))
	copied := all[:min(u.Pages, uint64(len(u.Page)))*uint64(len(u.Page[0]))]
	ips, isWhole := p.o.Unwind(int(s.K.Tgid), u.Regs.registers(), bpf.Copied(u.Base, copied))
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
// only be taken in the kernel while it runs. Of those that ran on meanwhile there
// is none.
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
		s := Stack{IPs: walkFrames(w.Regs.Ip, w.Regs.Fp, read)}
		if p.o.Unwind != nil {
			if ips, isWhole := p.o.Unwind(int(w.Tgid), w.Regs.registers(), read); isWhole || len(ips) > len(s.IPs) {
				s.IPs, s.IsWhole = ips, isWhole
			}
		}
		if ranAgain(p.host, tid, w.Runs) {
			return // the registers and the memory are not of one moment
		}
		p.walked[int(tid)] = s
	})
}

// ranAgain tells whether a thread got a processor more often than runs: the
// third figure of /proc/TID/schedstat, which a kernel without CONFIG_SCHED_INFO
// does not have.
func ranAgain(h *host.Host, tid uint32, runs uint64) bool {
	text, err := host.Read(h.Proc(strconv.Itoa(int(tid)), "schedstat"), nil)
	if errors.Is(err, fs.ErrNotExist) {
		_, err := os.Stat(h.Proc(strconv.Itoa(int(tid))))
		return err != nil // it ended
	}
	if err != nil {
		return true
	}
	now, err := procfile.ParseSchedstat(text)
	return err != nil || now.Slices != runs
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
