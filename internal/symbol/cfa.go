package symbol

import (
	"debug/elf"
	"errors"
	"runtime"
)

// machine is what differs between architectures: the numbers that DWARF gives to
// registers, and where a call leaves the address that it returns to.
type machine struct {
	elf        elf.Machine
	fp, sp, ip int
	saved      []int // those that a function gives back as they were, in the order of Registers.Saved
	link       int   // the register that a call leaves it in; 0: it is on the stack
	code       uint64
}

// registerCount is more than the highest of these numbers.
const registerCount = 33

// x86 is System V ABI, AMD64 supplement, figure 3.36: 3 rbx, 6 rbp, 7 rsp, 12 to 15
// r12 to r15, 16 rip.
func x86() *machine {
	return &machine{elf: elf.EM_X86_64, fp: 6, sp: 7, ip: 16, saved: []int{3, 12, 13, 14, 15}, code: ^uint64(0)}
}

// arm64 is DWARF for the Arm 64-bit Architecture, 4.1: 0 to 30 x0 to x30, 31 sp. The
// upper bits of an address that a call returns to may be its signature (pointer
// authentication): programs have addresses of 48 bits.
func arm64() *machine {
	return &machine{elf: elf.EM_AARCH64, fp: 29, sp: 31, ip: 32, saved: []int{19, 20, 21, 22, 23, 24, 25, 26, 27, 28}, link: 30, code: 1<<48 - 1}
}

func thisMachine() *machine {
	if runtime.GOARCH == "arm64" {
		return arm64()
	}
	return x86()
}

// registers are the values of those that are known.
type registers struct {
	v     [registerCount]uint64
	known [registerCount]bool
}

func (r *registers) set(n int, v uint64) { r.v[n], r.known[n] = v, true }

// memory reads eight bytes of the program that is unwound.
type memory func(at uint64) (uint64, bool)

// ruleKind is how a register's value in the caller is found.
type ruleKind uint8

const (
	ruleSame ruleKind = iota
	ruleUndefined
	ruleAt         // at the CFA plus n
	ruleIs         // the CFA plus n
	ruleRegister   // in another register
	ruleAtExpr     // where an expression says
	ruleIsExpr     // what an expression says
	ruleIsRegister // the register and an offset: of the CFA alone
)

type rule struct {
	kind ruleKind
	reg  uint64
	n    int64
	expr [2]int // of the section
}

// frameRules are a row of the table that a call frame program makes.
type frameRules struct {
	cfa  rule
	regs [registerCount]rule
}

var (
	errOperation = errors.New("an operation is not supported")
	errLong      = errors.New("it has too many operations")
	errUnknown   = errors.New("a value is not known")
)

const (
	// mostOperations are those of one program at most; large functions have some thousands.
	mostOperations = 1 << 16
	// longestExpression is in bytes; those in use have some tens.
	longestExpression = 1 << 12
)

// remembered is how deep DW_CFA_remember_state may nest.
const remembered = 16

// rulesAt runs an entry's program up to an address.
func (t *unwindTable) rulesAt(e *unwindEntry, at uint64) (frameRules, error) {
	var now, first frameRules
	if err := t.run(e, e.common.program, &now, &first, at); err != nil {
		return now, err
	}
	first = now
	return now, t.run(e, e.program, &now, &first, at)
}

// run does the operations of a call frame program (DWARF 5, 6.4.2) until their
// place lies behind an address.
func (t *unwindTable) run(e *unwindEntry, program [2]int, now, first *frameRules, until uint64) error {
	r := reader{data: t.data[:program[1]], at: program[0]}
	var stack []frameRules
	c, place := e.common, e.start
	set := func(reg uint64, to rule) {
		if reg < registerCount {
			now.regs[reg] = to
		}
	}
	for n := 0; r.at < len(r.data) && r.err == nil; n++ {
		if n == mostOperations {
			return errLong
		}
		op := r.u8()
		low := uint64(op & 0x3f)
		switch {
		case op>>6 == 1: // advance_loc
			place += low * c.codeAlign
		case op>>6 == 2: // offset
			set(low, rule{kind: ruleAt, n: int64(r.uleb()) * c.dataAlign})
		case op>>6 == 3: // restore
			if low < registerCount {
				now.regs[low] = first.regs[low]
			}
		default:
			switch op {
			case 0x00: // nop
			case 0x01: // set_loc
				place = r.pointer(c.encoding, t.addr)
			case 0x02:
				place += uint64(r.u8()) * c.codeAlign
			case 0x03:
				place += r.u16() * c.codeAlign
			case 0x04:
				place += r.u32() * c.codeAlign
			case 0x05: // offset_extended
				reg := r.uleb()
				set(reg, rule{kind: ruleAt, n: int64(r.uleb()) * c.dataAlign})
			case 0x06: // restore_extended
				if reg := r.uleb(); reg < registerCount {
					now.regs[reg] = first.regs[reg]
				}
			case 0x07:
				set(r.uleb(), rule{kind: ruleUndefined})
			case 0x08:
				set(r.uleb(), rule{kind: ruleSame})
			case 0x09:
				reg := r.uleb()
				set(reg, rule{kind: ruleRegister, reg: r.uleb()})
			case 0x0a:
				if len(stack) == remembered {
					return errOperation
				}
				stack = append(stack, *now)
			case 0x0b:
				if len(stack) == 0 {
					return errOperation
				}
				*now, stack = stack[len(stack)-1], stack[:len(stack)-1]
			case 0x0c: // def_cfa
				now.cfa = rule{kind: ruleIsRegister, reg: r.uleb()}
				now.cfa.n = int64(r.uleb())
			case 0x0d: // def_cfa_register
				now.cfa = rule{kind: ruleIsRegister, reg: r.uleb(), n: now.cfa.n}
			case 0x0e: // def_cfa_offset
				now.cfa.n = int64(r.uleb())
			case 0x0f: // def_cfa_expression
				now.cfa = rule{kind: ruleIsExpr, expr: r.block()}
			case 0x10:
				reg := r.uleb()
				set(reg, rule{kind: ruleAtExpr, expr: r.block()})
			case 0x11: // offset_extended_sf
				reg := r.uleb()
				set(reg, rule{kind: ruleAt, n: r.sleb() * c.dataAlign})
			case 0x12: // def_cfa_sf
				now.cfa = rule{kind: ruleIsRegister, reg: r.uleb()}
				now.cfa.n = r.sleb() * c.dataAlign
			case 0x13:
				now.cfa.n = r.sleb() * c.dataAlign
			case 0x14:
				reg := r.uleb()
				set(reg, rule{kind: ruleIs, n: int64(r.uleb()) * c.dataAlign})
			case 0x15:
				reg := r.uleb()
				set(reg, rule{kind: ruleIs, n: r.sleb() * c.dataAlign})
			case 0x16:
				reg := r.uleb()
				set(reg, rule{kind: ruleIsExpr, expr: r.block()})
			case 0x2c, 0x2d: // AARCH64_negate_ra_state: signatures are taken off anyway
			case 0x2e: // GNU_args_size
				r.uleb()
			default:
				return errOperation
			}
		}
		if place > until {
			return r.err
		}
	}
	return r.err
}

// block is an expression: its length and its bytes.
func (r *reader) block() [2]int {
	n := int(r.uleb())
	start := r.at
	r.skip(n)
	return [2]int{start, r.at}
}

// caller finds the registers of the caller by the rules of a frame. isLast
// tells that there is none: the thread begins here.
func (t *unwindTable) caller(rules *frameRules, returns uint64, r *registers, mem memory) (out registers, isLast bool, err error) {
	var cfa uint64
	switch rules.cfa.kind {
	case ruleIsRegister:
		reg := rules.cfa.reg
		if reg >= registerCount || !r.known[reg] {
			return out, false, errUnknown
		}
		cfa = r.v[reg] + uint64(rules.cfa.n)
	case ruleIsExpr:
		if cfa, err = t.evaluate(rules.cfa.expr, r, mem, nil); err != nil {
			return out, false, err
		}
	default:
		return out, false, errUnknown
	}
	for n := range out.v {
		to := &rules.regs[n]
		at, ok := uint64(0), true
		switch to.kind {
		case ruleSame:
			if r.known[n] {
				out.set(n, r.v[n])
			}
			continue
		case ruleUndefined:
			continue
		case ruleIs:
			out.set(n, cfa+uint64(to.n))
			continue
		case ruleRegister:
			if to.reg < registerCount && r.known[to.reg] {
				out.set(n, r.v[to.reg])
			}
			continue
		case ruleIsExpr:
			v, err := t.evaluate(to.expr, r, mem, &cfa)
			if err != nil {
				return out, false, err
			}
			out.set(n, v)
			continue
		case ruleAt:
			at = cfa + uint64(to.n)
		case ruleAtExpr:
			if at, err = t.evaluate(to.expr, r, mem, &cfa); err != nil {
				return out, false, err
			}
		}
		if at, ok = mem(at); ok {
			out.set(n, at)
		}
	}
	if rules.regs[t.machine.sp].kind == ruleSame {
		out.set(t.machine.sp, cfa)
	}
	if returns >= registerCount {
		return out, false, errOperation
	}
	if rules.regs[returns].kind == ruleUndefined {
		return out, true, nil
	}
	if rules.regs[returns].kind == ruleSame && returns != uint64(t.machine.link) || !out.known[returns] {
		return out, false, errUnknown
	}
	back := out.v[returns] & t.machine.code
	out.set(t.machine.ip, back)
	return out, back == 0, nil
}

// deepestStack is how many values an expression may keep.
const deepestStack = 32

// evaluate does the operations of an expression (DWARF 5, 2.5) that compilers
// and libraries use for frames: linkage tables, stacks that are aligned, signal
// handlers. first, if any, is on the stack to begin with.
func (t *unwindTable) evaluate(expr [2]int, regs *registers, mem memory, first *uint64) (uint64, error) {
	if expr[1]-expr[0] > longestExpression {
		return 0, errLong
	}
	r := reader{data: t.data[:expr[1]], at: expr[0]}
	var s []uint64
	if first != nil {
		s = append(s, *first)
	}
	for r.at < len(r.data) {
		op := r.u8()
		switch {
		case op >= 0x30 && op <= 0x4f: // lit
			s = append(s, uint64(op-0x30))
		case op >= 0x70 && op <= 0x8f: // breg
			offset := r.sleb()
			n := int(op - 0x70)
			if n >= len(regs.v) || !regs.known[n] {
				return 0, errUnknown
			}
			s = append(s, regs.v[n]+uint64(offset))
		case op == 0x08:
			s = append(s, uint64(r.u8()))
		case op == 0x09:
			s = append(s, uint64(int8(r.u8())))
		case op == 0x0a:
			s = append(s, r.u16())
		case op == 0x0b:
			s = append(s, uint64(int16(r.u16())))
		case op == 0x0c:
			s = append(s, r.u32())
		case op == 0x0d:
			s = append(s, uint64(int32(r.u32())))
		case op == 0x0e, op == 0x0f:
			s = append(s, r.u64())
		case op == 0x10:
			s = append(s, r.uleb())
		case op == 0x11:
			s = append(s, uint64(r.sleb()))
		case len(s) == 0:
			return 0, errOperation
		case op == 0x06: // deref
			v, ok := mem(s[len(s)-1])
			if !ok {
				return 0, errUnknown
			}
			s[len(s)-1] = v
		case op == 0x12:
			s = append(s, s[len(s)-1])
		case op == 0x13:
			s = s[:len(s)-1]
		case op == 0x23: // plus_uconst
			s[len(s)-1] += r.uleb()
		case len(s) < 2:
			return 0, errOperation
		default:
			a, b := s[len(s)-2], s[len(s)-1]
			v, ok := binaryOperation(op, a, b)
			if !ok {
				return 0, errOperation
			}
			s = append(s[:len(s)-2], v)
		}
		if r.err != nil || len(s) > deepestStack {
			return 0, errOperation
		}
	}
	if len(s) == 0 {
		return 0, errOperation
	}
	return s[len(s)-1], nil
}

func binaryOperation(op byte, a, b uint64) (v uint64, ok bool) {
	truth := func(is bool) uint64 {
		if is {
			return 1
		}
		return 0
	}
	switch op {
	case 0x1a:
		v = a & b
	case 0x1c:
		v = a - b
	case 0x1e:
		v = a * b
	case 0x21:
		v = a | b
	case 0x22:
		v = a + b
	case 0x24:
		v = a << b
	case 0x25:
		v = a >> b
	case 0x26:
		v = uint64(int64(a) >> b)
	case 0x27:
		v = a ^ b
	case 0x29:
		v = truth(a == b)
	case 0x2a:
		v = truth(int64(a) >= int64(b))
	case 0x2b:
		v = truth(int64(a) > int64(b))
	case 0x2c:
		v = truth(int64(a) <= int64(b))
	case 0x2d:
		v = truth(int64(a) < int64(b))
	case 0x2e:
		v = truth(a != b)
	default:
		return 0, false
	}
	return v, true
}
