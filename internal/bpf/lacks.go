package bpf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"
)

// lacks makes a failure to load an object a lack of the kernel where it refuses
// what the object cannot do without: reading its memory, and where the object is
// not fitted to kernels that lack them, atomic operations that return what was there.
func lacks(err error, fitted bool) error {
	if errors.Is(err, ErrNotPermitted) || errors.Is(err, ErrFiles) {
		return err
	}
	if !fitted && hasNoAtomics() {
		return fmt.Errorf("%w: its BPF has no atomic operations that return the old value (Linux 5.12; arm64: 5.18)", ErrNotSupported)
	}
	if errors.Is(features.HaveProgramHelper(ebpf.RawTracepoint, asm.FnProbeReadKernel), ebpf.ErrNotSupported) {
		return fmt.Errorf("%w: programs may not read its memory (lockdown=confidentiality; with lockdown=integrity they may)", ErrNotSupported)
	}
	return err
}

// hasNoAtomics tells that a program of four instructions is refused that adds to a
// number and returns what it was. There is that since 5ca419f2864a (5.12), on arm64
// since 1902472b4fa9 (5.18).
func hasNoAtomics() bool {
	fetch := asm.FetchAdd.Mem(asm.RFP, asm.R0, asm.DWord, -8)
	fetch.Constant = 1 // BPF_FETCH: the assembler forgets it
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SocketFilter, License: "Dual BSD/GPL", Instructions: asm.Instructions{
		asm.Mov.Imm(asm.R0, 0),
		asm.StoreMem(asm.RFP, -8, asm.R0, asm.DWord),
		fetch,
		asm.Return(),
	}})
	if err == nil {
		p.Close()
	}
	return err != nil
}
