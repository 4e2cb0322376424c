package bpf

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
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
	read := func(without []string) (*ebpf.CollectionSpec, error) { return p.read(false, without) }
	opened, err := openWays(read, true, p.Programs, p.Capabilities, constants)
	if !errors.Is(err, ErrRefused) {
		return opened, err
	}
	read = func(without []string) (*ebpf.CollectionSpec, error) { return p.read(true, without) } // for the verifier to name them
	return openWays(read, true, p.Programs, p.Capabilities, constants)
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
	spec, err := plan.read(false, nil)
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
