package bpf

import (
	"testing"

	"github.com/cilium/ebpf/asm"
)

// path finds the longest way through a program as the kernel runs it: what an event
// can cost at most, in instructions. Each loop counts once, and a function of the
// kernel is one instruction.
type path struct {
	all   map[int]*asm.Instruction // by where they begin, in words of 8 bytes
	found map[int]int              // the longest way from there
	on    map[int]bool             // on the way that is looked at: coming back is a loop
}

func longestWay(all asm.Instructions) int {
	p := path{all: map[int]*asm.Instruction{}, found: map[int]int{}, on: map[int]bool{}}
	at := 0
	for i := range all {
		p.all[at] = &all[i]
		at += int(all[i].Size()) / asm.InstructionSize
	}
	return p.from(0)
}

func (p *path) from(at int) int {
	if n, ok := p.found[at]; ok {
		return n
	}
	ins := p.all[at]
	if ins == nil || p.on[at] {
		return 0
	}
	p.on[at] = true
	next := at + int(ins.Size())/asm.InstructionSize
	most := 0
	switch op := ins.OpCode.JumpOp(); {
	case !ins.OpCode.Class().IsJump():
		most = p.from(next)
	case op == asm.Exit:
	case op == asm.Call && ins.Src == asm.PseudoCall: // the kernel shows where in the offset
		most = p.from(next+int(ins.Offset)) + p.from(next)
	case op == asm.Call:
		most = p.from(next)
	case op == asm.Ja && ins.OpCode.Class() == asm.Jump32Class:
		most = p.from(next + int(ins.Constant))
	case op == asm.Ja:
		most = p.from(next + int(ins.Offset))
	default:
		most = max(p.from(next), p.from(next+int(ins.Offset)))
	}
	delete(p.on, at)
	p.found[at] = most + 1
	return most + 1
}

func TestLongestWay(t *testing.T) {
	program := asm.Instructions{
		asm.Mov.Imm(asm.R0, 0),
		{OpCode: asm.JEq.Op(asm.ImmSource), Dst: asm.R0, Offset: 3}, // over the call
		asm.LoadImm(asm.R1, 1<<40, asm.DWord),                       // two words
		{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call), Src: asm.PseudoCall, Offset: 3},
		asm.FnKtimeGetNs.Call(),
		{OpCode: asm.JNE.Op(asm.ImmSource), Dst: asm.R0, Offset: -6}, // a loop
		asm.Return(),
		asm.Mov.Imm(asm.R0, 1), // what is called
		asm.Return(),
	}
	if got, want := longestWay(program), 9; got != want {
		t.Errorf("the longest way has %d instructions, want %d", got, want)
	}
}
