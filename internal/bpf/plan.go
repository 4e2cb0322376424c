package bpf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"

	"iocause/internal/sample"
)

// Plan is what a probe loads, and where its programs go.
type Plan struct {
	Object       []byte
	LacksNothing bool      // no kernel with its tracepoints lacks what there is another way for
	Programs     []Program // on every kernel
	Capabilities []Capability
}

// Open loads and attaches what is planned.
func (p *Plan) Open(constants map[string]any) (*Probe, error) {
	read := func() (*ebpf.CollectionSpec, error) { return p.read(false) }
	spec, err := read()
	if err != nil {
		return nil, err
	}
	opened, err := openWays(spec, p.Programs, p.Capabilities, constants, read)
	if !errors.Is(err, ErrRefused) {
		return opened, err
	}
	if spec, err = p.read(true); err != nil { // for the verifier to name them
		return nil, err
	}
	return openWays(spec, p.Programs, p.Capabilities, constants, read)
}

// read reads the object, with or without the lines of its source, which only the
// verifier's messages have.
func (p *Plan) read(lines bool) (*ebpf.CollectionSpec, error) {
	var r io.ReaderAt = bytes.NewReader(p.Object)
	if !lines {
		file, err := elf.NewFile(r)
		if err != nil {
			return nil, fmt.Errorf("reading the BPF object: %w", err)
		}
		if section := file.Section(".BTF.ext"); section != nil {
			r = &lineless{r, int64(section.Offset) + lineInfoLength}
		}
	}
	spec, err := ebpf.LoadCollectionSpecFromReader(r)
	if err != nil {
		return nil, fmt.Errorf("reading the BPF object: %w", err)
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

// lineless is an object of which those bytes at an offset say that there are no lines.
type lineless struct {
	io.ReaderAt
	at int64
}

func (l *lineless) ReadAt(b []byte, off int64) (int, error) {
	n, err := l.ReaderAt.ReadAt(b, off)
	for i, x := range binary.LittleEndian.AppendUint32(nil, 4) { // as in objects for bpfel
		if at := l.at + int64(i) - off; at >= 0 && at < int64(n) {
			b[at] = x
		}
	}
	return n, err
}

// ReadTypes reads the types of another kernel: a BTF file, as /sys/kernel/btf/vmlinux
// is, or an ELF file with a section .BTF, as vmlinux.
func ReadTypes(file string) (*Types, error) {
	spec, err := btf.LoadSpec(file)
	if err != nil {
		return nil, fmt.Errorf("reading type information from %s: %w", file, err)
	}
	t := &Types{spec: spec}
	if _, err := t.TracepointArguments("sched_switch"); err != nil {
		return nil, fmt.Errorf("%s: no type information of a whole kernel: %w", file, err)
	}
	return t, nil
}

// Foresee says which ways a kernel with these types would most likely be asked in,
// and what else it lacks of a plan. Whether it lets programs attach, and counts as it
// should, shows only when it runs.
func (t *Types) Foresee(plan *Plan) (ways []sample.Way, lacks []string, err error) {
	spec, err := plan.read(false)
	if err != nil {
		return nil, nil, err
	}
	programs, capabilities, _ := inPlace(t.preempts(), plan.Programs, plan.Capabilities)
	_, lacks, err = t.present(programs)
	if err != nil {
		return nil, nil, err
	}
	for i := range lacks {
		lacks[i] = "the kernel has no tracepoint " + lacks[i]
	}
	choices, err := choose(t, capabilities, nil)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range choices {
		for len(c.left) > 0 {
			why := t.refuses(&c.left[0])
			if why == nil {
				break
			}
			c.reject(why)
		}
		if err := c.exhausted(); err != nil {
			return nil, nil, err
		}
		told := c.told()
		if told.By == "" {
			lacks = append(lacks, notSeen(&told))
		}
		ways = append(ways, told)
	}
	fit, err := fitTo(t, 0)
	if err != nil {
		return nil, nil, err
	}
	return append(ways, fit.told(spec)...), lacks, nil
}

// refuses tells why a kernel would not attach the programs of a way, though it has
// the functions, as far as types show it.
func (t *Types) refuses(w *Way) error {
	switch w.By {
	case ByFunction:
		// The architecture must call programs from functions: all that run iocause but
		// arm64, before 2aa6ac03516d (6.4), where this member shows it.
		if t.onARM() && !t.hasMember("ftrace_ops", "direct_call") {
			return fmt.Errorf("%w: programs cannot be called from its functions (arm64 before 6.4)", ErrNotSupported)
		}
		if !t.hasStruct("ftrace_ops") {
			return fmt.Errorf("%w: it was built without CONFIG_FUNCTION_TRACER", ErrNotSupported)
		}
	case ByKprobe:
		if !t.hasStruct("kprobe") {
			return fmt.Errorf("%w: it was built without CONFIG_KPROBES", ErrNotSupported)
		}
	}
	return nil
}

func (t *Types) onARM() bool { return t.hasStruct("user_pt_regs") }

func (t *Types) hasMember(structure, member string) bool {
	var s *btf.Struct
	return t.spec.TypeByName(structure, &s) == nil &&
		slices.ContainsFunc(s.Members, func(m btf.Member) bool { return m.Name == member })
}

// present are those of the programs that a kernel has the tracepoint of, in the shape
// that they are for, under its name there, and the tracepoints that optional ones miss.
func (t *Types) present(programs []Program) (has []Program, missing []string, err error) {
	served := map[string]bool{} // tracepoints of several shapes: has one of the programs this shape?
	shape := map[string]int{}
	for _, p := range programs {
		if p.tracepoint() == "" {
			has = append(has, p)
			continue
		}
		answer, err := t.HasTracepoint(p.tracepoint())
		if answer == NotSupported && p.Former != "" {
			p.Tracepoint = p.Former
			answer, err = t.HasTracepoint(p.Tracepoint)
		}
		switch {
		case answer == NotSupported && p.Optional:
			missing = append(missing, p.tracepoint())
			continue
		case answer == NotSupported:
			return nil, nil, fmt.Errorf("tracepoint %s: %w: %w", p.tracepoint(), ErrNotSupported, err)
		case answer == CouldNotTell: // the loader says what is wrong
		case p.Arguments != 0:
			n, err := t.TracepointArguments(p.Tracepoint)
			if err != nil {
				return nil, nil, err
			}
			shape[p.Tracepoint] = n
			if n != p.Arguments { // another program is for that shape
				served[p.Tracepoint] = served[p.Tracepoint] || p.Optional
				continue
			}
			served[p.Tracepoint] = true
		}
		has = append(has, p)
	}
	for _, p := range programs {
		if n, ok := shape[p.Tracepoint]; ok && !served[p.Tracepoint] {
			return nil, nil, fmt.Errorf("tracepoint %s: %w: it has %d arguments, a shape that is not known", p.Tracepoint, ErrNotSupported, n)
		}
	}
	return has, missing, nil
}
