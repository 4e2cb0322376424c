package bpf

import "encoding/binary"

// Registers are those that callers are found by: struct regs of
// include/userstack.bpf.h.
type Registers struct {
	IP, SP, FP uint64
	Link       uint64     // arm64: x30
	Saved      [10]uint64 // x86-64: rbx, r12 to r15; arm64: x19 to x28
}

// Unwinder finds the call stack of a thread of a process, innermost address
// first, from its registers and its memory, of which read reads eight bytes.
// isWhole tells that it was followed to where the thread began.
type Unwinder func(pid int, regs Registers, read func(at uint64) (uint64, bool)) (ips []uint64, isWhole bool)

// Copied reads a copy of memory that began at base.
func Copied(base uint64, content []byte) func(at uint64) (uint64, bool) {
	return func(at uint64) (uint64, bool) {
		const size = 8
		from := at - base
		if len(content) < size || from > uint64(len(content)-size) {
			return 0, false
		}
		return binary.NativeEndian.Uint64(content[from:]), true
	}
}
