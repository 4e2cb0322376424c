package bpf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// object reads an object anew, without some of its programs.
type object func(without []string) (*ebpf.CollectionSpec, error)

// read reads the object, with or without the lines of its source, which only the
// verifier's messages have. Programs that are not wanted are not even parsed where their
// section has no others: most are for other kernels.
func (p *Plan) read(lines bool, without []string) (*ebpf.CollectionSpec, error) {
	file, err := elf.NewFile(bytes.NewReader(p.Object))
	if err != nil {
		return nil, fmt.Errorf("reading the BPF object: %w", err)
	}
	view := &changed{ReaderAt: bytes.NewReader(p.Object)}
	if section := file.Section(".BTF.ext"); section != nil && !lines {
		view.put(int64(section.Offset)+lineInfoLength, 4)
	}
	if err := p.hide(file, without, view); err != nil {
		return nil, fmt.Errorf("reading the BPF object: %w", err)
	}
	spec, err := ebpf.LoadCollectionSpecFromReader(view)
	if err != nil {
		return nil, fmt.Errorf("reading the BPF object: %w", err)
	}
	for _, name := range without { // who shares a section with others
		delete(spec.Programs, name)
	}
	if !lines {
		for _, program := range spec.Programs {
			nameFunctions(program.Instructions)
		}
	}
	if p.LacksNothing {
		delete(spec.Variables, "lacks")
	}
	return spec, nil
}

// nameFunctions gives each function its name for a line: the loader adds lines of its
// own, and the kernel wants one of every function where there are any.
func nameFunctions(all asm.Instructions) {
	for i := range all {
		if f := btf.FuncMetadata(&all[i]); f != nil {
			all[i] = all[i].WithSource(asm.Comment(f.Name))
		}
	}
}

// lineInfoLength is where the header of a section .BTF.ext has how many bytes tell of
// source lines (struct btf_ext_header of libbpf): four at least, the size of one record.
const lineInfoLength = 20

// Where an ELF file for 64 bits has the offset of its table of sections, how large a row
// is and where that has its flags (elf(5)), as the loader and debug/elf do not tell.
const (
	sectionTable = 0x28
	sectionRow   = 64
	sectionFlags = 8
)

// hide has sections be no code any more, of which all functions are programs of these
// names. The loader then passes over them, and over what relocates them.
func (p *Plan) hide(file *elf.File, names []string, view *changed) error {
	symbols := file.SectionByType(elf.SHT_SYMTAB)
	if len(names) == 0 || symbols == nil {
		return nil
	}
	table, err := symbols.Data()
	if err != nil {
		return fmt.Errorf("symbols: %w", err)
	}
	strings, err := file.Sections[symbols.Link].Data()
	if err != nil {
		return fmt.Errorf("names of symbols: %w", err)
	}
	wanted := map[int]bool{} // sections with functions: whether any is
	for ; len(table) >= elf.Sym64Size; table = table[elf.Sym64Size:] {
		at := int(binary.LittleEndian.Uint16(table[6:])) // Elf64_Sym of objects for bpfel
		if elf.ST_TYPE(table[4]) != elf.STT_FUNC || at >= len(file.Sections) {
			continue
		}
		name, _, _ := bytes.Cut(strings[binary.LittleEndian.Uint32(table):], []byte{0})
		wanted[at] = wanted[at] || !slices.Contains(names, string(name))
	}
	first := int64(binary.LittleEndian.Uint64(p.Object[sectionTable:]))
	for at, is := range wanted {
		if !is {
			view.put(first+int64(at)*sectionRow+sectionFlags, uint32(file.Sections[at].Flags&^elf.SHF_EXECINSTR))
		}
	}
	return nil
}

// changed is an object some of whose numbers are others.
type changed struct {
	io.ReaderAt
	words []word
}

type word struct {
	at    int64
	value [4]byte
}

func (c *changed) put(at int64, value uint32) {
	w := word{at: at}
	binary.LittleEndian.PutUint32(w.value[:], value) // as in objects for bpfel
	c.words = append(c.words, w)
}

func (c *changed) ReadAt(b []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(b, off)
	for _, w := range c.words {
		for i, x := range w.value {
			if at := w.at + int64(i) - off; at >= 0 && at < int64(n) {
				b[at] = x
			}
		}
	}
	return n, err
}
