package bpf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"iter"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"

	"iocause/internal/procfile"
)

// What the kernel compares of a name, and what it writes of a symbol: its address,
// its kind, and its name with a zero behind it.
const (
	headSize   = 6
	headsBits  = 14 // of a head's hash
	nameSize   = 64
	symbolSize = 16 + nameSize
)

// symbolsLike are the kernel's symbols whose names begin with the same six letters
// as one of these, and a few others, each with the symbol behind it, in the order of
// /proc/kallsyms: a program at the kernel's iterator over it (647cafa22349, 6.0)
// leaves out the rest, which to print and to parse takes four times as long.
func symbolsLike(types *Types, names iter.Seq[string]) (iter.Seq2[procfile.Symbol, error], error) {
	field := map[string]int32{"value": 0, "type": 0, "name": 0}
	var symbol *btf.Struct
	if err := types.spec.TypeByName("kallsym_iter", &symbol); err != nil {
		return nil, fmt.Errorf("looking for the iterator of symbols: %w", err)
	}
	for _, m := range symbol.Members {
		if _, ok := field[m.Name]; ok {
			field[m.Name] = int32(m.Offset.Bytes())
		}
	}
	c, err := ebpf.NewCollectionWithOptions(&ebpf.CollectionSpec{
		Maps: map[string]*ebpf.MapSpec{
			"heads": {Name: "heads", Type: ebpf.Array, KeySize: 4, ValueSize: 1 << headsBits, MaxEntries: 1},
			"found": {Name: "found", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1},
		},
		Programs: map[string]*ebpf.ProgramSpec{"symbols": {
			Name: "symbols", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceIter, AttachTo: "ksym", License: "Dual BSD/GPL",
			Instructions: symbolProgram(field),
		}},
	}, ebpf.CollectionOptions{Cache: types.cache})
	if err != nil {
		return nil, explain("loading the program that looks for symbols", err)
	}
	defer c.Close()
	heads := make([]byte, 1<<headsBits)
	for name := range names {
		if len(name) < headSize {
			return nil, fmt.Errorf("%w: %s is too short to look for", ErrNotSupported, name)
		}
		heads[headHash(name)] = 1
	}
	if err := c.Maps["heads"].Put(uint32(0), heads); err != nil {
		return nil, fmt.Errorf("filling the table of names: %w", err)
	}
	it, err := link.AttachIter(link.IterOptions{Program: c.Programs["symbols"]})
	if err != nil {
		return nil, explain("attaching the program that looks for symbols", err)
	}
	defer it.Close()
	r, err := it.Open()
	if err != nil {
		return nil, fmt.Errorf("looking for symbols: %w", err)
	}
	defer r.Close()
	all, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("looking for symbols: %w", err)
	}
	return func(yield func(procfile.Symbol, error) bool) {
		for ; len(all) >= symbolSize; all = all[symbolSize:] {
			name, _, _ := bytes.Cut(all[16:symbolSize], []byte{0})
			kind := all[8] | 0x20
			if !yield(procfile.Symbol{Start: binary.NativeEndian.Uint64(all), Text: kind == 't' || kind == 'w', Name: name}, nil) {
				return
			}
		}
	}, nil
}

// A name's first six letters as a number, spread by a multiplication (of Knuth, by the
// golden ratio). symbolProgram does so with every symbol of the kernel: to copy each
// name and to search a hash table for it would take longer than all else there.
const headSpread = 0x9e3779b97f4a7c15

func headHash(name string) uint64 {
	var head [8]byte
	copy(head[8-headSize:], name[:headSize])
	spread := uint64(headSpread)
	return binary.LittleEndian.Uint64(head[:]) * spread >> (64 - headsBits) // as in objects for bpfel
}

// symbolProgram writes a symbol whose name begins as one in heads does, and the next
// one with a higher address; found has the address of the former until then.
func symbolProgram(field map[string]int32) asm.Instructions {
	const record = -symbolSize // on the stack
	spread := uint64(headSpread)
	is := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1), // struct bpf_iter__ksym
		asm.LoadMem(asm.R7, asm.R6, 8, asm.DWord),
		asm.JEq.Imm(asm.R7, 0, "out"), // the end
		asm.LoadMem(asm.R8, asm.R7, int16(field["value"]), asm.DWord),
		asm.LoadMem(asm.R1, asm.R7, int16(field["name"]), asm.DWord),
		asm.LSh.Imm(asm.R1, 64-8*headSize),
		asm.LoadImm(asm.R2, int64(spread), asm.DWord),
		asm.Mul.Reg(asm.R1, asm.R2),
		asm.RSh.Imm(asm.R1, 64-headsBits),
		asm.LoadMapValue(asm.R2, 0, 0).WithReference("heads"),
		asm.Add.Reg(asm.R2, asm.R1),
		asm.LoadMem(asm.R0, asm.R2, 0, asm.Byte),
		asm.LoadMapValue(asm.R9, 0, 0).WithReference("found"),
		asm.JNE.Imm(asm.R0, 0, "wanted"),
		asm.LoadMem(asm.R1, asm.R9, 0, asm.DWord),
		asm.JEq.Imm(asm.R1, 0, "out"),
		asm.JLE.Reg(asm.R8, asm.R1, "out"), // another name of the same
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.R9, 0, asm.R1, asm.DWord),
		asm.Ja.Label("write"),
		asm.StoreMem(asm.R9, 0, asm.R8, asm.DWord).WithSymbol("wanted"),
		asm.StoreMem(asm.RFP, record, asm.R8, asm.DWord).WithSymbol("write"),
		asm.LoadMem(asm.R1, asm.R7, int16(field["type"]), asm.Byte),
		asm.StoreMem(asm.RFP, record+8, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R1, 0),
	}
	for at := int16(0); at < nameSize; at += 8 {
		is = append(is, asm.StoreMem(asm.RFP, record+16+at, asm.R1, asm.DWord))
	}
	is = append(is, readName(field["name"], record+16, nameSize)...)
	return append(is,
		asm.LoadMem(asm.R1, asm.R6, 0, asm.DWord), // struct bpf_iter_meta
		asm.LoadMem(asm.R1, asm.R1, 0, asm.DWord), // struct seq_file
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, record),
		asm.Mov.Imm(asm.R3, symbolSize),
		asm.FnSeqWrite.Call(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
	)
}

// readName copies the name of the symbol at R7 onto the stack.
func readName(field, to, size int32) asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R1, asm.RFP),
		asm.Add.Imm(asm.R1, to),
		asm.Mov.Imm(asm.R2, size),
		asm.Mov.Reg(asm.R3, asm.R7),
		asm.Add.Imm(asm.R3, field),
		asm.FnProbeReadKernelStr.Call(),
	}
}
