package bpf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// oldVerifier makes a verifier's refusal a lack of the kernel where it refuses a
// program of four instructions, too, that adds to a number and returns what it was:
// before 5ca419f2864a (5.12; on arm64 1902472b4fa9, 5.18) there is no such
// operation, and all objects have one.
func oldVerifier(err error) error {
	if !errors.Is(err, ErrRefused) {
		return err
	}
	p, probeErr := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SocketFilter, License: "Dual BSD/GPL", Instructions: asm.Instructions{
		asm.Mov.Imm(asm.R0, 0),
		asm.StoreMem(asm.RFP, -8, asm.R0, asm.DWord),
		asm.FetchAdd.Mem(asm.RFP, asm.R0, asm.DWord, -8),
		asm.Return(),
	}})
	if probeErr == nil {
		return errors.Join(err, p.Close())
	}
	return fmt.Errorf("%w: its programs have no atomic operations that return what was there (Linux 5.12; arm64: 5.18)", ErrNotSupported)
}
